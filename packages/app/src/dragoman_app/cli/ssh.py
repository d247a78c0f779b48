"""`dragoman ssh`: an agent on another machine or in a container, as a stdio agent here.

The client program is started first, and what is said through it is imported while it connects: each start
is waited for.
"""

from __future__ import annotations

import argparse
import os
import re

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import RemotePlace, check_host, parse_place
from dragoman_app.apps.console import tell_person
from dragoman_hub.remote.client_process import RemoteFailed, start_client
from dragoman_hub.remote.reach import RemoteAccess

FAILED = 8


def run(args: argparse.Namespace) -> int:
    """Return the exit status; see the help."""
    try:
        access = _access(args)
        _log_in(access)
        with start_client(access) as client:
            if args.remove or args.status or not args.command:
                from dragoman_app.cli.ssh_status import show_status

                return show_status(client, args)
            from dragoman_app.cli.ssh_conversation import run_agent

            return run_agent(client, args)
    except RemoteFailed as error:
        tell_person("ssh", f"{error}\nTry: {error.next_step}")
        return FAILED


def _access(args: argparse.Namespace) -> RemoteAccess:
    text = args.host
    is_place = re.match(r"(ssh|docker|podman):", text) is not None
    place = parse_place(text) if is_place else RemotePlace(kind="ssh", name=check_host(text))
    python = args.python or os.environ.get("DRAGOMAN_REMOTE_PYTHON", "") or "python3"
    if not re.fullmatch(r"[A-Za-z0-9/._+][A-Za-z0-9/._+-]*", python):
        raise LocalMistake(f"{python!r} is not a Python program. Use a program's name or an absolute path")
    ssh_config = args.ssh_config or os.environ.get("DRAGOMAN_SSH_CONFIG", "")
    return RemoteAccess(place=place, ssh_config=ssh_config, python=python, shares=not args.no_sharing)


def _log_in(access: RemoteAccess) -> None:
    """At a terminal, let ssh ask what it has to, before its connection is used for anything else."""
    if os.isatty(0) and os.isatty(2) and not access.log_in():
        raise RemoteFailed(f"can't reach {access.place}", f"ssh {access.place.name}")
