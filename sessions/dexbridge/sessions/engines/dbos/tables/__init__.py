"""Our tables, and every transaction on them."""
