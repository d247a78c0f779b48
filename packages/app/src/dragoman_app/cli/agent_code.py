"""`dragoman agent code`: starts the coding agent with the user's own model."""

from __future__ import annotations

import argparse

from dragoman import serve
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import BadConfig, load_config
from dragoman_app.apps.console import MISTAKEN, ErrorStatus


def run(args: argparse.Namespace) -> int:
    names = ("model", "base_url", "api", "key_file", "system", "sessions")
    next_step = "fix the file; `dragoman help coder` names all settings"
    with ErrorStatus(BadConfig, status=MISTAKEN, next_step=next_step):
        config = load_config({name: getattr(args, name) for name in names}, file=args.config)
    serve(code_agent(config))
    return 0
