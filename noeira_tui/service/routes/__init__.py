"""The routes of the catalog protocol, one module a resource."""
