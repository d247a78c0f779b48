"""Entries of a journal, as short as tests of recorded acts can write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_local.workspace.policy.policy import Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_parser import read_policy
from dragoman_local.workspace.proof.policy_trial import PolicyTrial, Verdict, count
from dragoman_local.workspace.proof.recorded_acts import ActFold, RecordedAct

ROOT = "/nowhere/project"
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Recording:
    """A stream that grows; entries are numbered from 1."""

    def __init__(self, *, cwd: str = ROOT) -> None:
        self.entries: list[tuple[str, bytes]] = []
        self._id = 0
        if cwd:
            self.to_agent(id="new", method="session/new", params={"cwd": cwd, "mcpServers": []})
            self.to_client(id="new", result={"sessionId": "s"})
            self.prompt()

    def to_agent(self, **message: Any) -> int:
        return self._add("to_agent", {"jsonrpc": "2.0", **message})

    def to_client(self, **message: Any) -> int:
        return self._add("to_client", {"jsonrpc": "2.0", **message})

    def note(self, kind: str, **members: Any) -> int:
        return self._add("note", {"hub": kind, **members})

    def _add(self, direction: str, message: Mapping[str, Any]) -> int:
        self.entries.append((direction, json.dumps(message, separators=(",", ":")).encode()))
        return len(self.entries)

    def prompt(self) -> None:
        self._id += 1
        self.to_agent(id=f"p{self._id}", method="session/prompt", params={"sessionId": "s", "prompt": []})

    def call(self, name: str, **members: Any) -> None:
        """An announcement of a tool call, or an update of it."""
        update = {"sessionUpdate": "tool_call", "toolCallId": name, "title": name, **members}
        self.to_client(method="session/update", params={"sessionId": "s", "update": update})

    def ask(self, name: str, answer: str = "yes", **members: Any) -> int:
        """A request for permission, with its answer: `yes`, `no` or nothing."""
        call = {"toolCallId": name, **members}
        number = self.request(
            "session/request_permission", {"toolCall": call, "options": OPTIONS}, answer=None
        )
        outcome = {"outcome": "selected", "optionId": answer} if answer else {"outcome": "cancelled"}
        self.to_agent(id=self._id, result={"outcome": outcome})
        return number

    def command(self, line: str, answer: str = "yes") -> int:
        return self.ask(f"c{self._id}", answer, kind="execute", rawInput={"command": line})

    def edit(self, path: str, answer: str = "yes", *, old: str = "a", new: str = "b") -> int:
        content = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
        return self.ask(f"c{self._id}", answer, kind="edit", content=content)

    def request(self, method: str, params: Mapping[str, Any], answer: Mapping[str, Any] | None) -> int:
        """What an agent wants of its client, with the answer unless that comes later."""
        self._id += 1
        number = self.to_client(id=self._id, method=method, params={"sessionId": "s", **params})
        if answer is not None:
            self.to_agent(id=self._id, **answer)
        return number

    def acts(self, **about: Any) -> list[RecordedAct]:
        fold = ActFold(stream="one", agent="claude", home="/nowhere", **about)
        found = [
            act
            for sequence, (direction, frame) in enumerate(self.entries, 1)
            for act in fold.add_runs(sequence, [(direction, [frame], float(sequence), False)])
        ]
        return [*found, *fold.finish()]

    def verdicts(self, rules: str = "") -> list[Verdict]:
        return count(self.acts(), trial(rules))[1]


def trial(rules: str = "") -> PolicyTrial:
    layer = PolicyLayer(name="rules", rules=read_policy(rules, "rules").rules)
    return PolicyTrial(lambda roots: Policy(layers=(layer,)))


def shown(verdicts: Sequence[Verdict]) -> list[tuple[str, str, str]]:
    """Where an act was, what is said of it now, and what the agent got then."""
    return [(each.recorded.source, each.decision.outcome, each.recorded.answer) for each in verdicts]
