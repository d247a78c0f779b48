"""`dragoman agent code`: starts the coding agent with the user's own model."""

from __future__ import annotations

import argparse
import sys

from dragoman import serve
from dragoman_app.agents.code.agent import code_agent
from dragoman_app.agents.code.config import BadConfig, load_config
from dragoman_app.apps.console import say


def run(args: argparse.Namespace) -> int:
    names = ("model", "base_url", "api", "key_file", "system", "sessions")
    try:
        config = load_config({name: getattr(args, name) for name in names}, file=args.config)
    except BadConfig as error:
        say(
            f"dragoman agent code: {error}\nTo go on: mend it; `dragoman help coder` names all settings.",
            file=sys.stderr,
        )
        return 2
    serve(code_agent(config))
    return 0
