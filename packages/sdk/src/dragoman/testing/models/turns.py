"""The actions of a scripted model: turns, made of steps.

    turn(think("A file."), call("read", path="a.py"), call("read", path="b.py"))
    turn(say("Both are ", "empty."), usage=Usage(input=900, output=7))
    turn(fail(429, "Slow down", retry_after=2))
    turn(say("The answer is for"), cut())

A turn is the answer to one request. Without `when` it is used once, in its place; with `when` it answers any
request that fits, before those in their place are looked at, `times` times or without end. The words are
neutral: each wire format says them in its own way, and a step that a format does not know is left out.

Nothing here knows HTTP or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.wire.envelope import Json

if TYPE_CHECKING:
    from dragoman.testing.models.requests import ModelRequest

Where: TypeAlias = Literal["event", "between", "head", "quietly"]


@dataclass(frozen=True)
class TextStep:
    """The model's text, piece by piece. `$text` in a piece is the text of the last message."""

    pieces: tuple[str, ...]
    pace: float = 0.0
    """Seconds before each piece."""


@dataclass(frozen=True)
class ThoughtStep:
    """The model's thoughts, piece by piece."""

    pieces: tuple[str, ...]
    pace: float = 0.0


@dataclass(frozen=True)
class CallStep:
    """A tool call. Arguments given as a text are sent unchanged, even if they are not JSON."""

    name: str
    arguments: Mapping[str, Json] | str
    id: str | None = None
    pieces: int = 2
    """The number of pieces of the arguments."""
    pace: float = 0.0


@dataclass(frozen=True)
class WaitStep:
    """Seconds without a byte. Before the first output, the head of the answer is delayed too."""

    seconds: float


@dataclass(frozen=True)
class HoldStep:
    """Waits until the test calls `model.release(name)`; a wait that needs no clock."""

    name: str = "hold"


@dataclass(frozen=True)
class BeginStep:
    """Sends the head of the answer and the start of the stream, before any output."""


@dataclass(frozen=True)
class RawStep:
    """Sends these bytes unchanged in the body."""

    data: bytes


@dataclass(frozen=True)
class EndlessStep:
    """Sends the same piece again and again, until the client is gone."""

    piece: str
    pace: float = 0.01


@dataclass(frozen=True)
class CutStep:
    """Ends the answer: in the middle of an event, between two events, or before the first byte, and closes
    the connection each time; or `quietly`, as if the answer was complete.
    """

    where: Where = "event"


@dataclass(frozen=True)
class RefuseStep:
    """Drops this connection and refuses new ones, for some seconds or until `model.listen()`."""

    seconds: float | None = None


@dataclass(frozen=True)
class FailStep:
    """Sends an error: as the status of the answer, or in the stream if it has begun."""

    status: int
    message: str | None = None
    kind: str | None = None
    """The error's type, if it differs from the format's type for this status."""
    code: str | None = None
    retry_after: float | None = None
    reset: float | None = None
    """The seconds until the quota is available again; each format has its own headers for it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """The body to send instead of the format's error."""


Step: TypeAlias = (
    TextStep
    | ThoughtStep
    | CallStep
    | WaitStep
    | HoldStep
    | BeginStep
    | RawStep
    | EndlessStep
    | CutStep
    | RefuseStep
    | FailStep
)


@dataclass(frozen=True)
class TokenUsage:
    """Tokens. `input` counts everything, including cached tokens; `output` includes thoughts."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class ModelTurn:
    """The answer to one request."""

    steps: tuple[Step, ...]
    stop: str | None = None
    """stop, length, tool_calls, refusal, content_filter, or another format's word for one of them. By
    default, the reason that fits the steps.
    """
    usage: TokenUsage | None = None
    when: Callable[[ModelRequest], bool] | None = None
    times: int | None = 1
    """How often the turn may be used; None means without a limit."""
    split: int | None = None
    """The bytes to send at once, to test a reader with a stream cut anywhere."""

    def __post_init__(self) -> None:
        if self.stop is None:
            calls = any(isinstance(step, CallStep) for step in self.steps)
            object.__setattr__(self, "stop", "tool_calls" if calls else "stop")
        else:
            object.__setattr__(self, "stop", SAME.get(self.stop, self.stop))


SAME = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}
"""The words of each format, and ours. Unknown words are sent unchanged."""


def turn(
    *steps: Step | str,
    stop: str | None = None,
    usage: TokenUsage | None = None,
    when: Callable[[ModelRequest], bool] | None = None,
    times: int | Literal["default"] | None = "default",
    split: int | None = None,
) -> ModelTurn:
    """Create a turn of these steps; a text alone is said by the model. With `when`, it is used without a
    limit unless `times` is set.
    """
    if times == "default":
        times = 1 if when is None else None
    turn_steps = tuple(TextStep((step,)) if isinstance(step, str) else step for step in steps)
    return ModelTurn(turn_steps, stop, usage, when, times, split)


def say(*pieces: str, pace: float = 0.0) -> TextStep:
    return TextStep(pieces, pace)


def think(*pieces: str, pace: float = 0.0) -> ThoughtStep:
    return ThoughtStep(pieces, pace)


def call(tool: str, raw: str | None = None, /, **arguments: object) -> CallStep:
    """Create a call with these arguments, or with a text in their place, which need not be JSON."""
    return CallStep(tool, arguments if raw is None else raw)


def wait(seconds: float) -> WaitStep:
    return WaitStep(seconds)


def hold(name: str = "hold") -> HoldStep:
    return HoldStep(name)


def begin() -> BeginStep:
    return BeginStep()


GARBAGE = b"event: content_block_delta\ndata: {this is not JSON\n\n"
"""A broken event. It has a name, because Anthropic's clients skip events without a known name."""


def garbage(data: bytes = GARBAGE) -> RawStep:
    return RawStep(data)


def huge(size: int) -> TextStep:
    """Return one piece of this many characters."""
    return TextStep(("x" * size,))


def endless(piece: str = "and so on ", *, pace: float = 0.01) -> EndlessStep:
    return EndlessStep(piece, pace)


def cut(where: Where = "event") -> CutStep:
    return CutStep(where)


def refuse(seconds: float | None = None) -> RefuseStep:
    return RefuseStep(seconds)


def fail(
    status: int,
    message: str | None = None,
    *,
    kind: str | None = None,
    code: str | None = None,
    retry_after: float | None = None,
    reset: float | None = None,
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
) -> FailStep:
    return FailStep(status, message, kind, code, retry_after, reset, headers or {}, body)
