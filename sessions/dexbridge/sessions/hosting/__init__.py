"""What hosts Steps: the engine port, the one host of Steps, and what both know of attempts, news and marks."""
