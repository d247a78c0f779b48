"""The stream of one session, as far as the checker needs it: its updates, its turns, its approvals.

It reads what is stored by itself, with the standard library, and not with the hub's own eyes: whoever judges
must not share the mistakes of the judged.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_local.journal import StoredEntry


@dataclass(frozen=True)
class Update:
    """One that our agent said: `KEY#NUMBER`."""

    sequence: int
    time: float
    text: str

    @property
    def key(self) -> str:
        return self.text.rpartition("#")[0]

    @property
    def number(self) -> int:
        return int(self.text.rpartition("#")[2])


@dataclass(frozen=True)
class End:
    """What came of a prompt: a stop reason, or `error: …`."""

    sequence: int
    time: float
    outcome: str


@dataclass(frozen=True)
class Verdict:
    """What came of an approval. `option` is what was chosen; without an answer it is empty."""

    sequence: int
    time: float
    outcome: str
    option: str


@dataclass
class Digest:
    """Everything by its key or name, in the order of the stream."""

    session: str
    sequences: list[int] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)
    accepted: dict[str, int] = field(default_factory=dict)
    """Keys of prompts → where they were stored first."""
    given: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Keys → where they were given to an agent."""
    ends: dict[str, list[End]] = field(default_factory=lambda: defaultdict(list))
    answers: set[str] = field(default_factory=set)
    """Keys of turns whose agent's own answer is stored."""
    asked: dict[str, str] = field(default_factory=dict)
    """Sequences of approvals, as the hub names them → the names that the agent gave them."""
    verdicts: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    last: int = 0


def digest(session: str, entries: Sequence[StoredEntry]) -> Digest:
    made = Digest(session)
    turn = ("", 0)
    for one in entries:
        made.sequences.append(one.sequence)
        made.times[one.sequence] = one.time
        made.last = one.sequence
        said = json.loads(one.frame)
        if one.direction == "note":
            _see_note(made, one, said)
        elif one.direction == "to_agent" and said.get("method") == "session/prompt":
            key = said["params"]["_meta"]["dragoman"]["key"]
            turn = (key, said["id"])
            made.accepted.setdefault(key, one.sequence)
            made.given[key].append(one.sequence)
        elif one.direction == "to_client":
            _see_said(made, one, said, turn)
    return made


def _see_said(made: Digest, one: StoredEntry, said: dict[str, Any], turn: tuple[str, int]) -> None:
    method, params = said.get("method"), said.get("params", {})
    if method == "session/update" and params["update"]["sessionUpdate"] == "agent_message_chunk":
        made.updates.append(Update(one.sequence, one.time, params["update"]["content"]["text"]))
    elif method == "session/request_permission":
        made.asked[str(one.sequence)] = params["toolCall"]["toolCallId"]
    elif method is None and said.get("id") == turn[1]:
        made.answers.add(turn[0])


def _see_note(made: Digest, one: StoredEntry, said: dict[str, Any]) -> None:
    match said.get("hub"):
        case "taken" | "queued":
            made.accepted.setdefault(said["key"], one.sequence)
        case "turn_ended":
            made.ends[said["key"]].append(End(one.sequence, one.time, outcome_of(said)))
        case "settled":
            option = option_of(said.get("result"))
            made.verdicts[said["request"]].append(Verdict(one.sequence, one.time, said["outcome"], option))


def outcome_of(answer: dict[str, Any]) -> str:
    """Of the answer to a prompt, or of the note that has it."""
    if isinstance(result := answer.get("result"), dict):
        return str(result.get("stopReason"))
    if "stopReason" in answer:
        return str(answer["stopReason"])
    error = answer.get("error") or {}
    return f"error: {error.get('message', '?')}"


def option_of(result: Any) -> str:
    """What was chosen; else `cancelled` or nothing."""
    outcome = result.get("outcome", {}) if isinstance(result, dict) else {}
    return str(outcome.get("optionId") or outcome.get("outcome") or "")
