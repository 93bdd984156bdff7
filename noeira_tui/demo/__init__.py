"""Sample projects, datasets and packs, made on the spot."""
