"""Legs as workflows of DBOS, and those that nothing runs."""
