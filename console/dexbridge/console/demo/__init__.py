"""The demo: `python -m dexbridge.console.demo`, or `make demo` from a clone of the repository.

The order-support agent of `examples/` replies in a Slack thread, twice; the second time its Worker is killed right
after Slack has the message. Everything but the model and Slack is real: the Claude Code CLI, the engine, a Worker in
a process of its own, the HTTP.
"""
