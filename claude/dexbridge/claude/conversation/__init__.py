"""What the CLI and the model say to each other: heard, kept, and written for the next process."""
