"""The widgets of the app; each is given what it shows."""
