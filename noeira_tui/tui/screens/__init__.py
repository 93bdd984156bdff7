"""The screens of the app; they own the state and give it to widgets."""
