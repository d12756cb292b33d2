"""The databases below DBOS: how they are opened and what they say, for our own transactions and for DBOS's."""
