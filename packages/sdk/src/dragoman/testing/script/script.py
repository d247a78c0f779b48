"""Scripts: the messages and actions of an agent or a client, written line by line and played in order.

`statements` is the grammar, `verbs` the table of what can be said, and the modules that fill it are
`update_verbs`, `ask_verbs`, `disk_verbs`, `answer_verbs`, `fault_verbs` and `client_verbs`. `script` is a
whole script, `peer` and `scene` play it, and `agent_role` and `client_role` know what is special about each
side; `request_checks` and `prompts` are what an agent does well without being told. The language is
described in `docs/testing.md`.

A script, read and checked: who plays it, which rules it answers by, and the story it tells by itself.

agent NAME …      settings of the agent, in the lines below it
client NAME       what the client does from beginning to end
on WHAT …         what is done whenever this arrives; the first rule that fits is played
start             what an agent does by itself as soon as it runs
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.testing.script import (
    answer_verbs,
    ask_verbs,
    client_verbs,
    disk_verbs,
    fault_verbs,
    update_verbs,
)
from dragoman.testing.script.patterns import Names, matches
from dragoman.testing.script.scene import Actions
from dragoman.testing.script.statements import ScriptError, Statement, parse, render
from dragoman.testing.script.verbs import number, prepare, words
from dragoman.wire.envelope import Json, JsonObject

VERB_MODULES = (ask_verbs, fault_verbs, answer_verbs, client_verbs, disk_verbs, update_verbs)
"""Modules whose import fills the table of verbs."""

SHORT = {
    "initialize": "initialize",
    "new": "session/new",
    "load": "session/load",
    "prompt": "session/prompt",
    "cancel": "session/cancel",
}

CAN: dict[str, JsonObject] = {
    "load": {"loadSession": True},
    "image": {"promptCapabilities": {"image": True}},
    "audio": {"promptCapabilities": {"audio": True}},
    "embedded_context": {"promptCapabilities": {"embeddedContext": True}},
    "http": {"mcpCapabilities": {"http": True}},
    "sse": {"mcpCapabilities": {"sse": True}},
    "list": {"sessionCapabilities": {"list": {}}},
    "resume": {"sessionCapabilities": {"resume": {}}},
    "close": {"sessionCapabilities": {"close": {}}},
}


@dataclass(frozen=True)
class ScriptSettings:
    """The agent's answer to `initialize`."""

    name: str = "script"
    version: str = "0.0.0"
    capabilities: Mapping[str, Json] = field(default_factory=dict)
    auth_methods: Sequence[Json] = ()


@dataclass(frozen=True)
class ScriptRule:
    """The actions for a message."""

    method: str
    pattern: Json
    """A pattern for the text of a prompt, or for the params; None fits everything."""
    times: int | None
    """How often the rule may be used; None means without a limit."""
    actions: Actions
    line: int

    def fits(self, method: str, params: object, names: Names) -> bool:
        if method != self.method or self.pattern is None:
            return method == self.method
        value = prompt_text(params) if isinstance(self.pattern, str) else params
        return matches(self.pattern, value, names)


class ScriptRules:
    """The rules of a script in one conversation; each conversation counts its uses separately."""

    def __init__(self, rules: Sequence[ScriptRule]) -> None:
        self._rules = rules
        self._used: dict[int, int] = {}  # by the rule's line
        self._methods = frozenset(rule.method for rule in rules)

    def know(self, method: str) -> bool:
        """Whether there is a rule for this message, even if it is used up."""
        return method in self._methods

    def pick(self, method: str, params: object, names: Names) -> ScriptRule | None:
        """Return the first rule that fits and is not used up. It counts as used, and its bound values are in
        `names`.
        """
        for rule in self._rules:
            used = self._used.get(rule.line, 0)
            candidate_names = dict(names)
            if (rule.times is None or used < rule.times) and rule.fits(method, params, candidate_names):
                self._used[rule.line] = used + 1
                names.update(candidate_names)
                return rule
        return None


@dataclass(frozen=True)
class Script:
    """A checked script, made by `Script.parse` or `Script.load`.

        script = Script.parse("on prompt\\n  say hello")

    Mistakes raise `ScriptError`, which names the line.
    """

    statements: tuple[Statement, ...]
    settings: ScriptSettings
    rules: tuple[ScriptRule, ...]
    story: Actions
    """The actions without a trigger: of a client everything, of an agent those at its start."""

    @classmethod
    def parse(cls, text: str) -> Script:
        """Parse a text."""
        return cls.of(parse(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Script:
        """Read a file."""
        return cls.parse(Path(path).read_text(encoding="utf-8"))

    @classmethod
    def of(cls, statements: tuple[Statement, ...]) -> Script:
        """Create a script from statements; raises `ScriptError` for contradictions."""
        settings, story = ScriptSettings(), list[tuple[int, Json]]()
        rules: list[ScriptRule] = []
        for statement in statements:
            match statement.verb:
                case "agent":
                    settings = _settings(statement)
                case "client" | "start":
                    words(statement, most=1 if statement.verb == "client" else 0)
                    story += prepare(statement.body)
                case "on":
                    rules.append(_rule(statement))
                case verb:
                    raise ScriptError(
                        statement.line, f"a script has agent, client, start and on, not {verb!r}"
                    )
        return cls(statements, settings, tuple(rules), story)

    @property
    def text(self) -> str:
        """Return the script as text, without comments."""
        return render(self.statements)


def prompt_text(params: object) -> str:
    """Return the text of a prompt of any shape."""
    blocks = params.get("prompt") if isinstance(params, dict) else None
    texts = [block.get("text") for block in blocks or () if isinstance(block, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _settings(statement: Statement) -> ScriptSettings:
    (name,) = words(statement, most=1, options=("version",)) or ["script"]
    capabilities: JsonObject = {}
    auth: list[Json] = []
    for line in statement.body:
        match line.verb:
            case "can":
                for word in words(line, least=1, most=None):
                    if word not in CAN:
                        raise ScriptError(
                            line.line, f"{word!r} is not a capability. Choose from {', '.join(CAN)}"
                        )
                    _merge(capabilities, CAN[word])
            case "capabilities":
                _merge(capabilities, words(line, least=1, most=1)[0])
            case "auth":
                auth += words(line, least=1, most=None)
            case verb:
                raise ScriptError(line.line, f"an agent has can, capabilities and auth, not {verb!r}")
    return ScriptSettings(name, str(statement.options.get("version", "0.0.0")), capabilities, auth)


def _rule(statement: Statement) -> ScriptRule:
    what, *pattern = words(statement, least=1, most=2, options=("times",))
    name: str = what
    times = statement.options.get("times")
    return ScriptRule(
        method=SHORT.get(name, name),
        pattern=pattern[0] if pattern else None,
        times=None if times is None else number(statement, times),
        actions=prepare(statement.body),
        line=statement.line,
    )


def _merge(into: JsonObject, more: Mapping[str, Json]) -> None:
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = dict(value) if isinstance(value, dict) else value
