"""`dragoman connect`: a server on the network as a stdio agent for any editor."""

from __future__ import annotations

import argparse
import asyncio
import sys

from dragoman.errors import LocalMistake
from dragoman.sdk.interpreter.conversation import Interpretation, InterpretedConversation
from dragoman.sdk.resumption import ConnectionNotice, ResumingTransport, resuming
from dragoman.sdk.resumption.hub_link import is_refusal
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.address import RemoteAddress, parse_address
from dragoman.transport.stdio import Stdio, claim_stdio
from dragoman_app.apps.console import CommandFailed, say
from dragoman_app.apps.files import authorization

REFUSED, GONE = 8, 9

LAST_WORDS = 0.5
"""The seconds for the server's last messages after the editor has closed the connection."""


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


_seconds.__name__ = "number of seconds"  # for argparse's own words


def run(args: argparse.Namespace) -> int:
    if not isinstance(parse_address(args.url), RemoteAddress):
        raise LocalMistake(
            f"{args.url!r} is not a server address. Use ws://HOST:PORT/acp or https://HOST/acp"
        )
    headers = authorization(args.token_file)
    stdio = claim_stdio()
    with ShutdownSignals() as leaving:
        return asyncio.run(_join(args, headers, stdio, leaving))


async def _join(
    args: argparse.Namespace, headers: dict[str, str], stdio: Stdio, leaving: ShutdownSignals
) -> int:
    leaving.listen()
    server = resuming(args.url, headers=headers, agent=args.agent, give_up=args.give_up, on_notice=Progress())
    async with InterpretedConversation(stdio.open(), server, Interpretation(quirks=False)) as conversation:
        await first_of(conversation.wait_ended(), leaving.end_event.wait())
        # An editor that leaves at once still wants to know whether anybody was there.
        await first_of(server.first_attempt.wait(), leaving.end_event.wait())
        leaving.begin()
        end_reason = conversation.agent_ended
        await conversation.aclose(grace=LAST_WORDS)
    return _outcome(args.url, end_reason, server)


def _outcome(url: str, end_reason: str | None, server: ResumingTransport) -> int:
    """Say why it ended, if it was not the editor's wish."""
    if end_reason is None:
        return GONE if server.is_unreached else 0
    if is_refusal(end_reason):
        raise CommandFailed(
            f"{end_reason}. The server did not accept your token. Set DRAGOMAN_TOKEN, or use --token-file",
            status=REFUSED,
        )
    raise CommandFailed(f"{url} ended the connection: {end_reason}", status=GONE)


class Progress:
    """Reports changes of the connection: the first of many attempts, and the last."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._was_there = False

    def __call__(self, notice: ConnectionNotice) -> None:
        if notice.kind == "back":
            self._say(f"{'back' if self._was_there else 'connected'} after {notice.seconds:.1f} s")
            self._reason = None
        elif notice.reason != self._reason:
            self._reason, self._was_there = notice.reason, notice.kind == "lost"
            what = "connection lost" if self._was_there else "no connection"
            self._say(f"{what} ({notice.reason}). Trying again, next in {notice.seconds:.1f} s")

    def _say(self, text: str) -> None:
        say(f"dragoman connect: {text}", file=sys.stderr, flush=True)
