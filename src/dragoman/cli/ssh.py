"""`dragoman ssh`: an agent on another machine or in a container, as a stdio agent here."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import sys
from typing import TYPE_CHECKING, Any

from dragoman.apps.console import say
from dragoman.errors import LocalMistake
from dragoman.remote.bundle import Bundle, make_bundle
from dragoman.remote.connection import RemoteConnection, RemoteFailed, open_connection
from dragoman.remote.conversation import RemoteConversation
from dragoman.remote.line import Act, LineNotice, LineTransport
from dragoman.remote.reach import RemoteAccess
from dragoman.sdk.known.config import VARIABLE
from dragoman.sdk.known.remote_place import RemotePlace, check_host, parse_place
from dragoman.sdk.proxy.target import stderr_writer
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.stdio import claim_stdio

if TYPE_CHECKING:  # what only some starts need is imported where it is needed: each start is waited for
    from dragoman.remote.decider import AccessDecider
    from dragoman.remote.path_map import FolderMap

USAGE, FAILED, GONE = 2, 8, 9

BUFFER = 64 * 1024 * 1024
"""Bytes that the other side keeps of what the agent says while nobody is connected."""

LAST_WORDS = 2.0


def run(args: argparse.Namespace) -> int:
    """The exit status; see the help."""
    try:
        access = _access(args)
        bundle = make_bundle(args.pyz)
        if args.remove or args.status or not args.command:
            return asyncio.run(_tell(access, bundle, args))
        return _run_agent(access, bundle, args)
    except RemoteFailed as error:
        _say(f"{error}\nTo go on: {error.next_step}.")
        return FAILED
    except LocalMistake as error:
        _say(str(error))
        return USAGE


def _access(args: argparse.Namespace) -> RemoteAccess:
    text = args.host
    is_place = re.match(r"(ssh|docker|podman):", text) is not None
    place = parse_place(text) if is_place else RemotePlace(kind="ssh", name=check_host(text))
    python = args.python or os.environ.get("DRAGOMAN_REMOTE_PYTHON", "") or "python3"
    if not re.fullmatch(r"[A-Za-z0-9/._+][A-Za-z0-9/._+-]*", python):
        raise LocalMistake(f"{python!r} is no name of a Python: give a program or an absolute path")
    ssh_config = args.ssh_config or os.environ.get("DRAGOMAN_SSH_CONFIG", "")
    return RemoteAccess(place=place, ssh_config=ssh_config, python=python, shares=not args.no_sharing)


# What is there.


async def _tell(access: RemoteAccess, bundle: Bundle, args: argparse.Namespace) -> int:
    """Carry out what needs no agent: `--remove`, and how it stands otherwise."""
    _log_in(access)
    act = "remove" if args.remove else "status"
    connection, answer = await open_connection(access, {"act": act}, bundle, on_progress=_say)
    await connection.aclose()
    if args.remove:
        await asyncio.to_thread(access.hang_up)
    report = {"place": str(access.place), **answer}
    if args.json:
        say(json.dumps(report, indent=2))
    else:
        say(_text(report, is_removal=args.remove))
    return 0


def _text(report: dict[str, Any], *, is_removal: bool) -> str:
    if is_removal:
        return f"{report['place']}: removed {report['removed']}"
    lines = [f"{report['place']}: Python {report['python']} on {report['platform']}"]
    lines += [f"  {folder['name']}  {folder['bytes'] / 1e6:.1f} MB" for folder in report["folders"]]
    lines += [f"  agent {name} is kept there" for name in report["agents"]]
    if not report["folders"]:
        lines.append("  nothing of ours is there")
    return "\n".join(lines)


# An agent.


def _run_agent(access: RemoteAccess, bundle: Bundle, args: argparse.Namespace) -> int:
    order = {
        "name": f"{os.getpid()}-{secrets.token_hex(6)}",
        "command": list(args.command),
        "cwd": args.cwd or "",
        "env": _variables(args.env),
        "linger": args.keep,
        "buffer": BUFFER,
    }
    path_map, decider = _path_map(args), _decider(args)
    _log_in(access)
    stdio = claim_stdio()
    with ShutdownSignals() as leaving:

        async def converse() -> int:
            leaving.listen()
            line = await _open_line(access, bundle, order, args)
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
            _say(f"{access.place}: {reason}")
            return GONE if line.exit_status is None else max(1, line.exit_status % 256)

        return asyncio.run(converse())


def _path_map(args: argparse.Namespace) -> FolderMap | None:
    if not args.map:
        return None
    from dragoman.remote.path_map import FolderMap, parse_map

    return FolderMap([parse_map(text) for text in args.map])


def _decider(args: argparse.Namespace) -> AccessDecider | None:
    """None if the client decides."""
    if args.decide == "client":
        return None
    from dragoman.remote.decider import AccessDecider
    from dragoman.workspace.policy.policy_files import load_policy
    from dragoman.workspace.policy.policy_parser import PolicyError

    try:
        policy = load_policy(file=args.policy, approve=args.approve)
    except PolicyError as error:
        raise LocalMistake(str(error)) from error
    return AccessDecider(policy, agent=os.path.basename(args.command[0]))


async def _open_line(
    access: RemoteAccess, bundle: Bundle, order: dict[str, Any], args: argparse.Namespace
) -> LineTransport:
    async def opener(act: Act) -> RemoteConnection:
        # A shared connection that was cut may hang for a while: coming back, we do not wait for it.
        connection, _ = await open_connection(
            access, {**order, "act": act}, bundle, shares=act == "start", on_progress=_say
        )
        return connection

    show = stderr_writer() or (lambda _: None)
    line = LineTransport(opener, give_up=args.keep, on_notice=LineProgress(access), on_stderr=show)
    await line.open("start")
    return line


def _variables(words: list[str]) -> dict[str, str]:
    """The variables that go along: only those that were named, with our values or the given ones."""
    variables: dict[str, str] = {}
    for word in words:
        name, is_set, value = word.partition("=")
        if not VARIABLE.fullmatch(name) or "\0" in value:
            raise LocalMistake("--env takes NAME or NAME=VALUE")
        if is_set:
            variables[name] = value
        elif name in os.environ:
            variables[name] = os.environ[name]
    return variables


def _log_in(access: RemoteAccess) -> None:
    """At a terminal, let ssh ask what it has to, before its connection is used for anything else."""
    if os.isatty(0) and os.isatty(2) and not access.log_in():
        raise RemoteFailed(
            f"{access.place} cannot be reached", f"see whether `ssh {access.place.name}` works"
        )


class LineProgress:
    """Says when the connection is lost and when it is back; each reason once."""

    def __init__(self, access: RemoteAccess) -> None:
        self._place = access.place
        self._reason = ""

    def __call__(self, notice: LineNotice) -> None:
        if notice.kind == "back":
            self._reason = ""
            _say(f"{self._place}: back after {notice.seconds:.1f} s")
        elif notice.reason != self._reason:
            self._reason = notice.reason
            _say(f"{self._place}: {notice.reason}; trying again")


def _say(text: str) -> None:
    say(f"dragoman ssh: {text}", file=sys.stderr, flush=True)
