"""`dragoman check endpoint`: tests a remote server over Streamable HTTP and WebSocket."""

from __future__ import annotations

import argparse

from dragoman_app.apps.console import ErrorStatus
from dragoman_app.cli.check_interruption import Interruption
from dragoman_app.cli.check_report import MISTAKEN, UNEXAMINED, Examined, Wishes, say_progress
from dragoman_check.endpoint.examination import EndpointSettings
from dragoman_check.endpoint.http import Address, Unreachable
from dragoman_check.endpoint.scenes import examine_endpoint


def run(args: argparse.Namespace) -> int:
    with Interruption() as interruption:
        with (
            ErrorStatus(OSError, ValueError, status=MISTAKEN),
            ErrorStatus(Unreachable, status=UNEXAMINED, before="cannot be examined: "),
        ):
            wishes, endpoint = Wishes(args), _endpoint(args)
            over_http = not args.url.lower().startswith("ws")
            progress = None if args.quiet else say_progress
            recordings = interruption.run(
                lambda stop: examine_endpoint(endpoint, over_http=over_http, progress=progress, stop=stop)
            )
        names = [str(recording.facts.get("scene")).replace("_", " ") for recording in recordings]
        examined = Examined(recordings, ("server",), args.url, names)
        return wishes.finish(examined, interruption=interruption)


def _endpoint(args: argparse.Namespace) -> EndpointSettings:
    headers = {}
    for header in args.header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise ValueError(f"{header!r} is not a header. Use NAME:VALUE")
        headers[name.strip()] = value.strip()
    wishes = {"prompt": args.prompt} if args.prompt else {}
    return EndpointSettings(
        address=Address.of(args.url), headers=headers, cwd=args.cwd, patience=args.timeout, **wishes
    )
