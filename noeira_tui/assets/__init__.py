"""Asset packs: find and parse `assets.kv`, and tell which packs are on this box."""
