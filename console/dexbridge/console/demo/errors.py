"""How a demo can end badly.

DemoError
├── CannotStart   something it needs is missing; nothing was started
├── WorkerEnded   the Worker's process ended by itself
└── NotTrue       what was to be shown did not happen
"""


class DemoError(Exception):
    """Root of the errors the demo reports as a sentence, without a traceback."""


class CannotStart(DemoError):
    """Something is missing; the message says what to do."""


class WorkerEnded(DemoError):
    """The Worker's process ended by itself; the message holds the end of what it logged."""


class NotTrue(DemoError):
    """The demo does not claim what it has not seen."""
