"""Side-by-side runs of transfers against the tools people use instead: `python -m benchmarks --help`."""
