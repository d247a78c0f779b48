"""`dragoman client-tools`: only agents start it, so no help lists it."""

from __future__ import annotations

import argparse

from dragoman.sdk.interpreter.client_tools import pipe


def run(_: argparse.Namespace) -> int:
    return pipe.run()
