"""What a call is asked with: its check, its schema, its one written form."""
