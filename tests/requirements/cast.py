"""The two agents under test: how each is started, and the words that make it do a thing.

| word | what happens |
|---|---|
| `work` | it reads `app.py` with tools, along a plan |
| `edit` | it asks whether it may change `app.py` |
| `recall` | it says something that only earlier turns tell it |
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.testing.models import (
    ModelRequest,
    ModelTurn,
    ScriptedModel,
    TokenUsage,
    call,
    fail,
    think,
    turn,
)
from tests.forks import DRAGOMAN

APP = "import os\n"
STEPS = [{"content": "Read", "status": "in_progress", "priority": "high"}, {"content": "Answer"}]
LATER = [{"content": "Read", "status": "completed", "priority": "high"}, {"content": "Answer"}]
CONFIG = """
model = "small"
context_size = 100000
retries = 0
price = {input = 3.0, output = 15.0}
"""


@dataclass(frozen=True)
class Role:
    """One agent."""

    name: str
    work: str
    edit: str
    recall: str
    recalled: str
    """What the answer to `recall` holds."""
    command: str
    """One of its slash commands, that needs nothing."""

    def start(self, folder: Path, model: ScriptedModel) -> list[str]:
        """Its command line, with its sessions in a folder."""
        begin = self.start_unset(folder)
        if self.name == "review":
            return [*begin, "--offline"]
        config = folder / "code.toml"
        config.write_text(CONFIG)
        return [*begin, "--config", str(config), "--base-url", model.openai_url]

    def start_unset(self, folder: Path) -> list[str]:
        """The same without a model."""
        begin = [*DRAGOMAN, "agent", self.name]
        return [*begin, "--sessions", str(folder / "sessions.db")]


ROLES = {
    "review": Role(
        name="review",
        work="review app.py",
        edit="apply the fixes",
        recall="explain 1",
        recalled="unused-import",
        command="help",
    ),
    "code": Role(
        name="code",
        work="please work",
        edit="please edit",
        recall="please recall",
        recalled="please work",
        command="compact",
    ),
}


def environment(folder: Path) -> dict[str, str]:
    """Ours without anybody's keys, and with all files in a folder of the test's."""
    kept = {
        name: value for name, value in os.environ.items() if "API_KEY" not in name and "DRAGOMAN" not in name
    }
    return {**kept, **dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"), str(folder))}


def says(word: str) -> Callable[[ModelRequest], bool]:
    return lambda request: request.messages[-1].role == "user" and word in request.text


def script() -> list[ModelTurn]:
    """What the coder's model answers, whenever it is asked."""
    usage = TokenUsage(input=900, output=70)

    def ended(request: ModelRequest) -> bool:
        return request.messages[-1].role == "tool"

    return [
        turn(
            think("A file. "),
            "I look. ",
            call("plan", steps=STEPS),
            call("read", path="app.py"),
            when=says("work"),
            usage=usage,
        ),
        turn(call("edit", path="app.py", old="import os", new="import re"), when=says("edit"), usage=usage),
        turn(call("run", command="pwd && touch ran"), when=says("run"), usage=usage),
        turn(call("read", path="/etc/hostname"), when=says("stray"), usage=usage),
        turn(call("write", path="/etc/nobody", content="x"), when=says("outside"), usage=usage),
        turn(call("probe__look"), when=says("mount"), usage=usage),
        turn(fail(400, "no such thing"), when=says("fail")),
        turn("Too mu", stop="length", when=says("long")),
        turn("No.", stop="refusal", when=says("refuse")),
        turn(call("plan", steps=LATER), "Done. ", when=lambda request: ended(request) and _fresh(request)),
        turn("Done.", when=ended, usage=usage),
        turn("You said: $text", when=lambda _: True, usage=usage),
    ]


def _fresh(request: ModelRequest) -> bool:
    """Whether the plan that the last step began is not yet done."""
    steps = [
        use.arguments for message in request.messages[-4:] for use in message.calls if use.name == "plan"
    ]
    return bool(steps) and steps[-1].get("steps") == STEPS
