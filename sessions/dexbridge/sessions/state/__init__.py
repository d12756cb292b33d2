"""The values a session is made of."""
