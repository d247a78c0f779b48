"""One run from its start to its exit status, in one event loop. In every case, the last event is `end` and
the exit status is its outcome's.

The agent runs already when this module is loaded, and starts while the rest of our code is loaded.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from dragoman.errors import DragomanError
from dragoman.version import VERSION
from dragoman_app.apps.console import write_stderr
from dragoman_app.apps.log_lines import SafeFormatter, log_only_to, sanitize_log_lines
from dragoman_app.apps.run import events
from dragoman_app.apps.run.drive import RunDriver, RunStage
from dragoman_app.apps.run.early_agent import EarlyAgent
from dragoman_app.apps.run.exits import EXITS
from dragoman_app.apps.run.narrate import now, raw
from dragoman_app.apps.run.outcome import RunOutcome, outcome_of_error
from dragoman_app.apps.run.output import STDOUT, OutputClosed, OutputFailed, OutputWriter
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.progress import ProgressLine, shown_progress
from dragoman_app.apps.run.reporter import EventView, JsonView, QuietView, RunListener, RunReporter
from dragoman_app.apps.run.steering import LineSteering
from dragoman_app.apps.run.stop import RunStop
from dragoman_app.apps.run.texts import TextView
from dragoman_app.apps.terminals import Paint, is_terminal, shows_colours

if TYPE_CHECKING:  # few runs have a successor
    from dragoman_app.apps.run.handover import RunRecord

log = logging.getLogger(__name__)

LAST_WORDS = 1.0
"""The seconds for the reader of standard output at an early end; otherwise there is no limit."""


ListenerOpener: TypeAlias = Callable[[], RunListener | None]


def run_in_loop(
    plan: RunPlan, args: argparse.Namespace, early: EarlyAgent, open_listener: ListenerOpener
) -> int:
    """Run the plan in an event loop of its own; return the exit status."""
    _set_up_logging(verbose=args.verbose)
    gc.freeze()  # what was loaded stays: to look through it once would take longer than a short turn
    gc.enable()  # a turn may be long; it was off while we were loaded
    return asyncio.run(_adopt_and_run(plan, args, early, open_listener))


async def _adopt_and_run(
    plan: RunPlan, args: argparse.Namespace, early: EarlyAgent, open_listener: ListenerOpener
) -> int:
    early.adopt()
    try:
        return await run_plan(plan, args, early, listener=open_listener())
    finally:
        await early.aclose()


def _set_up_logging(*, verbose: bool) -> None:
    """Our log is for those who asked for it: it may quote what an agent sent."""
    sanitize_log_lines()
    handler = logging.StreamHandler() if verbose else logging.NullHandler()
    handler.setFormatter(SafeFormatter("dragoman: %(levelname)s: %(message)s"))
    log_only_to(handler)


async def run_plan(
    plan: RunPlan, args: argparse.Namespace, early: EarlyAgent, *, listener: RunListener | None = None
) -> int:
    """Run the turn with the started agent, report everything, and return the exit status."""
    output = OutputWriter(STDOUT)
    view = _view(args)
    progress = _progress(args, plan, view)
    reporter = RunReporter(view, output, verbose=args.verbose, progress=progress, listener=listener)
    began = time.monotonic()
    reporter.emit(
        events.StartEvent(
            time=now(),
            schema=events.SCHEMA,
            version=VERSION,
            agent=plan.target.agent.name,
            cwd=plan.session_request.cwd,
            sandbox=plan.target.sandbox,
            command_sandbox=plan.rules.sandbox,
        )
    )
    if plan.rules.sandbox != "auto":
        reporter.tell(
            f"sandbox: {plan.target.sandbox} for the agent and for the commands that Dragoman runs for it"
        )
    if plan.target.note is not None:
        reporter.note(plan.target.note)
    stop = RunStop(reporter.note, step=plan.limits.end_seconds)
    steering = None if plan.steer is None else LineSteering(reporter, plan.steer)
    running = _RunningAgent(plan, RunStage(reporter, output, stop, steering), early)
    task = asyncio.create_task(running.run(), name="run")
    stop.watch(task, timeout=args.timeout)
    try:
        async with shown_progress(progress, output, is_free=lambda: _is_free(view, reporter)):
            outcome = await _wait_for_outcome(task, stop)
        if steering is not None:
            await steering.finish()
        _tell_end(reporter, outcome, running.session_id, time.monotonic() - began)
        reporter.finish()
        return await _finish(output, outcome, patience=LAST_WORDS if stop.is_ending else None)
    finally:
        stop.close()
        output.close()
        if listener is not None:
            await listener.aclose()


class _RunningAgent:
    """The agent, and the driver that talks to it."""

    def __init__(self, plan: RunPlan, stage: RunStage, early: EarlyAgent) -> None:
        self._plan = plan
        self._stage = stage
        self._early = early
        self._driver: RunDriver | None = None

    @property
    def session_id(self) -> str | None:
        return None if self._driver is None else self._driver.session_id

    async def run(self) -> RunOutcome:
        plan = self._plan
        if plan.successor is None:
            return await self._run_agent(plan, self._early)
        from dragoman_app.apps.run import handover

        record = handover.RunRecord(plan.target.agent.name)
        error: DragomanError | None = None
        try:
            outcome = await self._run_agent(plan, self._early, record)
        except DragomanError as failure:
            error, outcome = failure, outcome_of_error(failure)
        is_over = self._stage.stop.reason is not None or plan.successor is None
        if is_over or outcome.name not in handover.FAILURES:
            if error is not None:
                raise error
            return outcome
        self._stage.reporter.note(f"{plan.target.agent.name}: {outcome.message}", level="warning")
        brief = record.brief()
        stream = "" if self._driver is None else self._driver.stream
        successor = handover.successor_plan(plan, brief, source=stream)
        handover.tell_handover(
            self._stage.reporter, successor, agent=plan.target.agent.name, reason=outcome.name, brief=brief
        )
        early = EarlyAgent(successor)
        early.adopt()
        return await self._run_agent(successor, early)

    async def _run_agent(
        self, plan: RunPlan, early: EarlyAgent, record: RunRecord | None = None
    ) -> RunOutcome:
        self._stage.stop.owns(early.kill)
        try:
            self._driver = RunDriver(plan, self._stage, early=early, record=record)
            return await self._driver.run()
        finally:
            await early.aclose()


async def _wait_for_outcome(task: asyncio.Task[RunOutcome], stop: RunStop) -> RunOutcome:
    try:
        await asyncio.wait((task,))
        outcome = task.result()
    except (Exception, asyncio.CancelledError) as error:  # each has an outcome, ours too
        outcome = outcome_of_error(_single(error), start_option="--start-timeout SECONDS")
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
        next_step = f"\nTry: {outcome.next_step}" if outcome.next_step else ""
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
    except OutputFailed as error:
        if outcome.message != str(error):  # else it is told already
            write_stderr(f"dragoman run: {error}\n")
        return outcome.status or EXITS["failed"].status
    except OutputClosed:
        return outcome.status or EXITS["output_closed"].status
    except TimeoutError:
        pass  # we were told to end, and nobody reads
    return outcome.status


def _progress(args: argparse.Namespace, plan: RunPlan, view: EventView) -> ProgressLine | None:
    """None where nobody could see the line, or where it would be in the way of what a person types."""
    is_in_the_way = args.verbose or (plan.steer is not None and is_terminal(0))
    if not isinstance(view, TextView) or not view.paint.colours or is_in_the_way:
        return None
    return ProgressLine(view.paint)


def _is_free(view: EventView, reporter: RunReporter) -> bool:
    return isinstance(view, TextView) and view.is_at_line_start and not reporter.question_lock.locked()


def _view(args: argparse.Namespace) -> EventView:
    if args.format == "json":
        return JsonView()
    if args.format == "quiet":
        return QuietView()
    terminal = is_terminal(STDOUT)
    colours = shows_colours(os.environ, is_terminal=terminal, is_refused=args.no_color)
    return TextView(Paint(colours=colours), is_terminal=terminal)
