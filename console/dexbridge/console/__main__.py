"""`python -m dexbridge.console` is the command `dexbridge`."""

from dexbridge.console.cli import main

if __name__ == "__main__":
    main()
