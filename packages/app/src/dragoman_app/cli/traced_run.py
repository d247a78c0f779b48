"""`dragoman run`, with spans for a collector if variables of OpenTelemetry ask for them.

The turn is a span, and each tool call one below it; the agent is told of the turn's in the `_meta` of the
prompt. `TRACEPARENT` of the environment is the parent, so that a job of CI has the run in its own trace.
Without such variables nothing of this is imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from dragoman.errors import LocalMistake
from dragoman_app.apps.console import say
from dragoman_app.apps.run.command import run as run_command
from dragoman_hub.api.observability.otel_variables import are_spans_wanted, parent_of

if TYPE_CHECKING:
    from dragoman_app.cli.run_spans import RunSpans

SERVICE = "dragoman-run"

EXPORT_SECONDS = 2.0
"""A person waits for the end of the run; `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise."""


def run(args: argparse.Namespace) -> int:
    """The exit status; see the help."""
    if not are_spans_wanted(os.environ):
        return run_command(args)
    return run_command(args, open_listener=_open_spans)


def _open_spans() -> RunSpans | None:
    from dragoman_app.cli.run_spans import RunSpans  # loads what sends them
    from dragoman_hub.api.observability.spans import open_spans

    try:
        return RunSpans(open_spans(service=SERVICE, seconds=EXPORT_SECONDS), parent_of(os.environ))
    except LocalMistake as error:  # the variables are for every program; this one runs without spans too
        say(f"dragoman run: no spans are sent: {error}", file=sys.stderr, flush=True)
        return None
