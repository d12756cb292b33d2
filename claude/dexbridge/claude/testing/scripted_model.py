"""The scripted model as a command: ``python -m dexbridge.claude.testing.scripted_model --port 8089``.

Without ``--script`` it plays the order-support agent; with it, it answers from the file (see
`script_file`) and refuses what comes after its last reply.
"""

import argparse
import asyncio
from pathlib import Path

from dexbridge.claude.testing.order_support import order_support_script
from dexbridge.claude.testing.script_file import ScriptFileError, read_script
from dexbridge.claude.testing.server import ScriptedModel


def main() -> None:
    """Serve until interrupted. The first line of output is the server's URL."""
    parser = argparse.ArgumentParser(description="A Messages API server that answers from a script.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--script", type=Path, help="a JSON file of replies")
    arguments = parser.parse_args()
    try:
        asyncio.run(_serve(arguments.host, arguments.port, arguments.script))
    except ScriptFileError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        pass


async def _serve(host: str, port: int, script: Path | None) -> None:
    replies = () if script is None else read_script(script)
    model = ScriptedModel(order_support_script if script is None else None, host=host, port=port)
    model.script(*replies)
    async with model:
        print(model.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
