"""`dragoman check`: whether an agent, a client or a recording keeps to the protocol.

Each part has its module; this one only names them.
"""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """examples:
  dragoman check agent -- my-agent --acp       examine an agent
  dragoman check client -- my-client {agent}   examine a client
  dragoman check endpoint http://127.0.0.1:8080/acp   examine a server
  dragoman check trace session.ndjson          judge a recording of any agent and client
  dragoman check list                          all requirements, and which of them are judged
  dragoman check explain TURN-06               what it is, how it is judged, how to keep it

exit status:
    0  nothing is broken
    1  something is
    2  the command line makes no sense, or a file cannot be read
    3  the peer wants a login, and most could not be tried
    4  the peer could not be examined at all

SIGTERM, SIGHUP and Ctrl-C end an examination early. What was found until then is reported as incomplete, and
the exit status is 128 and the number of the signal.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    check = commands.add_parser(
        "check",
        help="whether an agent, a client or a recording keeps to the protocol",
        description="Whether an agent, a client or a recording keeps to the protocol, frame by frame.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.fill = _fill


def _fill(check: argparse.ArgumentParser) -> None:
    from dragoman.cli import (
        check_agent,
        check_client,
        check_endpoint,
        check_show,
        check_trace,
        check_translate,
    )

    parts = check.add_subparsers(metavar="WHAT", required=True, prog="dragoman check")
    check_agent.add_parser(parts)
    check_client.add_parser(parts)
    check_endpoint.add_parser(parts)
    check_trace.add_parser(parts)
    check_translate.add_parser(parts)
    check_show.add_parsers(parts)
