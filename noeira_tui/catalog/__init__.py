"""The catalog protocol: wire models, the client, and the datasets on this box compared with it."""
