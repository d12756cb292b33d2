"""The two locks between the model and a call that must leave, and what they let run inside."""
