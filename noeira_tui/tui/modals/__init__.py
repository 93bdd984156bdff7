"""The dialogs: each asks or shows one thing, and `esc` leaves it."""
