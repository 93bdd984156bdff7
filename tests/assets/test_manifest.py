"""Parsing `assets.kv`: what is accepted, what is refused, and that a fault stops one pack only."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.assets.facts import BrokenPack, Pack, Provider
from noeira_tui.assets.manifest import PACK_KEYS, parse_manifest, read_manifest, without_overlaps

DIGEST = "8c7616b2" * 8
MANIFEST = Path("/env/assets.kv")


def parse(text: str | bytes, path: Path = MANIFEST) -> tuple[Pack | BrokenPack, ...]:
    return parse_manifest(text.encode() if isinstance(text, str) else text, path).packs


def sound(text: str | bytes) -> Pack:
    (pack,) = parse(text)
    assert isinstance(pack, Pack), pack
    return pack


def broken(text: str | bytes) -> BrokenPack:
    (pack,) = parse(text)
    assert isinstance(pack, BrokenPack), pack
    return pack


def block(name: str = "libero@v1", dest: str = "assets", **keys: str) -> str:
    values = {"url": "https://example.org/a.tar.zst", "sha256": DIGEST, "dest": dest, **keys}
    return "\n".join([f"pack={name}", *(f"{key}={value}" for key, value in values.items())]) + "\n"


def test_reads_a_full_declaration() -> None:
    pack = sound(
        "# meshes\n\nschema_version=1\npack=libero@v1\nprovider=hf\nurl=https://huggingface.co/x/libero_v1.tar.zst\n"
        f"token_env=LAB_TOKEN\nsha256={DIGEST.upper()}\nbytes=188991117\ndest=assets\n"
    )
    assert (pack.name, pack.version, pack.provider) == ("libero", "v1", Provider.HF)
    assert (pack.sha256, pack.size_bytes, pack.token_env) == (DIGEST, 188991117, "LAB_TOKEN")
    assert pack.dest == Path("/env/assets")
    assert (pack.line, pack.dest_line) == (4, 10)


def test_fills_in_what_may_be_left_out() -> None:
    pack = sound(block("libero"))
    assert (pack.version, pack.provider, pack.size_bytes, pack.id) == ("v1", Provider.HTTPS, None, None)


def test_the_files_own_keys_are_free_and_kept() -> None:
    manifest = parse_manifest(("schema_version=1\nwriter=x=y\n" + block()).encode(), MANIFEST)
    assert manifest.file_keys == (("schema_version", "1"), ("writer", "x=y"))
    assert [type(pack) for pack in manifest.packs] == [Pack]


def test_a_file_without_packs_declares_nothing() -> None:
    assert parse("# nothing yet\nschema_version=1\n") == ()
    assert parse(b"") == ()


def test_byte_order_mark_and_crlf_are_accepted() -> None:
    pack = sound(b"\xef\xbb\xbf" + block().replace("\n", "\r\n").encode())
    assert (pack.name, pack.dest) == ("libero", Path("/env/assets"))


@pytest.mark.parametrize("value", ["a=b#c", "$HOME/x", "back\\slash", "#hash", "é→", "two words", "trail "])
def test_values_are_literal(value: str) -> None:
    assert sound(block(dest=value)).dest == Path("/env") / value


def test_several_packs_and_a_fault_stops_only_its_own() -> None:
    packs = parse(block("a", "x") + block("b", "y", sha256="abc") + block("c", "z"))
    assert [type(pack) for pack in packs] == [Pack, BrokenPack, Pack]
    assert isinstance(packs[1], BrokenPack)
    (problem,) = packs[1].problems
    assert (problem.manifest, problem.line, problem.key) == (MANIFEST, 7, "sha256")
    assert str(problem).startswith("/env/assets.kv, line 7: sha256: ")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (block(colour="red"), 5, "colour"),
        (block() + "dest=other\n", 5, "dest"),
        (block() + "no equals sign\n", 5, "no equals sign"),
        (block(sha256="g" * 64), 3, "sha256"),
        (block(sha256=DIGEST[:-1]), 3, "sha256"),
        (block(dest="/abs"), 4, "dest"),
        (block(dest="../up"), 4, "dest"),
        (block(dest="a/../../up"), 4, "dest"),
        (block(dest=""), 4, "dest"),
        (block(dest="nul\0"), 4, "dest"),
        (block(provider="ftp"), 5, "provider"),
        (block(bytes="12 MB"), 5, "bytes"),
        (block(bytes="-1"), 5, "bytes"),
        (block(bytes="١٢"), 5, "bytes"),
        (block(url="file:///etc/passwd"), 2, "url"),
        (block(url="https://[broken"), 2, "url"),
        (block(provider="noeira"), 1, "id"),
        (block(provider="noeira", id="../x"), 6, "id"),
        (block("@v1"), 1, "pack"),
        (block("libero@"), 1, "pack"),
        (f"pack=a\nsha256={DIGEST}\ndest=x\n", 1, "url"),
        (f"pack=a\nurl=https://e.org/x\nsha256={DIGEST}\n", 1, "dest"),
        ("pack=a\nurl=https://e.org/x\ndest=x\n", 1, "sha256"),
        (f"url=https://e.org/x\nsha256={DIGEST}\ndest=x\n", 1, "pack"),
        ("schema_version\n", 1, "schema_version"),
    ],
)
def test_every_fault_names_file_line_and_key(text: str, line: int, key: str) -> None:
    (problem,) = broken(text).problems
    assert (problem.manifest, problem.line, problem.key) == (MANIFEST, line, key)


def test_all_faults_of_a_pack_are_named_at_once() -> None:
    pack = broken("pack=a\nsha256=zz\ndest=/x\nnope=1\n")
    assert {problem.key for problem in pack.problems} == {"sha256", "dest", "nope", "url"}


def test_a_refused_url_is_not_repeated() -> None:
    assert "secret" not in str(broken(block(url="ftp://user:secret@example.org/")).problems[0])


def test_one_spelling_for_a_folder() -> None:
    assert sound(block(dest="./a/../assets/")).dest == Path("/env/assets")


def test_overlapping_destinations_break_both_within_a_file_and_across() -> None:
    one = parse_manifest((block("a", "x") + block("b", "x/deep") + block("c", "xy")).encode(), Path("/r/assets.kv"))
    two = parse_manifest(block("d", "y/z").encode(), Path("/r/xy/assets.kv"))
    first, second = without_overlaps((one, two))
    kinds = {pack.name: type(pack) for pack in (*first.packs, *second.packs)}
    assert kinds == {"a": BrokenPack, "b": BrokenPack, "c": BrokenPack, "d": BrokenPack}
    (far,) = second.packs
    assert isinstance(far, BrokenPack)
    assert (far.problems[0].line, far.problems[0].key) == (4, "dest")
    assert "c@v1 (/r/assets.kv, line 12)" in far.problems[0].message


def test_siblings_and_name_prefixes_do_not_overlap() -> None:
    manifest = parse_manifest((block("a", "x") + block("b", "x-y") + block("c", "xx/z")).encode(), MANIFEST)
    assert without_overlaps((manifest,)) == (manifest,)


def test_a_link_into_another_packs_folder_is_an_overlap(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    manifest = parse_manifest((block("a", "real") + block("b", "alias/x")).encode(), tmp_path / "assets.kv")
    (checked,) = without_overlaps((manifest,))
    assert [type(pack) for pack in checked.packs] == [BrokenPack, BrokenPack]


def test_a_broken_pack_does_not_break_the_one_it_would_overlap() -> None:
    manifest = parse_manifest((block("a", "x") + block("b", "x", sha256="no")).encode(), MANIFEST)
    (checked,) = without_overlaps((manifest,))
    assert [type(pack) for pack in checked.packs] == [Pack, BrokenPack]


def test_an_unreadable_file_is_one_broken_pack(tmp_path: Path) -> None:
    (pack,) = read_manifest(tmp_path / "assets.kv").packs
    assert isinstance(pack, BrokenPack)
    assert str(pack.problems[0]).startswith(str(tmp_path / "assets.kv"))


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(data: bytes) -> None:
    for pack in parse_manifest(data, MANIFEST).packs:
        assert isinstance(pack, Pack) or pack.problems


_LINE = st.builds("{}={}".format, st.sampled_from([*PACK_KEYS, "other"]), st.text(max_size=12)) | st.text(max_size=12)


@given(st.lists(_LINE, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_a_sound_pack_survives_whatever_stands_before_it(lines: list[str], end: str) -> None:
    junk = [line.replace("\n", "").replace("\r", "") for line in lines]
    packs = parse(end.join([*junk, *block("good", "here").splitlines()]))
    assert isinstance(packs[-1], Pack)
    assert (packs[-1].name, packs[-1].dest) == ("good", Path("/env/here"))


@given(st.text(st.characters(exclude_characters="\0\n\r/", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_a_sound_destination_is_always_below_the_folder(dest: str) -> None:
    (pack,) = parse(block(dest=dest))
    if isinstance(pack, Pack):
        assert pack.dest.is_relative_to("/env")
        assert pack.dest == Path("/env") / dest
    else:
        assert dest == ".." or not dest.strip()
