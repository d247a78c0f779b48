"""The prompts that make an agent do a certain thing: a catalogue that users can replace.

The packaged one has words that most agents understand, and those of agents that understand only some. What
a catalogue has no words for is not tried, and so not exercised.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.wire.envelope import Json

KNOWN = (
    "hello",
    "tool",
    "read",
    "write",
    "ask",
    "run",
    "plan",
    "slow",
    "remember",
    "recall",
    "stray",
    "command",
    "mcp",
    "elicit",
)
"""The triggers of scenes. Others are sent once, each separately."""

WORD = "kingfisher"
"""The word that an agent must remember, unless its section has its own `word`."""


class BadPrompts(LocalMistake):
    """An invalid catalogue."""


class ExaminationPrompts:
    """The texts for one agent, by trigger."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.word = texts.get("word", WORD)
        self._texts = {name: text for name, text in texts.items() if name != "word" and text}

    @property
    def extra(self) -> list[str]:
        """Triggers without a scene, in the order of the catalogue."""
        return [name for name in self._texts if name not in KNOWN]

    def text(self, trigger: str, **places: object) -> str:
        """Return the text with its places filled in; empty if there is none."""
        text = self._texts.get(trigger, "")
        for name, value in {**places, "word": self.word}.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text


class PromptCatalogue:
    """All texts, by agent."""

    def __init__(self, tree: Mapping[str, Json]) -> None:
        unknown = tree.keys() - {"default", "agents"}
        if unknown:
            raise BadPrompts(f"unknown key in a prompts file: {', '.join(sorted(unknown))}")
        self._default = _texts(tree.get("default", {}), "default")
        self._agents = {name: _texts(part, name) for name, part in _table(tree.get("agents", {})).items()}

    def of(self, agent: str) -> ExaminationPrompts:
        """Return the texts for the agent with this name."""
        return ExaminationPrompts({**self._default, **self._agents.get(agent, {})})

    def over(self, fallback: PromptCatalogue) -> PromptCatalogue:
        """Return this catalogue, completed by the other one."""
        names = self._agents.keys() | fallback._agents.keys()
        return PromptCatalogue(
            {
                "default": {**fallback._default, **self._default},
                "agents": {
                    name: {**fallback._agents.get(name, {}), **self._agents.get(name, {})} for name in names
                },
            }
        )


def packaged_prompts() -> PromptCatalogue:
    text = files("dragoman_check.agent").joinpath("prompts.toml").read_text("utf-8")
    return PromptCatalogue(tomllib.loads(text))


def read_prompts(path: str | os.PathLike[str] | None) -> PromptCatalogue:
    """Read a file over the packaged catalogue. Raises `OSError`, and `BadPrompts` for an invalid one."""
    if path is None:
        return packaged_prompts()
    try:
        return PromptCatalogue(tomllib.loads(Path(path).read_text("utf-8"))).over(packaged_prompts())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadPrompts(f"{path} is not TOML: {error}") from None


def _table(value: object) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise BadPrompts("agents is not a table")
    return value


def _texts(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise BadPrompts(f"{where} is not a table of texts")
    return dict(value)
