"""Credentials, kept out of everything that is handed back."""
