"""`dragoman agent code`: starts the coding agent with the user's own model."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dragoman.cli.console import say

EPILOG = """The model and its key may also come from the environment (DRAGOMAN_MODEL, DRAGOMAN_BASE_URL,
DRAGOMAN_API_KEY, DRAGOMAN_KEY_FILE, OPENAI_API_KEY, ANTHROPIC_API_KEY) or from the file
dragoman/code.toml in the folder for configuration; docs/coder.md describes all of it.

examples:
  dragoman agent code --model anthropic:claude-sonnet-5-5
  dragoman agent code --model openai:gpt-6.1-sol --key-file ~/.keys/openai
  dragoman agent code --model qwen3-coder --base-url http://localhost:11434/v1
"""


def add_parser(names: argparse._SubParsersAction[Any]) -> None:
    code = names.add_parser(
        "code",
        help="writes code with your own model",
        description="A coding agent on stdin and stdout, with any OpenAI-compatible or Anthropic model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    code.fill = _fill


def _fill(code: argparse.ArgumentParser) -> None:
    code.add_argument("--model", metavar="MODEL", help="its name, or openai:NAME or anthropic:NAME")
    code.add_argument("--base-url", metavar="URL", help="the server, if it is not the vendor's own")
    code.add_argument(
        "--api", choices=("openai", "responses", "anthropic"), help="the wire format that the server speaks"
    )
    code.add_argument("--key-file", metavar="FILE", help="a file that holds the key and nothing else")
    code.add_argument("--system", metavar="FILE", help="a file that replaces the system prompt")
    code.add_argument("--sessions", metavar="FILE", help="the journal that sessions are kept in")
    code.add_argument("--config", metavar="FILE", help="the configuration, if it is not in the usual place")
    code.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.transport.stdio import claim_stdio

    claim_stdio()
    from dragoman import serve
    from dragoman.agents.code.agent import code_agent
    from dragoman.agents.code.config import BadConfig, load_config

    names = ("model", "base_url", "api", "key_file", "system", "sessions")
    try:
        config = load_config({name: getattr(chosen, name) for name in names}, file=chosen.config)
    except BadConfig as error:
        say(
            f"dragoman agent code: {error}\nTo go on: mend it; docs/coder.md names all settings.",
            file=sys.stderr,
        )
        return 2
    serve(code_agent(config))
    return 0
