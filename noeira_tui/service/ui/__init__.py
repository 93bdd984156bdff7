"""The web page for people without the app: read-only, made on the server, without scripts."""
