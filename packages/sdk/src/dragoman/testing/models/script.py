"""Scripts for models: a list of turns, or a text with the same meaning.

    model small large              names for the list of models
    key sk-test                    other keys are answered with 401

    on "*weather*"                 whenever the last message is like this; also tool=, system=, has=, model=
      think "They mean the sky."
      call get_weather {"city": "Bern"}
      call get_weather {"city": "Rome"}

    turn                           once, in this place
      say "Sunny, " "mostly." pace=0.2
      usage input=900 output=12
      stop length

    turn
      fail 429 "Slow down" retry_after=2 reset=90

The grammar is that of all our scripts (`script.statements`). A mistake is found when the script is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast, get_args

from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import (
    GARBAGE,
    BeginStep,
    CallStep,
    CutStep,
    EndlessStep,
    FailStep,
    HoldStep,
    ModelTurn,
    RawStep,
    RefuseStep,
    Step,
    TextStep,
    ThoughtStep,
    TokenUsage,
    WaitStep,
    Where,
)
from dragoman.testing.script.patterns import matches
from dragoman.testing.script.statements import ScriptError, Statement, parse
from dragoman.testing.script.verbs import no_body, number, seconds, texts, words
from dragoman.wire.envelope import Json, JsonObject

ASPECTS: dict[str, Callable[[ModelRequest], list[str]]] = {
    "has": lambda request: [message.text for message in request.messages],
    "model": lambda request: [request.model],
    "role": lambda request: [message.role for message in request.messages[-1:]],
    "system": lambda request: [request.system],
    "tool": lambda request: list(request.tools),
}
"""The values that `on` can match besides the last message."""


Answering: TypeAlias = Callable[[ModelRequest], ModelTurn | None]
"""A model as a function: its answer can depend on anything in the request."""


@dataclass(frozen=True)
class ModelScript:
    """Turns, and the server's own settings."""

    turns: tuple[ModelTurn, ...]
    models: tuple[str, ...] = ("scripted",)
    key: str | None = None
    answer: Answering | None = None
    """Chooses the turn for a request; None leaves it to `turns`."""

    @classmethod
    def of(cls, script: ScriptSource, *, key: str | None = None) -> ModelScript:
        """Create a script from a script, its text, turns, or a function; a turn that is a text is said by the
        model.
        """
        if isinstance(script, str):
            result = cls.parse(script)
        elif callable(script):
            result = cls((), answer=script)
        elif isinstance(script, ModelScript):
            result = script
        else:
            result = cls(
                tuple(ModelTurn((TextStep((turn,)),)) if isinstance(turn, str) else turn for turn in script)
            )
        return result if key is None else replace(result, key=key)

    @classmethod
    def load(cls, path: str | Path) -> ModelScript:
        return cls.parse(Path(path).read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str) -> ModelScript:
        """Read a text; raises `ScriptError`."""
        script = cls(())
        for statement in parse(text):
            match statement.verb:
                case "turn" | "on":
                    script = replace(script, turns=(*script.turns, _turn(statement)))
                case "model":
                    script = replace(script, models=tuple(texts(statement, least=1, most=None)))
                case "key":
                    script = replace(script, key=texts(statement, least=1, most=1)[0])
                case verb:
                    raise ScriptError(
                        statement.line, f"{verb!r} is not a verb. Choose from key, model, on, turn"
                    )
        return script


ScriptSource: TypeAlias = ModelScript | str | Sequence[ModelTurn | str] | Answering
"""The types that a script can be made from."""


def _turn(statement: Statement) -> ModelTurn:
    turn = ModelTurn((), times=_times(statement), when=_when(statement), split=_split(statement))
    steps: list[Step] = []
    stop: str | None = None
    for line in statement.body:
        if line.verb == "stop":
            stop = texts(line, least=1, most=1)[0]
        elif line.verb == "usage":
            turn = replace(turn, usage=_usage(line))
        elif line.verb in STEPS:
            steps.append(STEPS[line.verb](line))
        else:
            names = ", ".join(sorted([*STEPS, "stop", "usage"]))
            raise ScriptError(line.line, f"{line.verb!r} is not a step. Choose from {names}")
    return replace(turn, steps=tuple(steps), stop=stop)


def _times(statement: Statement) -> int | None:
    if "times" in statement.options:
        return number(statement, statement.options["times"])
    return None if statement.verb == "on" else 1


def _split(statement: Statement) -> int | None:
    return number(statement, statement.options["split"]) if "split" in statement.options else None


def _when(statement: Statement) -> Callable[[ModelRequest], bool] | None:
    if statement.verb == "turn":
        words(statement, options=("times", "split"))
        return None
    patterns = words(statement, most=1, options=(*ASPECTS, "times", "split"))
    aspects = {name: pattern for name, pattern in statement.options.items() if name in ASPECTS}
    if not (patterns or aspects):
        raise ScriptError(statement.line, "on what? A pattern for the last message, or one of its options")

    def fits(request: ModelRequest) -> bool:
        if patterns and not matches(patterns[0], request.text, {}):
            return False
        return all(
            any(matches(pattern, value, {}) for value in ASPECTS[name](request))
            for name, pattern in aspects.items()
        )

    return fits


def _usage(line: Statement) -> TokenUsage:
    words(line, options=("input", "output", "cached", "reasoning"))
    counts = {name: number(line, value) for name, value in line.options.items()}
    return TokenUsage(**{"input": 0, "output": 0, **counts})


def _pace(line: Statement, default: float = 0.0) -> float:
    return seconds(line, line.options["pace"]) if "pace" in line.options else default


def _say(line: Statement) -> Step:
    return TextStep(tuple(texts(line, least=1, most=None, options=["pace"])), _pace(line))


def _think(line: Statement) -> Step:
    return ThoughtStep(tuple(texts(line, least=1, most=None, options=["pace"])), _pace(line))


def _call(line: Statement) -> Step:
    no_body(line)
    name, *rest = words(line, least=1, most=2, options=("id", "pieces", "pace"))
    arguments: Json = rest[0] if rest else {}
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        raise ScriptError(line.line, "call takes a name, and an object or text")
    pieces = number(line, line.options.get("pieces", 2))
    return CallStep(name, arguments, line.options.get("id"), pieces, _pace(line))


def _fail(line: Statement) -> Step:
    no_body(line)
    status, *message = words(
        line, least=1, most=2, options=("kind", "code", "retry_after", "reset", "headers", "body")
    )
    options = line.options
    times: JsonObject = {
        name: seconds(line, options[name]) for name in ("retry_after", "reset") if name in options
    }
    rest: JsonObject = {name: value for name, value in options.items() if name not in times}
    return FailStep(number(line, status), message[0] if message else None, **times, **rest)


def _cut(line: Statement) -> Step:
    where = (texts(line, most=1) or ["event"])[0]
    if where not in get_args(Where):
        raise ScriptError(line.line, f"cut takes one of {', '.join(get_args(Where))}")
    return CutStep(cast(Where, where))


def _refuse(line: Statement) -> Step:
    values = texts(line, most=1)
    return RefuseStep(seconds(line, values[0]) if values else None)


def _garbage(line: Statement) -> Step:
    values = texts(line, most=1)
    return RawStep(values[0].encode() if values else GARBAGE)


def _huge(line: Statement) -> Step:
    return TextStep(("x" * number(line, texts(line, least=1, most=1)[0]),))


def _endless(line: Statement) -> Step:
    return EndlessStep((texts(line, most=1, options=["pace"]) or ["and so on "])[0], _pace(line, 0.01))


def _begin(line: Statement) -> Step:
    texts(line)
    return BeginStep()


Make: TypeAlias = Callable[[Statement], Step]

STEPS: dict[str, Make] = {
    "say": _say,
    "think": _think,
    "call": _call,
    "begin": _begin,
    "wait": lambda line: WaitStep(seconds(line, texts(line, least=1, most=1)[0])),
    "hold": lambda line: HoldStep((texts(line, most=1) or ["hold"])[0]),
    "garbage": _garbage,
    "huge": _huge,
    "endless": _endless,
    "cut": _cut,
    "refuse": _refuse,
    "fail": _fail,
}
