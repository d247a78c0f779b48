"""Options of the commands that serve an agent over another protocol: `mcp`, and `serve --openai`."""

from __future__ import annotations

import argparse

from dragoman_app.cli.options.values import add_agent, add_silence, parse_count

MOST_SESSIONS = 64
MOST_CLIENTS = 64
"""The most clients of `mcp --http`."""


def add_gateway_agent(group: argparse._ArgumentGroup) -> None:
    """Add the options for the agent and its environment."""
    add_agent(group)
    add_silence(group)


def add_gateway_sessions(group: argparse._ArgumentGroup) -> None:
    """Add the options for the folders and the number of sessions."""
    group.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    group.add_argument(
        "--max-sessions",
        type=parse_count,
        default=MOST_SESSIONS,
        metavar="N",
        help=f"the most open sessions ({MOST_SESSIONS})",
    )


def add_listener(group: argparse._ActionsContainer) -> None:
    """Add the options for the address and its clients."""
    group.add_argument(
        "--listen", metavar="HOST:PORT", help="the address to listen on (127.0.0.1, any free port)"
    )
    group.add_argument("--token-file", metavar="FILE", help="a file with the token and nothing else")
    group.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        default=[],
        help="another name under which clients reach this server",
    )
    group.add_argument(
        "--origin", metavar="URL", action="append", default=[], help="a web page that may connect"
    )
    group.add_argument("--tls-cert", metavar="FILE", help="certificate, in PEM form")
    group.add_argument("--tls-key", metavar="FILE", help="the key of the certificate")
    group.add_argument("--insecure", action="store_true", help="listen off loopback without TLS")
