"""Objects that offer tools."""
