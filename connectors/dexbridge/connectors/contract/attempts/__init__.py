"""What one dispatch is given, how it can end, and what a later look can say."""
