"""Which signals stop a program of ours."""

from __future__ import annotations

import signal

__all__ = ["not_ignored"]


def not_ignored(*signals: signal.Signals) -> tuple[signal.Signals, ...]:
    """Those of the signals that were not ignored when the program was started, as with `nohup`, or `&` in a script."""
    return tuple(one for one in signals if signal.getsignal(one) is not signal.SIG_IGN)
