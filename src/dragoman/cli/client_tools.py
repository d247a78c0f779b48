"""`dragoman client-tools`: started by agents, never by people; so no help names it."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    commands.add_parser("client-tools").set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.sdk.interpreting.client_tools.pipe import run

    return run()
