"""The results of the checks: steps, each with a verdict, and the overall outcome. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dragoman_local.known.agent import KnownAgent


class CheckResult(StrEnum):
    """The result of a step."""

    OK = "ok"
    WARNING = "warning"
    """It works, with a warning."""

    FAILED = "failed"


class DiagnosisOutcome(StrEnum):
    """The overall outcome, in the words of `dragoman run`."""

    OK = "ok"
    NOT_STARTED = "not_started"
    AGENT_DIED = "agent_died"
    TIMEOUT = "timeout"
    PROTOCOL_ERROR = "protocol_error"
    AGENT_ERROR = "agent_error"
    AUTH_NEEDED = "auth_needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisStep:
    """One check and its result."""

    name: str
    verdict: CheckResult
    summary: str
    """The result in words."""

    meaning: str = ""
    advice: str = ""
    """What to do next."""

    evidence: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFrame:
    """A frame of the conversation, shortened if it is long."""

    seconds: float
    """The seconds since the agent's start."""

    direction: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All results."""

    agent: KnownAgent
    outcome: DiagnosisOutcome
    steps: tuple[DiagnosisStep, ...]
    frames: tuple[SeenFrame, ...] = ()
    stderr: str = ""
    """The end of the agent's standard error."""
