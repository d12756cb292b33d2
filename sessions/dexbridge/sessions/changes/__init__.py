"""Pure functions from the newest state of a session to the next."""
