"""`dragoman run`, one turn with any agent: from parsed arguments to an exit status.

Reading order: `exits` how a run can end, `events` what it reports, `drive` the order of steps; each other
file holds one idea of these. Mistakes that can be found without an agent are found first, and nothing is
started. Then one event loop starts the agent, loads the drive meanwhile, and runs it; whatever happens in it,
the last event is `end` and the exit status is its outcome's.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import time
from typing import TYPE_CHECKING

from dragoman.apps.console import SafeFormatter, UsageMistake, write_stderr
from dragoman.apps.run import events
from dragoman.apps.run.exits import EXITS
from dragoman.apps.run.narrate import now, raw
from dragoman.apps.run.outcome import RunOutcome, outcome_of_error
from dragoman.apps.run.output import OutputClosed, OutputWriter
from dragoman.apps.run.plan import RunPlan, make_plan
from dragoman.apps.run.reporter import RunReporter
from dragoman.apps.run.starting import EarlyAgent
from dragoman.apps.run.stop import RunStop
from dragoman.apps.run.texts import TextView
from dragoman.apps.run.views import EventView, JsonView, QuietView
from dragoman.apps.terminals import Paint, is_terminal, shows_colours
from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize
from dragoman.transport.patient import claim_stderr
from dragoman.version import VERSION

if TYPE_CHECKING:
    from dragoman.apps.run.drive import RunDriver
    from dragoman.apps.run.handover import RunRecord

log = logging.getLogger(__name__)

STDOUT = 1

LAST_WORDS = 1.0
"""Seconds for the reader of standard output when everything is to end; otherwise it has all the time."""


def run(args: argparse.Namespace) -> int:
    """`dragoman run`; returns the exit status."""
    try:
        return _run_command(args)
    except KeyboardInterrupt:  # before anything was started, or after all of it has ended
        return EXITS["cancelled"].status
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is decided; Python's own end is not interrupted


def _run_command(args: argparse.Namespace) -> int:
    claim_stderr(2)
    _set_up_logging(verbose=args.verbose)
    try:
        plan = make_plan(args)
    except UsageMistake as mistake:
        write_stderr(f"dragoman run: {sanitize(str(mistake))}\nTo go on: {mistake.next_step}.\n")
        return EXITS["usage"].status
    try:
        os.fstat(STDOUT)
    except OSError:
        write_stderr("dragoman run: standard output is closed\n")
        return EXITS["output_closed"].status
    return asyncio.run(_run(plan, args))


async def _run(plan: RunPlan, args: argparse.Namespace) -> int:
    output = OutputWriter(STDOUT)
    reporter = RunReporter(_view(args), output, verbose=args.verbose)
    began = time.monotonic()
    reporter.emit(
        events.StartEvent(
            time=now(),
            schema=events.SCHEMA,
            version=VERSION,
            agent=plan.target.agent.name,
            cwd=plan.session_request.cwd,
        )
    )
    if plan.target.note is not None:
        reporter.note(plan.target.note)
    stop = RunStop(reporter.note, step=plan.limits.end_seconds)
    running = _Run(plan, reporter, output, stop)
    task = asyncio.create_task(running.run(), name="run")
    stop.watch(task, timeout=args.timeout)
    try:
        outcome = await _wait_for_outcome(task, stop)
        _tell_end(reporter, outcome, running.session_id, time.monotonic() - began)
        reporter.finish()
        return await _finish(output, outcome, patience=LAST_WORDS if stop.is_ending else None)
    finally:
        stop.close()
        output.close()


class _Run:
    """The agent, and the driver that talks to it."""

    def __init__(self, plan: RunPlan, reporter: RunReporter, output: OutputWriter, stop: RunStop) -> None:
        self._plan = plan
        self._reporter = reporter
        self._output = output
        self._stop = stop
        self._driver: RunDriver | None = None

    @property
    def session_id(self) -> str | None:
        return None if self._driver is None else self._driver.session_id

    async def run(self) -> RunOutcome:
        plan = self._plan
        if plan.successor is None:
            return await self._run_agent(plan)
        from dragoman.apps.run import handover

        record = handover.RunRecord(plan.target.agent.name)
        error: DragomanError | None = None
        try:
            outcome = await self._run_agent(plan, record)
        except DragomanError as failure:
            error, outcome = failure, outcome_of_error(failure)
        if self._stop.reason is not None or not handover.has_successor(plan, outcome):
            if error is not None:
                raise error
            return outcome
        self._reporter.note(f"{plan.target.agent.name}: {outcome.message}", level="warning")
        brief = record.brief()
        stream = "" if self._driver is None else self._driver.stream
        successor = handover.successor_plan(plan, brief, source=stream)
        handover.tell_handover(
            self._reporter, successor, agent=plan.target.agent.name, reason=outcome.name, brief=brief
        )
        return await self._run_agent(successor)

    async def _run_agent(self, plan: RunPlan, record: RunRecord | None = None) -> RunOutcome:
        early = EarlyAgent(plan)
        self._stop.owns(early.kill)
        try:
            from dragoman.apps.run.drive import (
                RunDriver,  # half of all our code, loaded while the agent starts
            )

            self._driver = RunDriver(
                plan, self._reporter, self._output, self._stop, early=early, record=record
            )
            return await self._driver.run()
        finally:
            await early.aclose()


async def _wait_for_outcome(task: asyncio.Task[RunOutcome], stop: RunStop) -> RunOutcome:
    try:
        await asyncio.wait((task,))
        outcome = task.result()
    except (Exception, asyncio.CancelledError) as error:  # each has an outcome, ours too
        outcome = outcome_of_error(_single(error))
        if outcome.name == "failed":
            log.exception("the run failed")
    if stop.reason is not None and outcome.name != "output_closed":
        return RunOutcome(name=stop.reason, message=EXITS[stop.reason].meaning, result=outcome.result)
    return outcome


def _single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _tell_end(reporter: RunReporter, outcome: RunOutcome, session_id: str | None, seconds: float) -> None:
    result = outcome.result
    if outcome.message and outcome.name != "end_turn":
        stop = "" if "\n" in (outcome.next_step or "") else "."  # a list of commands has none
        next_step = f"\nTo go on: {outcome.next_step}{stop}" if outcome.next_step else ""
        reporter.note(outcome.message + next_step, level="error")
    end = events.EndEvent(
        time=now(),
        outcome=outcome.name,
        status=outcome.status,
        seconds=round(seconds, 3),
        stop_reason=None if result is None else result.stop_reason,
        session_id=session_id,
        message=outcome.message,
    )
    if result is not None and result.usage is not None:
        end = events.EndEvent(
            **{name: getattr(end, name) for name in end.__struct_fields__} | {"usage": raw(result.usage)}
        )
    reporter.emit(end)


async def _finish(output: OutputWriter, outcome: RunOutcome, *, patience: float | None) -> int:
    try:
        async with asyncio.timeout(patience):
            await output.finish()
    except OutputClosed:
        return outcome.status or EXITS["output_closed"].status
    except TimeoutError:
        pass  # we were told to end, and nobody reads
    return outcome.status


def _view(args: argparse.Namespace) -> EventView:
    if args.format == "json":
        return JsonView()
    if args.format == "quiet":
        return QuietView()
    terminal = is_terminal(STDOUT)
    colours = shows_colours(os.environ, is_terminal=terminal, is_refused=args.no_color)
    return TextView(Paint(colours=colours), is_terminal=terminal)


def _set_up_logging(*, verbose: bool) -> None:
    """Our log is for those who asked for it: it may quote what an agent sent."""
    log = logging.getLogger("dragoman")
    log.propagate = False
    if verbose:
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("dragoman: %(levelname)s: %(message)s"))
        log.addHandler(handler)
    else:
        log.addHandler(logging.NullHandler())
