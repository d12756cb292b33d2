"""Applications built with dexbridge. They use its public API only."""
