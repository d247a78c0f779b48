"""The forms that can follow `expect` and `await` in a script.

expect {"method": "session/update"}      any pattern (see `patterns`)
expect update KIND [TEXT]                a session update, and its text
expect request METHOD [PARAMS]           a request; `$id` is its id, and answer, allow … answer it
expect notification METHOD [PARAMS]
expect answer [RESULT]                   to the last prompt, or the last frame that named `$last`
expect error [CODE] [MESSAGE]            likewise
expect stop REASON                       likewise
expect turn [TEXT] [stop=REASON]         all that is said up to the answer, joined
expect end                               of the connection
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.testing.script.patterns import Names, matches
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.testing.script.verbs import number, plain
from dragoman.wire.envelope import Json, JsonObject

Fits = Callable[[Json, Names, str], bool]
"""Whether a frame is the expected one, given the names and the text before it; None is the end."""

OPTIONS = {"within", "stop"}


@dataclass(frozen=True)
class ExpectedForm:
    """A message or an event that a script can expect."""

    name: str
    fits: Fits
    gathers: bool = False
    """Whether chunks of text before it are joined rather than being a mismatch."""


def form(statement: Statement) -> ExpectedForm:
    """Parse the words after `expect` or `await`."""
    for name in statement.options.keys() - OPTIONS:
        raise ScriptError(statement.line, f"{statement.verb} has no option {name!r}")
    if not statement.words:
        raise ScriptError(statement.line, f"{statement.verb} what?")
    what, rest = plain(statement.words[0]), list(statement.words[1:])
    if not isinstance(what, str):
        return _pattern("a frame of this pattern", what)
    make = FORMS.get(what)
    if make is None:
        raise ScriptError(statement.line, f"{what!r} cannot be expected. Choose from {', '.join(FORMS)}")
    return make(statement, rest)


def is_chunk(value: object) -> bool:
    """Whether a frame is a piece of the agent's text."""
    params = {"update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "*"}}}
    return matches({"method": "session/update", "params": params}, value, {})


def _pattern(name: str, pattern: object) -> ExpectedForm:
    return ExpectedForm(name, lambda value, names, _: _matches(pattern, value, names))


def _matches(pattern: object, value: object, names: Names) -> bool:
    """Names are taken over only when everything matches."""
    candidate_names = dict(names)
    if not matches(pattern, value, candidate_names):
        return False
    names.update(candidate_names)
    return True


def _update(statement: Statement, rest: list[Json]) -> ExpectedForm:
    kind, *text = _few(statement, rest, most=2, least=1)
    update: JsonObject = {"sessionUpdate": kind}
    if text:
        update["content"] = {"text": text[0]}
    return _pattern(f"the update {kind}", {"method": "session/update", "params": {"update": update}})


def _request(statement: Statement, rest: list[Json]) -> ExpectedForm:
    method, *params = _few(statement, rest, most=2, least=1)
    pattern = {"method": method, **({"params": params[0]} if params else {})}

    def fits(value: object, names: Names, _: str) -> bool:
        if not isinstance(value, dict) or "id" not in value or not _matches(pattern, value, names):
            return False
        names["id"] = value["id"]
        request_params = value.get("params")
        names["options"] = request_params.get("options") if isinstance(request_params, dict) else None
        return True

    return ExpectedForm(f"the request {method}", fits)


def _notification(statement: Statement, rest: list[Json]) -> ExpectedForm:
    method, *params = _few(statement, rest, most=2, least=1)
    pattern = {"method": method, **({"params": params[0]} if params else {})}
    return ExpectedForm(
        f"the notification {method}",
        lambda value, names, _: (
            isinstance(value, dict) and "id" not in value and _matches(pattern, value, names)
        ),
    )


def _answer(statement: Statement, rest: list[Json]) -> ExpectedForm:
    result = _few(statement, rest, most=1)
    return _to_last("an answer", {"result": plain(result[0]) if result else "$_"})


def _stop(statement: Statement, rest: list[Json]) -> ExpectedForm:
    (reason,) = _few(statement, rest, most=1, least=1)
    return _to_last(f"the stop reason {reason}", {"result": {"stopReason": reason}})


def _error(statement: Statement, rest: list[Json]) -> ExpectedForm:
    arguments = _few(statement, rest, most=2)
    error: JsonObject = {"code": number(statement, arguments[0])} if arguments else {}
    if len(arguments) == 2:
        error["message"] = arguments[1]
    return _to_last(" ".join(["the error", *map(str, arguments)]), {"error": error})


def _turn(statement: Statement, rest: list[Json]) -> ExpectedForm:
    text = _few(statement, rest, most=1)
    answer = _to_last("", {"result": {"stopReason": statement.options.get("stop", "end_turn")}})

    def fits(value: object, names: Names, agent_text: str) -> bool:
        return answer.fits(value, names, agent_text) and (
            not text or matches(text[0], agent_text, dict(names))
        )

    return ExpectedForm(f"a turn that says {text[0]!r}" if text else "a whole turn", fits, gathers=True)


def _line(statement: Statement, rest: list[Json]) -> ExpectedForm:
    (text,) = _few(statement, rest, most=1, least=1)
    return _pattern(f"the line {text!r}", str(text))


def _end(statement: Statement, rest: list[Json]) -> ExpectedForm:
    _few(statement, rest, most=0)
    return ExpectedForm("the end of the connection", lambda value, names, _: value is None)


def _to_last(name: str, pattern: JsonObject) -> ExpectedForm:
    return _pattern(name, {"id": "$last", **pattern})


def _few(statement: Statement, rest: list[Json], *, most: int, least: int = 0) -> list[Json]:
    if not least <= len(rest) <= most:
        raise ScriptError(
            statement.line, f"{statement.verb} {statement.words[0]} has too many or too few words"
        )
    return rest


FORMS: dict[str, Callable[[Statement, list[Json]], ExpectedForm]] = {
    "update": _update,
    "request": _request,
    "notification": _notification,
    "answer": _answer,
    "error": _error,
    "stop": _stop,
    "turn": _turn,
    "line": _line,
    "end": _end,
}
