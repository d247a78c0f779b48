"""The table of verbs, and the parser that turns a script's line into an action.

A verb is a function that takes a statement, reads its words and returns the action. It is called when the
script is read, not when it is played: a script with a mistake in its last line fails before its first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from dragoman.testing.script.scene import Action, Actions, ScriptScene
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.wire.envelope import Json

T = TypeVar("T")

Verb: TypeAlias = Callable[[Statement], Action]

VERBS: dict[str, Verb] = {}


def verb(name: str) -> Callable[[Verb], Verb]:
    """Add a function to the table."""

    def enter(function: Verb) -> Verb:
        VERBS[name] = function
        return function

    return enter


def prepare(body: Iterable[Statement]) -> Actions:
    """Return the actions of a block."""
    return [(statement.line, _make_action(statement)) for statement in body]


def _make_action(statement: Statement) -> Action:
    make = VERBS.get(statement.verb)
    if make is None:
        names = ", ".join(sorted(VERBS))
        raise ScriptError(statement.line, f"{statement.verb!r} is not a verb. Choose from {names}")
    return make(statement)


# What the functions behind verbs use to read their words.


def words(
    statement: Statement, *, least: int = 0, most: int | None = 0, options: Iterable[str] = ()
) -> list[Json]:
    """Return the words if their number is right and every option is known. A verb with a body reads it
    itself.
    """
    count = len(statement.words)
    if count < least or (most is not None and count > most):
        count_text = (
            f"at least {least}" if most is None else str(least) if least == most else f"{least} to {most}"
        )
        raise ScriptError(statement.line, f"{statement.verb} takes {count_text} words, not {count}")
    for name in statement.options.keys() - set(options):
        raise ScriptError(statement.line, f"{statement.verb} has no option {name!r}")
    return list(statement.words)


def no_body(statement: Statement) -> None:
    if statement.body:
        raise ScriptError(statement.body[0].line, f"nothing can be indented below {statement.verb}")


def texts(
    statement: Statement, *, least: int = 0, most: int | None = 0, options: Iterable[str] = ()
) -> list[str]:
    """Return the words of a verb that accepts only text and no body."""
    no_body(statement)
    values = words(statement, least=least, most=most, options=options)
    for word in values:
        if not isinstance(word, str):
            raise ScriptError(statement.line, f"{statement.verb} takes text, not {word!r}")
    return values


def number(statement: Statement, word: Json) -> int:
    try:
        return int(word)
    except (TypeError, ValueError):
        raise ScriptError(statement.line, f"{word!r} is not a whole number") from None


def seconds(statement: Statement, word: Json) -> float:
    try:
        value = float(word)
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < 1e9:
        raise ScriptError(statement.line, f"{word!r} is not a number of seconds")
    return value


def read_or_defer(
    statement: Statement, word: object, read: Callable[[Statement, Json], T]
) -> Callable[[ScriptScene], T]:
    """Read a number now; if the word is a name, read it when its line is played."""
    if isinstance(word, str) and word.startswith("$"):
        return lambda scene: read(statement, scene.fill(word))
    value = read(statement, word)
    return lambda scene: value


def plain(word: object) -> Json:
    """Convert a word where any JSON is allowed: `null`, `true`, `false` and numbers are not text there."""
    if isinstance(word, str):
        try:
            value = json.loads(word)
        except ValueError:
            return word
        return word if isinstance(value, str | dict | list) else value
    return word


def branches(statement: Statement, names: Iterable[str]) -> dict[str, Actions]:
    """Return a body with one block for each outcome; the lines themselves have no words."""
    outcomes = list(names)
    actions: dict[str, Actions] = {}
    for branch in statement.body:
        if branch.verb not in outcomes:
            raise ScriptError(
                branch.line, f"{branch.verb!r} is not an outcome. Choose from {', '.join(outcomes)}"
            )
        words(branch)
        actions[branch.verb] = prepare(branch.body)
    return actions
