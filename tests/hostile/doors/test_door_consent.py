"""Whatever an agent causes behind a door for other programs, somebody decided exactly that.

The table of `packages/hub/tests/hub/consent` has the edges of the hub; here are the doors beside it: an MCP
server, whose caller can be asked, a model of OpenAI's API, whose caller cannot, and an agent elsewhere. What
happened is read from the disk.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from tests.hostile.doors.program import Program, environment, started
from tests.hostile.doors.test_model_tricks import complete, openai_server
from tests.hub.consent import puppet
from tests.pairwise import pairwise
from tests.remote.other_side import make_fake_docker

DOORS: Final = ("mcp", "openai", "ssh")
ACTS: Final = ("write shown", "write", "run shown", "own")
ANSWERS: Final = ("rule allows", "rule denies", "nobody", "once", "reject")
CHANGES: Final = ("same", "other")

RULES: Final = """
[[rule]]
decision = "allow"
path = "rule-allows-*.txt"
kind = "edit"
[[rule]]
decision = "allow"
command = ["touch rule-allows-*"]
[[rule]]
decision = "deny"
path = "rule-denies-*"
[[rule]]
decision = "deny"
command = ["touch rule-denies-*"]
"""

Row = dict[str, str]


def is_valid(row: Row) -> bool:
    if row["act"] == "own" and row["change"] == "other":
        return False
    # Who calls a model is no person that could be asked.
    return row["door"] != "openai" or row["answer"] not in ("once", "reject")


ROWS: Final = [
    *pairwise({"door": DOORS, "act": ACTS, "answer": ANSWERS, "change": CHANGES}, is_valid),
    # A yes is what pairs alone would hide behind a no.
    *(
        {"door": door, "act": act, "answer": "rule allows" if door == "openai" else "once", "change": "same"}
        for door, act in product(DOORS, ACTS)
    ),
]


def expected(row: Row) -> bool:
    if row["answer"] == "rule allows":
        # What an agent elsewhere asks itself is for the person at the client alone.
        return row["change"] == "same" and (row["door"], row["act"]) != ("ssh", "own")
    return row["answer"] == "once" and row["change"] == "same"


class DoorStage:
    """One process for each door, and a person who answers by the names in a question."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stack = ExitStack()
        programs = make_fake_docker(folder, folder / "cache-there")
        env = environment(folder)
        self.env = {**env, "PATH": f"{programs}:{env['PATH']}"}
        rules = folder / "config" / "dragoman" / "policy.toml"
        rules.parent.mkdir(parents=True)
        rules.write_text(RULES)
        self._doors: dict[str, Callable[[str], None]] = {}

    def say(self, door: str, text: str) -> None:
        if door not in self._doors:
            self._doors[door] = {"mcp": self._mcp, "openai": self._openai, "ssh": self._ssh}[door]()
        self._doors[door](text)

    def here(self, door: str) -> Path:
        return self.folder / door / "here"

    def _start(self, door: str, words: list[str]) -> Program:
        self.here(door).mkdir(parents=True)
        words = [*words, "--cwd", str(self.here(door)), "--", *self._puppet()]
        return self.stack.enter_context(started(words, env=self.env, cwd=self.here(door), answer=answer))

    def _puppet(self) -> list[str]:
        return [sys.executable, "-I", "-S", str(puppet.__file__), "v1"]

    def _mcp(self) -> Callable[[str], None]:
        program = self._start("mcp", ["mcp"])
        client = {"name": "model", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": client}
        program.call("initialize", given)
        program.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

        def say(text: str) -> None:
            done = program.call("tools/call", {"name": "prompt", "arguments": {"text": text}})
            assert "end_turn" in json.dumps(done), done

        return say

    def _openai(self) -> Callable[[str], None]:
        self.here("openai").mkdir(parents=True)
        server = openai_server(self.folder, self.here("openai"), self._puppet())
        address, token = self.stack.enter_context(server)

        def say(text: str) -> None:
            body = {"model": "python", "messages": [{"role": "user", "content": text}]}
            status, said = complete(address, token, body)
            assert status == 200, said

        return say

    def _ssh(self) -> Callable[[str], None]:
        program = self._start("ssh", ["ssh", "docker:box", "--keep", "1"])
        program.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        opened = program.call("session/new", {"cwd": str(self.here("ssh")), "mcpServers": []})
        session = opened["result"]["sessionId"]

        def say(text: str) -> None:
            done = program.call(
                "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
            )
            assert done["result"]["stopReason"] == "end_turn", done

        return say


def answer(message: dict[str, Any]) -> object:
    """A yes to what is called `once-…` and to nothing else."""
    text = json.dumps(message["params"])
    is_yes = "once-" in text and "other-" not in text
    if message["method"] == "elicitation/create":
        labels = message["params"]["requestedSchema"]["properties"]["decision"]["enum"]
        label = next((one for one in labels if one.lower().startswith("yes" if is_yes else "no")), None)
        return {"action": "accept", "content": {"decision": label}} if label else {"action": "decline"}
    if message["method"] != "session/request_permission":
        return None
    kind = "allow_once" if is_yes else "reject_once"
    options = message["params"]["options"]
    chosen = next(option["optionId"] for option in options if option["kind"] == kind)
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorStage]:
    stage = DoorStage(tmp_path_factory.mktemp("doors"))
    with stage.stack:
        yield stage


def test_an_effect_behind_a_door_happens_if_and_only_if_exactly_that_was_decided(stage: DoorStage) -> None:
    faults = []
    for number, row in enumerate(ROWS):
        here, name = stage.here(row["door"]), f"{row['answer'].replace(' ', '-')}-{number}"
        shown = act_of(row["act"], here, name)
        act = act_of(row["act"], here, f"other-{number}") if row["change"] == "other" else shown
        ask = [{"ask": shown, "is_bare": False}] if row["act"] not in ("write",) else []
        mark = f"row-{number}"
        stage.say(row["door"], json.dumps([{"here": str(here)}, *ask, {"do": act, "mark": mark}]))
        happened = (here.parent / "done" / mark).exists()
        if happened != expected(row):
            faults.append(f"{row}: {'happened' if happened else 'did not happen'}")
    assert not faults, "\n".join(faults)
    assert {row["door"] for row in ROWS if expected(row)} == set(DOORS)


def act_of(act: str, here: Path, name: str) -> dict[str, Any]:
    if act == "own":
        return {"own": f"touch {name}", "cwd": str(here)}
    if act == "run shown":
        return {"run": ["touch", name], "cwd": str(here), "env": {}}
    return {"write": str(here / f"{name}.txt"), "text": "right\n"}
