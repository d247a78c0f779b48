"""`python -m dragoman.testing SCRIPT COMMAND …`: start an agent and play a script's client against it.

It ends with status 0 when the story went as written, with 1 when it did not, and says then which line, what
came instead, and what passed before; with 2 when there was no story to tell.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from dragoman.errors import SpawnFailed
from dragoman.testing.script.client_verbs import ScriptFailed
from dragoman.testing.script.script import Script
from dragoman.testing.script.statements import ScriptError
from dragoman.testing.script_peers import PATIENCE, ScriptedClient


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dragoman.testing",
        description="Play a client's script against an agent.",
        epilog="example: python -m dragoman.testing story.script dragoman agent echo",
    )
    parser.add_argument("--seconds", type=float, default=PATIENCE, help="how long the story may take")
    parser.add_argument("script", help="the client's script; `dragoman help testing` describes the language")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command of the agent")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("the agent's command is missing: put it after the script")
    try:
        client = ScriptedClient(Script.load(options.script))
        asyncio.run(client.talk_to(options.command, seconds=options.seconds))
    except ScriptFailed as error:
        sys.stderr.write(f"{options.script}, {error}\n")
        return 1
    except (OSError, UnicodeDecodeError, ScriptError, SpawnFailed) as error:
        sys.stderr.write(f"{options.script}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
