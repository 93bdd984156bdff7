"""Long work that outlives the terminal: records, runner, kinds."""
