"""Zarr stores, generations 2 and 3, consolidated or not: metadata read as JSON, arrays through zarr itself."""
