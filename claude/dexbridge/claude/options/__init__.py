"""The CLI's options, settings and environment: what is the application's, what is ours, what is refused."""
