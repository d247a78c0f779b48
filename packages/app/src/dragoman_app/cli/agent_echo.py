"""`dragoman agent echo`: an agent that needs no model and no configuration."""

from __future__ import annotations

import argparse

from dragoman import serve
from dragoman_app.agents.echo import echo_agent


def run(_: argparse.Namespace) -> int:
    serve(echo_agent())
    return 0
