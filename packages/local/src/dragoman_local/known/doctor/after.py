"""Checks of a running agent: the meaning of its actions and failures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from dragoman.dialect import DialectDecision
from dragoman.errors import (
    BadAnswer,
    CallFailed,
    DeadlineExceeded,
    DragomanError,
    LinkClosed,
    PeerDied,
    VersionMismatch,
)
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.transport.contract import Grace
from dragoman.wire.codes import AUTH_REQUIRED
from dragoman_local.known.agent import KnownAgent
from dragoman_local.known.doctor.findings import CheckResult, DiagnosisOutcome, DiagnosisStep
from dragoman_local.known.doctor.frame_watch import FrameWatch
from dragoman_local.known.doctor.logins import LoginWay, advice_for, state_of
from dragoman_local.known.hints import HEADERS, explain

LAST_LINES = 12
"""The lines of standard error to show after a crash."""


def not_a_command(agent: KnownAgent) -> DiagnosisStep:
    return DiagnosisStep(
        name="command",
        verdict=CheckResult.FAILED,
        summary=f"{agent.name} is an address; only agents that are started by a command can be examined",
        advice="give the command of the agent",
    )


def start_failure_step(error: DragomanError) -> DiagnosisStep:
    return DiagnosisStep(
        name="start",
        verdict=CheckResult.FAILED,
        summary=str(error),
        meaning="the system refused to start it",
        advice="fix the problem that the message names",
    )


def start_step(pid: int, watch: FrameWatch) -> DiagnosisStep:
    first = "" if watch.first is None else f"; its first line came after {watch.first:.2f} s"
    return DiagnosisStep(
        name="start", verdict=CheckResult.OK, summary=f"it runs as process {pid}{first}", seconds=watch.first
    )


def dialect(setting: str, decisions: Sequence[DialectDecision]) -> DiagnosisStep | None:
    """Return the step with the agent's dialect; None if it speaks v1."""
    dialect_name = decisions[0].dialect if decisions else setting
    if dialect_name in ("auto", "v1"):
        return None
    why = decisions[0].text if decisions else f"the agent speaks {dialect_name}, as was said"
    return DiagnosisStep(
        name="dialect",
        verdict=CheckResult.OK,
        summary=why,
        meaning="it is translated: every command of dragoman understands it",
        advice=f"for other clients: put `dragoman translate --agent {dialect_name} --` before its command",
    )


def no_handshake(
    error: DragomanError, watch: FrameWatch, *, took: float
) -> tuple[list[DiagnosisStep], DiagnosisOutcome]:
    """Return the steps for a failed `initialize`, by the kind of its failure."""
    if isinstance(error, PeerDied):
        death = _death_step(error, "start", f"after {took:.2f} s", watch, took=took)
        return [death], DiagnosisOutcome.AGENT_DIED
    running = DiagnosisStep(name="start", verdict=CheckResult.OK, summary="it runs", seconds=watch.first)
    step, outcome = _initialize_failure(error, watch)
    return [running, with_time(step, took)], outcome


def _initialize_failure(error: DragomanError, watch: FrameWatch) -> tuple[DiagnosisStep, DiagnosisOutcome]:
    if isinstance(error, DeadlineExceeded):
        return _silent(error, watch), DiagnosisOutcome.TIMEOUT
    if isinstance(error, VersionMismatch):
        return _failed_step(
            "initialize",
            str(error),
            "it is newer or older than this client",
            "use a version of the agent that speaks version 1 of the protocol",
        ), DiagnosisOutcome.PROTOCOL_ERROR
    if isinstance(error, BadAnswer):
        return _failed_step(
            "initialize",
            str(error),
            "it answers, but not as the protocol says",
            "update the agent, or report the frames below to its makers",
        ), DiagnosisOutcome.PROTOCOL_ERROR
    if watch.echoes:
        return _failed_step(
            "initialize",
            "it sends our own words back",
            "this is not an agent, or a terminal in between repeats the input",
            "check the command",
        ), DiagnosisOutcome.PROTOCOL_ERROR
    if isinstance(error, CallFailed):
        meaning, advice = explain(error.message)
        return _failed_step(
            "initialize", str(error), meaning or "it refuses the conversation", advice or "read its message"
        ), DiagnosisOutcome.AGENT_ERROR
    return _failed_step(
        "initialize", str(error), "the conversation broke off", ""
    ), DiagnosisOutcome.AGENT_DIED


def _silent(error: DeadlineExceeded, watch: FrameWatch) -> DiagnosisStep:
    if any(line.lower().startswith("content-length:") for line in watch.noise):
        meaning, advice = HEADERS.meaning, HEADERS.advice
    elif watch.noise_count:
        meaning = "it writes text to its output, but no protocol: this is probably not the right mode of it"
        advice = "add the option that turns the protocol on, such as --acp"
    else:
        meaning = "it says nothing at all: it waits for something else than the protocol, or it is very slow"
        advice = "check that its command turns the protocol on; try a longer --timeout"
    return _failed_step("initialize", f"no answer to initialize within {error.seconds:g} s", meaning, advice)


def _death_step(
    error: PeerDied, name: str, when: str, watch: FrameWatch | None = None, *, took: float | None = None
) -> DiagnosisStep:
    how = (
        f"ended with signal {error.signal}" if error.signal else f"ended with exit status {error.returncode}"
    )
    if error.returncode is None:
        how = "closed its output, and lives on"
    last_words = "\n".join((error.stderr, *([] if watch is None else watch.noise)))
    meaning, advice = explain(last_words, returncode=error.returncode, signal=error.signal)
    stderr_lines = [f"stderr: {line}" for line in error.stderr.strip().splitlines()[-LAST_LINES:]]
    return DiagnosisStep(
        name=name,
        verdict=CheckResult.FAILED,
        summary=f"{when} it {how}",
        meaning=meaning or "it gave up before it answered",
        advice=advice
        or ("its last words are below" if stderr_lines else "run its command in a terminal and see"),
        evidence=tuple(stderr_lines),
        seconds=took,
    )


def initialize_step(handle: AgentHandle, watch: FrameWatch, *, took: float) -> DiagnosisStep:
    info = handle.info
    who = "an agent without a name" if info is None else f"{info.title or info.name} {info.version}"
    can = list(_capability_names(watch.initialize.get("agentCapabilities")))
    return DiagnosisStep(
        name="initialize",
        verdict=CheckResult.OK,
        summary=f"{who}, protocol version {handle.protocol_version}, answered in {took:.2f} s",
        evidence=(f"it can: {', '.join(can) or 'nothing beyond the least'}",),
        seconds=took,
    )


def _capability_names(value: object, prefix: str = "") -> list[str]:
    """The capabilities that are true or there, by their dotted names."""
    if not isinstance(value, Mapping):
        return [prefix] if value is True else []
    inner = [
        name
        for key, item in value.items()
        if key != "_meta"
        for name in _capability_names(item, f"{prefix}.{key}" if prefix else key)
    ]
    return inner or ([prefix] if prefix and not value else [])


@dataclasses.dataclass(frozen=True, slots=True)
class LoginNeeds:
    """The agent's logins, compared with its environment."""

    logins: Sequence[LoginWay]
    name: str = dataclasses.field(kw_only=True)
    environment: Mapping[str, str] = dataclasses.field(kw_only=True, repr=False)
    ours: Mapping[str, str] = dataclasses.field(kw_only=True, repr=False)
    command: Sequence[str] = dataclasses.field(kw_only=True)

    def step(self) -> DiagnosisStep:
        if not self.logins:
            return DiagnosisStep(name="auth", verdict=CheckResult.OK, summary="it names no way to log in")
        return DiagnosisStep(
            name="auth",
            verdict=CheckResult.OK,
            summary=f"it offers {', '.join(login.id for login in self.logins)}",
            evidence=tuple(
                state_of(login, environment=self.environment, ours=self.ours, command=self.command)
                for login in self.logins
            ),
        )

    def advice(self) -> str:
        return advice_for(
            self.logins, name=self.name, environment=self.environment, ours=self.ours, command=self.command
        )


async def try_session(
    handle: AgentHandle, *, cwd: str, needs: LoginNeeds
) -> tuple[DiagnosisStep, DiagnosisOutcome]:
    """Open one session, and close it if possible."""
    try:
        session = await handle.new_session(cwd=cwd)
        if "sessionCapabilities.close" in handle.capabilities:
            await session.close()
    except CallFailed as error:
        return _session_failure(error, needs)
    except DeadlineExceeded as error:
        return _failed_step(
            "session",
            f"{error.what} was not answered within {error.seconds:g} s",
            "it answers initialize, but opens no session; often it waits for a login or for the network",
            needs.advice() if needs.logins else "try a longer --timeout; look at its standard error below",
        ), DiagnosisOutcome.TIMEOUT
    except PeerDied as error:
        return _death_step(error, "session", "asked for a session,"), DiagnosisOutcome.AGENT_DIED
    except LinkClosed as error:
        return _failed_step(
            "session", str(error), "the conversation broke off", ""
        ), DiagnosisOutcome.AGENT_DIED
    except BadAnswer as error:
        return _failed_step(
            "session", str(error), "it answers, but not as the protocol says", "update the agent"
        ), DiagnosisOutcome.PROTOCOL_ERROR
    modes = session.modes.available_modes if session.modes else ()
    about = f"; modes: {', '.join(mode.id for mode in modes)}" if modes else ""
    return DiagnosisStep(
        name="session", verdict=CheckResult.OK, summary=f"session/new works{about}"
    ), DiagnosisOutcome.OK


def _session_failure(error: CallFailed, needs: LoginNeeds) -> tuple[DiagnosisStep, DiagnosisOutcome]:
    if error.code == AUTH_REQUIRED:
        return _failed_step(
            "session", str(error), "the agent needs a login first", needs.advice()
        ), DiagnosisOutcome.AUTH_NEEDED
    data = () if error.data is None else (f"data: {msgspec.json.encode(error.data).decode()}",)
    meaning, advice = explain(f"{error.message} {' '.join(data)}")
    return DiagnosisStep(
        name="session",
        verdict=CheckResult.FAILED,
        summary=str(error),
        meaning=meaning or "it refuses to open a session",
        advice=advice or "read its message, and its standard error below",
        evidence=data,
    ), DiagnosisOutcome.AGENT_ERROR


def output(watch: FrameWatch) -> DiagnosisStep:
    """Check whether standard output has only messages of the protocol."""
    if not watch.noise_count:
        content = "nothing" if watch.first is None else "nothing but the protocol"
        return DiagnosisStep(name="stdout", verdict=CheckResult.OK, summary=f"{content} on standard output")
    return DiagnosisStep(
        name="stdout",
        verdict=CheckResult.WARNING,
        summary=f"lines on standard output that are not protocol: {watch.noise_count}",
        meaning="this client passes over them; stricter ones end the conversation",
        advice="let the agent, or the script that starts it, write such text to standard error",
        evidence=tuple(f"stdout: {line}" for line in watch.noise),
    )


def end_step(returncode: int | None, *, took: float, grace: Grace) -> DiagnosisStep:
    """Check whether the agent ends when its input does."""
    if took < grace.after_eof:
        status = "" if returncode == 0 else f", with exit status {returncode}"
        return DiagnosisStep(
            name="end",
            verdict=CheckResult.OK if returncode == 0 else CheckResult.WARNING,
            summary=f"it ended {took:.2f} s after its input did{status}",
            meaning="" if returncode == 0 else "some clients take that for a crash",
            seconds=took,
        )
    was_killed = took >= grace.after_eof + grace.after_terminate
    return DiagnosisStep(
        name="end",
        verdict=CheckResult.WARNING,
        summary="it ignores the end of its input; "
        f"{'it had to be killed' if was_killed else 'SIGTERM ended it'}",
        meaning="it would live on after clients that do not end it by force",
        advice="nothing to do here: dragoman ends it; tell its makers",
        seconds=took,
    )


def with_time(step: DiagnosisStep, took: float) -> DiagnosisStep:
    return dataclasses.replace(step, seconds=took)


def _failed_step(name: str, summary: str, meaning: str, advice: str) -> DiagnosisStep:
    return DiagnosisStep(
        name=name, verdict=CheckResult.FAILED, summary=summary, meaning=meaning, advice=advice
    )
