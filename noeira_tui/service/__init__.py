"""The catalog service one can run oneself: routes, database, presigning, keys, embedded object store."""
