"""Episodes: content hash, quality metrics, score, the tables they are kept in, and the ingest that fills them."""
