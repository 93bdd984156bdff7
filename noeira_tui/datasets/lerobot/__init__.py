"""LeRobot datasets, v2.0 to v3: `meta/info.json` and what hangs on it."""
