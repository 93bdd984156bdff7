"""The vocabulary every other package shares: errors, settings, paths, states, progress, ports."""
