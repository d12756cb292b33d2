"""The contract between a Connector and those who use it."""
