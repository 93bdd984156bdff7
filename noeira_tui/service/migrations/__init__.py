"""The history of the service's tables, applied by Alembic when a service or a `keys` command opens the database."""
