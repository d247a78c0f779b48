"""`dragoman check endpoint`: a remote server examined over Streamable HTTP and WebSocket."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.check_interruption import Interruption
from dragoman.cli.check_report import MISTAKEN, UNEXAMINED, Wishes, add_options, say_progress
from dragoman.cli.console import say
from dragoman.cli.files import explain_error

if TYPE_CHECKING:
    from dragoman.check.endpoint.examination import EndpointSettings

EPILOG = """examples:
  dragoman check endpoint http://127.0.0.1:8080/acp
  dragoman check endpoint --header "Authorization: Bearer $TOKEN" https://agents.example/acp
  dragoman check endpoint ws://127.0.0.1:8080/acp        the WebSocket alone

What the server does around the messages is judged: statuses, headers, streams, closing codes. The official
proposal is a draft, and its implementations differ: most of it only warns or is recorded. What the agent
behind it says is for `dragoman check agent`.
"""


def add_parser(parts: argparse._SubParsersAction[Any]) -> None:
    endpoint = parts.add_parser(
        "endpoint",
        help="examine a server: Streamable HTTP and WebSocket",
        description="Examine a server: Streamable HTTP and WebSocket.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    endpoint.add_argument("url", metavar="URL", help="http, https, ws or wss")
    endpoint.add_argument(
        "--header", metavar="NAME:VALUE", action="append", default=[], help="sent with everything"
    )
    endpoint.add_argument(
        "--cwd", metavar="DIR", default="/", help="the folder of sessions, at the server (/)"
    )
    endpoint.add_argument("--prompt", metavar="TEXT", help="what to say to the agent")
    endpoint.add_argument("--timeout", metavar="S", type=float, default=30.0, help="for each wait (30)")
    endpoint.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_options(endpoint)
    endpoint.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.check.endpoint.http import Unreachable
    from dragoman.check.endpoint.scenes import examine_endpoint
    from dragoman.errors import LocalMistake

    with Interruption() as interruption:
        try:
            wishes, endpoint = Wishes(chosen), _endpoint(chosen)
            over_http = not chosen.url.lower().startswith("ws")
            progress = None if chosen.quiet else say_progress
            recordings = interruption.run(
                lambda stop: examine_endpoint(endpoint, over_http=over_http, progress=progress, stop=stop)
            )
        except Unreachable as error:
            say(f"dragoman check endpoint: cannot be examined: {error}", file=sys.stderr)
            return UNEXAMINED
        except (LocalMistake, OSError, ValueError) as error:
            say(f"dragoman check endpoint: {explain_error(error)}", file=sys.stderr)
            return MISTAKEN
        names = [str(recording.facts.get("scene")).replace("_", " ") for recording in recordings]
        return wishes.finish(
            recordings, sides=("server",), title=chosen.url, names=names, interruption=interruption
        )


def _endpoint(chosen: argparse.Namespace) -> EndpointSettings:
    from dragoman.check.endpoint.examination import EndpointSettings
    from dragoman.check.endpoint.http import Address

    headers = {}
    for header in chosen.header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise ValueError(f"{header!r} is no header: NAME:VALUE")
        headers[name.strip()] = value.strip()
    wishes = {"prompt": chosen.prompt} if chosen.prompt else {}
    return EndpointSettings(
        address=Address.of(chosen.url), headers=headers, cwd=chosen.cwd, patience=chosen.timeout, **wishes
    )
