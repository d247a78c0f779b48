"""`dragoman hub status`: the state of a hub, for people or as JSON.

This is the command line and the conversation with the hub; what a person sees is in `hub_status_text`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from dragoman.errors import CallFailed, DragomanError, LinkClosed, LocalMistake
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.files import authorization
from dragoman_app.cli.hub_client import (
    HubNotAnswered,
    JsonObject,
    address_file,
    find_hub,
    open_hub,
    socket_address,
)
from dragoman_app.cli.hub_status_text import show, show_agents

FORBIDDEN = -32003

WANTED = (
    "the hub needs a token. Set DRAGOMAN_TOKEN, or use --token-file. Create a token: dragoman hub token "
    "add status --scope admin"
)


def run(args: argparse.Namespace) -> int:
    try:
        headers = authorization(args.token_file)
        if not headers:
            raise LocalMistake(WANTED)
        url = socket_address(args.url) if args.url else find_hub(address_file())
        return asyncio.run(_watch(args, url, headers))
    except KeyboardInterrupt:
        return 0


# Asking.


async def _watch(args: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    was_shown = False
    while True:
        try:
            status = await _ask_and_show(args, url, headers, again=was_shown)
        except HubNotAnswered as error:
            if not was_shown or error.status != 9:  # a hub that was there may come back
                raise
            say(f"dragoman hub status: {error}; trying again", file=sys.stderr)
            status = 9
        if not args.watch:
            return status
        was_shown = True
        await asyncio.sleep(args.every)


async def _ask_and_show(args: argparse.Namespace, url: str, headers: dict[str, str], *, again: bool) -> int:
    fields, whole = await ask_hub(url, headers)
    if args.json:
        say_json(fields)
    else:
        text = show(fields) if whole else show_agents(fields)
        clear = "\x1b[H\x1b[J" if args.watch and sys.stdout.isatty() else "\n" * again
        sys.stdout.write(clear + text)
    sys.stdout.flush()
    if not whole:
        print("This token can't see more. The whole status needs the scope admin.", file=sys.stderr)
    return 0 if whole else 1


async def ask_hub(url: str, headers: dict[str, str]) -> tuple[JsonObject, bool]:
    """What the hub says of itself, and whether that is the whole status or its agents alone."""
    try:
        async with open_hub(url, headers) as hub:
            try:
                return await hub.call("_dragoman/hub/status"), True
            except CallFailed as error:
                if error.code != FORBIDDEN:
                    raise
                return await hub.call("_dragoman/hub/agents"), False
    except CallFailed as error:
        raise HubNotAnswered(f"{url} refused: {error.message}", status=1) from None
    except DragomanError as error:
        words = str(error)
        is_refused = isinstance(error, LinkClosed) and "refused the connection with status 4" in words
        why = words if url in words else f"{url}: {words}"
        raise HubNotAnswered(why, status=1 if is_refused else 9) from None
