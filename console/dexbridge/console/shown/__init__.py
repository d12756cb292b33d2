"""Sessions as a person sees them, on the page and in the terminal: safe text, words, one line per Step."""
