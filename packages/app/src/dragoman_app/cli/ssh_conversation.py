"""The conversation of `dragoman ssh`: a client on our standard input and output, an agent
on another machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import VARIABLE, RemotePlace
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.file_outlet import stderr_writer
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import tell_person
from dragoman_hub.remote.bundle import Bundle, make_bundle
from dragoman_hub.remote.client_process import ClientProcess, start_client
from dragoman_hub.remote.connection import RemoteConnection, open_connection
from dragoman_hub.remote.conversation import RemoteConversation
from dragoman_hub.remote.line import LineNotice, LineTransport, OpeningStep
from dragoman_hub.remote.path_map import FolderMap, parse_map
from dragoman_local.sandbox.boundary import parse_profile, works_in_folders

if TYPE_CHECKING:  # what only some starts need is imported where it is needed: each start is waited for
    from dragoman_hub.remote.decider import AccessDecider

GONE = 9

BUFFER = 64 * 1024 * 1024
"""The bytes of the agent's messages that the other side keeps while the connection is lost."""

LAST_WORDS = 2.0

tell = partial(tell_person, "ssh")


def run_agent(client: ClientProcess, args: argparse.Namespace) -> int:
    """Run the conversation until one side ends; return the exit status."""
    profile = parse_profile(args.sandbox or "off")
    if works_in_folders(profile) and not args.cwd:
        raise LocalMistake(
            f"the sandbox profile {profile} needs a folder on the other machine. Name it with --cwd"
        )
    order = {
        "name": f"{os.getpid()}-{secrets.token_hex(6)}",
        "command": list(args.command),
        "cwd": args.cwd or "",
        "env": _variables(args.env),
        "sandbox": args.sandbox or "auto",
        "linger": args.keep,
        "buffer": BUFFER,
    }
    path_map, decider, bundle = _path_map(args), _decider(args), make_bundle(args.pyz)
    stdio = claim_stdio()
    with ShutdownSignals() as leaving:

        async def converse() -> int:
            leaving.listen()
            line = await _open_line(client, bundle, order, args)
            conversation = RemoteConversation(stdio.open(), line, decider=decider, path_map=path_map)
            conversation.relay.start()
            try:
                await first_of(conversation.relay.wait_ended(), leaving.end_event.wait())
            finally:
                leaving.begin()
                reason = conversation.relay.to_client.reason
                await conversation.relay.aclose(grace=0 if leaving.end_event.is_set() else LAST_WORDS)
            if reason is None:
                return 0
            tell(f"{client.access.place}: {reason}")
            return GONE if line.exit_status is None else max(1, line.exit_status % 256)

        return asyncio.run(converse())


def _path_map(args: argparse.Namespace) -> FolderMap | None:
    if not args.map:
        return None
    return FolderMap([parse_map(text) for text in args.map])


def _decider(args: argparse.Namespace) -> AccessDecider | None:
    """None if the client decides."""
    if args.decide == "client":
        return None
    from dragoman_hub.remote.decider import AccessDecider

    return AccessDecider(policy=args.policy, approve=args.approve, command=args.command)


async def _open_line(
    client: ClientProcess, bundle: Bundle, order: dict[str, Any], args: argparse.Namespace
) -> LineTransport:
    async def opener(step: OpeningStep) -> RemoteConnection:
        # A shared connection that was cut may hang for a while: coming back, we do not wait for it.
        process = client if step == "start" else start_client(client.access, shares=False)
        connection, _ = await open_connection(process, {**order, "act": step}, bundle, on_progress=tell)
        return connection

    show = stderr_writer() or (lambda _: None)
    line = LineTransport(
        opener, give_up=args.keep, on_notice=LineProgress(client.access.place), on_stderr=show
    )
    await line.open("start")
    return line


def _variables(words: list[str]) -> dict[str, str]:
    """The variables that go along: only those that were named, with our values or the given ones."""
    variables: dict[str, str] = {}
    for word in words:
        name, is_set, value = word.partition("=")
        if not VARIABLE.fullmatch(name) or "\0" in value:
            raise LocalMistake("--env needs NAME or NAME=VALUE")
        if is_set or name in os.environ:
            variables[name] = value if is_set else os.environ[name]
    return variables


class LineProgress:
    """Reports when the connection is lost and when it is back; each reason once."""

    def __init__(self, place: RemotePlace) -> None:
        self._place = place
        self._reason = ""

    def __call__(self, notice: LineNotice) -> None:
        if notice.kind == "back":
            self._reason = ""
            tell(f"{self._place}: back after {notice.seconds:.1f} s")
        elif notice.reason != self._reason:
            self._reason = notice.reason
            tell(f"{self._place}: {notice.reason}; trying again")
