"""What can be wrong with a document, and with what it names."""
