"""Connectors over HTTP: one request a call, and what its answer proves."""
