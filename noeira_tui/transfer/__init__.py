"""One file over HTTP: download with resume, verify and publish; upload; hashes and their cache."""
