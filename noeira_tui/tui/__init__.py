"""The terminal app: actions, screens, widgets, modals, themes."""
