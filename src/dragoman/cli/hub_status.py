"""`dragoman hub status`: how a hub stands, for a person or as JSON.

This is the command line and the conversation with the hub; what a person sees is in `hub_status_text`.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """examples:
  dragoman hub status                             this user's hub, which says where it is
  dragoman hub status wss://hub.example/acp --token-file ~/.config/dragoman/token
  dragoman hub status --watch                     again every two seconds, until Ctrl-C
  dragoman hub status --json | jq '.totals'

The token is read from DRAGOMAN_TOKEN or from --token-file. It needs the scope admin; one that may only
observe is shown the agents. docs/operations.md describes every member of the JSON.

exit status:
    0  the hub has said how it stands
    1  it did not want to: the token is wrong, or lacks the scope
    2  the command line makes no sense, or there is no token
    9  it cannot be reached, or did not answer
"""

FORBIDDEN = -32003

WANTED = (
    "a hub wants a token: set DRAGOMAN_TOKEN, or give --token-file. "
    "`dragoman hub token add status --scope admin` makes one"
)


class NotAnswered(Exception):
    """Said to the person; `status` is what we end with."""

    def __init__(self, why: str, *, status: int) -> None:
        super().__init__(why)
        self.status = status


def add_status_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `status` to the sub-commands of `dragoman hub`."""
    status = commands.add_parser(
        "status",
        help="how a hub stands: agents, sessions, connections, journal",
        description="How a hub stands: agents, sessions, connections, journal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    status.fill = _fill


def _fill(status: argparse.ArgumentParser) -> None:
    status.add_argument("url", metavar="URL", nargs="?", help="ws://… of the hub (this user's own)")
    status.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    status.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    status.add_argument("--watch", action="store_true", help="again and again, until Ctrl-C")
    status.add_argument(
        "--every", metavar="SECONDS", type=_seconds, default=2.0, help="how often with --watch (2)"
    )
    status.set_defaults(run=_run)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0.1 on")
    return seconds


def _run(chosen: argparse.Namespace) -> int:
    import asyncio
    import os

    from dragoman.cli.tokens import authorization
    from dragoman.errors import LocalMistake
    from dragoman.text.sanitize import sanitize_line

    try:
        headers = authorization(chosen.token_file)
        if not headers:
            raise LocalMistake(WANTED)
        url = socket_address(chosen.url) if chosen.url else find_hub(address_file())
        return asyncio.run(_watch(chosen, url, headers))
    except LocalMistake as error:
        say(f"dragoman hub status: {sanitize_line(str(error))}", file=sys.stderr)
        return 2
    except NotAnswered as error:
        say(f"dragoman hub status: {sanitize_line(str(error))}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        # Whoever read has read enough; Python would complain about it once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


# Where the hub is.


def address_file() -> Path:
    from dragoman.journal.history import history_path

    return history_path().parent / "hub" / "address"


def find_hub(path: Path) -> str:
    """The address that this user's hub has written down. Nobody else may have written it: whoever is there
    gets our token.
    """
    import os

    import msgspec

    why = "give the address of one, or start one: dragoman hub"
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            written = msgspec.json.decode(file.read(65536))
    except OSError:
        raise NotAnswered(f"no hub of this user is running; {why}", status=9) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise NotAnswered(f"{path} makes no sense; {why}", status=9) from None
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o022):
        raise NotAnswered(f"{path} can be written by others, so it is not believed; {why}", status=9)
    url, pid = (written.get("url"), written.get("pid")) if isinstance(written, dict) else (None, None)
    if not isinstance(url, str) or not isinstance(pid, int):
        raise NotAnswered(f"{path} makes no sense; {why}", status=9)
    if not _lives(pid):
        raise NotAnswered(f"the hub that was at {url} (process {pid}) is gone; {why}", status=9)
    return socket_address(url)


def _lives(pid: int) -> bool:
    import os

    if sys.platform == "win32" or pid <= 0:
        return pid > 0  # there, to ask would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def socket_address(url: str) -> str:
    """The WebSocket of a hub, however its address was written down."""
    from urllib.parse import urlsplit, urlunsplit

    from dragoman.errors import LocalMistake

    try:
        parts = urlsplit(url)
    except ValueError:
        raise LocalMistake(f"{url!r} is no address at all") from None
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.netloc:
        raise LocalMistake(f"{url!r} is no address of a hub: write ws://HOST:PORT/acp")
    path = parts.path if parts.path.strip("/") else "/acp"
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


# Asking.


async def _watch(chosen: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    import asyncio

    shown = False
    while True:
        try:
            status = await _ask_and_show(chosen, url, headers, again=shown)
        except NotAnswered as error:
            if not shown or error.status != 9:  # a hub that was there may come back
                raise
            say(f"dragoman hub status: {error}; trying again", file=sys.stderr)
            status = 9
        if not chosen.watch:
            return status
        shown = True
        await asyncio.sleep(chosen.every)


async def _ask_and_show(chosen: argparse.Namespace, url: str, headers: dict[str, str], *, again: bool) -> int:
    import msgspec

    from dragoman.cli.hub_status_text import show, show_agents
    from dragoman.text.sanitize import sanitize_json

    told, whole = await ask_hub(url, headers)
    if chosen.json:
        sys.stdout.buffer.write(sanitize_json(msgspec.json.encode(told)) + b"\n")
    else:
        text = show(told) if whole else show_agents(told)
        clear = "\x1b[H\x1b[J" if chosen.watch and sys.stdout.isatty() else "\n" * again
        sys.stdout.write(clear + text)
    sys.stdout.flush()
    if not whole:
        print("This token may not see more; the whole status needs the scope admin.", file=sys.stderr)
    return 0 if whole else 1


async def ask_hub(url: str, headers: dict[str, str]) -> tuple[dict[str, Any], bool]:
    """What the hub says of itself, and whether that is the whole status or its agents alone."""
    from dragoman.cli.hub_talk import talking
    from dragoman.errors import CallFailed, DragomanError, LinkClosed

    try:
        async with talking(url, headers) as hub:
            try:
                return await hub.call("_dragoman/hub/status"), True
            except CallFailed as error:
                if error.code != FORBIDDEN:
                    raise
                return await hub.call("_dragoman/hub/agents"), False
    except CallFailed as error:
        raise NotAnswered(f"{url} refused: {error.message}", status=1) from None
    except DragomanError as error:
        words = str(error)
        refused = isinstance(error, LinkClosed) and "refused the connection with status 4" in words
        why = words if url in words else f"{url}: {words}"
        raise NotAnswered(why, status=1 if refused else 9) from None
