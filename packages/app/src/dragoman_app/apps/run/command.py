"""`dragoman run`, one turn with any agent: from parsed arguments to an exit status.

Reading order: `exits` how a run can end, `events` what it reports, `running` and `drive` the order of steps;
each other file holds one idea of these. Mistakes that can be found without an agent are found first, and
nothing is started. Then the agent is started, and our own code is loaded while it starts: this module imports
no more than that needs, neither asyncio nor `logging`.
"""

from __future__ import annotations

import argparse
import os
import signal
from typing import TYPE_CHECKING

from dragoman.text.sanitize import sanitize
from dragoman.transport.patient import claim_stderr
from dragoman_app.apps.console import UsageMistake, write_stderr
from dragoman_app.apps.run.early_agent import EarlyAgent
from dragoman_app.apps.run.exits import EXITS
from dragoman_app.apps.run.plan import make_plan

if TYPE_CHECKING:
    from dragoman_app.apps.run.execution import ListenerOpener


def run(args: argparse.Namespace, *, open_listener: ListenerOpener = lambda: None) -> int:
    """Run `dragoman run`; return the exit status. `open_listener` is called when the agent has started, and
    returns a listener for all events.
    """
    try:
        return _run_command(args, open_listener)
    except KeyboardInterrupt:  # before anything was started, or after all of it has ended
        return EXITS["cancelled"].status
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is decided; Python's own end is not interrupted


def _run_command(args: argparse.Namespace, open_listener: ListenerOpener) -> int:
    claim_stderr(2)
    try:
        plan = make_plan(args)
    except UsageMistake as mistake:
        write_stderr(f"dragoman run: {sanitize(str(mistake))}\nTry: {mistake.next_step}\n")
        return EXITS["usage"].status
    try:
        os.fstat(1)
    except OSError:
        write_stderr("dragoman run: standard output is closed\n")
        return EXITS["output_closed"].status
    early = EarlyAgent(plan)
    try:
        # Half of all our code, loaded while the agent starts.
        from dragoman_app.apps.run.execution import run_in_loop

        return run_in_loop(plan, args, early, open_listener)
    finally:
        early.kill()  # does nothing unless we were interrupted before anybody took it
