"""The command line: one module a command group; output and exit codes in one place."""
