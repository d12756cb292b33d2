"""Runs the demo. Exit codes: 0 shown and true, 1 not, 2 cannot start, 129, 130 and 143 stopped by a signal."""

import sys

if __name__ == "__main__":
    try:
        # Here, since loading takes a second, in which somebody may think better of it.
        from dexbridge.console.demo.play import main

        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped before anything was started.", file=sys.stderr)
        sys.exit(130)
