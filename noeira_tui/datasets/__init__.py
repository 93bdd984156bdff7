"""What a dataset is, wherever it is: read by ranges, told as one `DatasetInfo`, without downloading it."""
