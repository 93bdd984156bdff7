"""The app in a browser, for a forwarded port: a small server on loopback, and one process of the app a page."""
