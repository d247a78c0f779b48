"""`dragoman connect`: a server on the network as a stdio agent, so that any editor can use it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

EPILOG = """examples:
  DRAGOMAN_TOKEN=… dragoman connect ws://127.0.0.1:8765/acp
  dragoman connect --token-file ~/.config/dragoman/token https://agents.example/acp

Put it where an editor wants the command of an agent. What the server says is passed on as it is, and back.
The token is read from DRAGOMAN_TOKEN or from --token-file, never from the command line, which everybody on
this machine can read.

exit status:
    0  the editor hung up
    2  the command line makes no sense
    9  the server ended the connection, or could not be reached
"""


LAST_WORDS = 0.5
"""Seconds that the server gets for its last words when the editor has hung up."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    connect = commands.add_parser(
        "connect",
        help="a server on the network as an agent for any editor",
        description="A server on the network as an agent for any editor.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    connect.fill = _fill


def _fill(connect: argparse.ArgumentParser) -> None:
    connect.add_argument("url", metavar="URL", help="ws://, wss://, http:// or https://")
    connect.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    connect.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    from dragoman.cli.tokens import authorization
    from dragoman.errors import LocalMistake
    from dragoman.transport.address import RemoteAddress, parse_address

    try:
        if not isinstance(parse_address(chosen.url), RemoteAddress):
            raise LocalMistake(f"{chosen.url!r} is no address of a server: give ws://… or https://…")
        headers = authorization(chosen.token_file)
    except LocalMistake as error:
        print(f"dragoman connect: {error}", file=sys.stderr)
        return 2
    from dragoman.sdk.leaving import Leaving
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()
    with Leaving() as leaving:
        return asyncio.run(_join(chosen.url, headers, stdio, leaving))


async def _join(url: str, headers: dict[str, str], stdio: Any, leaving: Any) -> int:
    from dragoman.errors import LinkClosed
    from dragoman.sdk.interpreting.joined import Joined
    from dragoman.sdk.leaving import first_of
    from dragoman.transport.http_client import open_http
    from dragoman.transport.websocket import open_websocket

    leaving.listen()
    try:
        server = (
            await open_websocket(url, headers=headers)
            if url.startswith("ws")
            else open_http(url, headers=headers)
        )
    except LinkClosed as error:
        print(f"dragoman connect: {error}", file=sys.stderr)
        return 9
    async with Joined(stdio.open(), server, quirks=False) as joined:
        await first_of(joined.wait_ended(), leaving.asked.wait())
        leaving.begin()
        left = joined.agent_ended
        await joined.aclose(grace=LAST_WORDS)
    if left is not None:
        print(f"dragoman connect: {url} ended the connection: {left}", file=sys.stderr)
        return 9
    return 0
