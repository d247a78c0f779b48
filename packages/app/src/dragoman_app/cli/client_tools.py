"""`dragoman client-tools`: started by agents, never by people; so no help names it."""

from __future__ import annotations

import argparse

from dragoman.sdk.interpreter.client_tools import pipe


def run(_: argparse.Namespace) -> int:
    return pipe.run()
