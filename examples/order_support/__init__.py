"""An agent that looks up and cancels orders, and replies in Slack threads."""
