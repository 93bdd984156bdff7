"""Write a dataset here, push it, pull it to a fresh place, and compare every byte.

    python examples/roundtrip.py

It needs a catalog service: NOEIRA_CLOUD_URL and NOEIRA_CLOUD_API_KEY in the environment or in .env. `noeira-tui serve`
starts one and prints both lines.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from noeira_tui import NoeiraError, RemoteCatalog


def main() -> int:
    try:
        catalog = RemoteCatalog.from_env()
    except NoeiraError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    with catalog, tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "walker.bin"
        source.write_bytes(random.Random(7).randbytes(3_000_000))

        try:
            pushed = catalog.push(source, name="roundtrip-example", seed=7, source_commit="081b53c0")
            print(f"pushed {pushed.id}: {pushed.size_bytes} bytes, sha256 {pushed.sha256}")

            path = catalog.pull(pushed.id, Path(folder) / "fresh" / "walker.bin")
            same = path.read_bytes() == source.read_bytes()
            print(f"pulled {path.name}: {'the same bytes' if same else 'DIFFERENT BYTES'}")

            again = catalog.fetch(pushed.id, path)
            print(f"pulled again: {again.bytes_transferred} bytes moved")
        except NoeiraError as err:
            print(err, file=sys.stderr)
            return err.exit_code
    return 0 if same and again.bytes_transferred == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
