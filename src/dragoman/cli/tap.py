"""`dragoman tap`: a prefix for any agent's command that writes down everything, and changes nothing."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say
from dragoman.cli.files import explain_error

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.trace.tap.hiding import Hiding
    from dragoman.trace.tap.recorder import TapRecorder

MEGABYTE = 1_000_000

EPILOG = """examples:
  dragoman tap -- claude-agent-acp
  dragoman tap --guard --record session.ndjson -- my-agent --acp
  dragoman tap attach                  in another terminal: what passes, as it passes
  dragoman tap attach session.ndjson
  dragoman check trace session.ndjson

Put `dragoman tap --` before the command of an agent in an editor's configuration; the editor and the agent
notice nothing. Recordings are transcripts, one JSON object a line, readable by you alone. Secrets are hidden
in them: values of variables whose names say so, headers and environments of MCP servers, and what looks like
a key. The exit status is the agent's.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    tap = commands.add_parser(
        "tap",
        help="write down what an agent and its client say to each other",
        description="Run an agent, pass every byte, and write down everything.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tap.fill = _fill


def _fill(tap: argparse.ArgumentParser) -> None:
    tap.add_argument("--record", metavar="FILE", help="where to write; it must not exist yet")
    tap.add_argument("--folder", metavar="DIR", help="where recordings go that are not named")
    tap.add_argument(
        "--guard", action="store_true", help="show an agent's stray output instead of passing it"
    )
    tap.add_argument("--no-redact", action="store_true", help="write secrets down as they are")
    tap.add_argument("--max-size", metavar="MB", type=float, default=256.0, help="begin a new file at (256)")
    tap.add_argument("--keep", metavar="N", type=int, default=4, help="files of one conversation kept (4)")
    tap.add_argument("--live", action="store_true", help="say on standard error how to look on")
    tap.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")
    tap.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    if chosen.command[0] == "attach" and "--" not in sys.argv:
        from dragoman.cli.tap_attach import attach

        return attach(chosen.command[1:], folder=chosen.folder)
    from dragoman.errors import SpawnFailed
    from dragoman.trace.tap.hiding import Hiding
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()
    hiding = None if chosen.no_redact else Hiding(os.environ)
    try:
        recorder = _recorder(chosen, hiding)
    except OSError as error:
        say(f"dragoman tap: {explain_error(error, act='write')}", file=sys.stderr)
        return 2
    if chosen.live:
        say(f"dragoman tap: to look on: dragoman tap attach {recorder.path}", file=sys.stderr)
    try:
        status = asyncio.run(_tap(chosen, recorder, stdio.read_fd, stdio.write_fd))
    except SpawnFailed as error:
        say(f"dragoman tap: {error}", file=sys.stderr)
        return 127
    finally:
        recorder.close(
            last_words=None if hiding is None else lambda: {"event": "redacted", "count": hiding.count}
        )
        if recorder.unwritten:
            say(f"dragoman tap: {recorder.unwritten} bytes could not be written", file=sys.stderr)
    return status if status >= 0 else 128 - status


async def _tap(chosen: argparse.Namespace, recorder: TapRecorder, stdin: int, stdout: int) -> int:
    from dragoman.sdk.proxy.target import shown
    from dragoman.trace.tap.tap import tap

    return await tap(
        chosen.command,
        stdin=stdin,
        stdout=stdout,
        show=shown() or (lambda _: None),
        recorder=recorder,
        guard=chosen.guard,
    )


def _recorder(chosen: argparse.Namespace, hiding: Hiding | None) -> TapRecorder:
    from pathlib import Path

    from dragoman.trace.tap.recorder import TapRecorder

    path = Path(chosen.record) if chosen.record else _unused(chosen)
    name = " ".join(chosen.command[:1])
    return TapRecorder(path, name=name, hiding=hiding, full=int(chosen.max_size * MEGABYTE), keep=chosen.keep)


def _unused(chosen: argparse.Namespace) -> Path:
    import time
    from pathlib import Path

    from dragoman.trace.tap.recorder import taps_folder

    folder = taps_folder(chosen.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{Path(chosen.command[0]).name}-{moment}-{os.getpid()}.ndjson"
