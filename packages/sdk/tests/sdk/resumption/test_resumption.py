"""A conversation that is cut at any place is the one that was not."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tests.sdk.resumption.model import Entry, Hub
from tests.sdk.resumption.table import SESSION, Table

PAST = [
    Entry("prompt", "u", "old"),
    Entry("update", "o1"),
    Entry("update", "o2"),
    Entry("ended", "end_turn", "old"),
]


def told(table: Table, session: str) -> list[tuple[str, str]]:
    """What the editor heard of a session, in order: updates, questions, ends of turns, the end of a load."""
    found: list[tuple[str, str]] = []
    for message in table.messages():
        params = message.get("params", {})
        if "method" in message and params.get("sessionId") == session:
            found.append(("ask", params["name"]) if "id" in message else ("update", params["update"]["n"]))
            assert "_meta" not in params, "a mark was left in what the editor gets"
        elif "error" in message:
            if table.methods[message["id"]].get("sessionId") == session:
                found.append(("ended", message["error"]["message"]))
        elif "result" in message:
            asked = table.methods[message["id"]]
            if asked.get("sessionId") == session and asked["method"] == "session/prompt":
                assert message["result"].keys() == {"stopReason"}
                found.append(("ended", message["result"]["stopReason"]))
            elif asked.get("sessionId") == session and asked["method"] == "session/load":
                found.append(("loaded", ""))
    return found


def journalled(table: Table, session: str) -> list[tuple[str, str]]:
    """What it should have heard: all that was journalled, but for its own prompts; and questions that were
    settled while it was away are history.
    """
    journal = table.hub.sessions[session].journal
    history = {entry.text for entry in journal if entry.kind == "settled" and entry.key == "unanswered"}
    history -= {text for kind, text in told(table, session) if kind == "ask"}
    return [
        ("update" if entry.kind == "prompt" else entry.kind, entry.text)
        for entry in journal
        if entry.kind in ("update", "ended")
        or (entry.kind == "ask" and entry.text not in history)
        or (entry.kind == "prompt" and entry.client != table.core.client)
    ]


def check(table: Table) -> None:
    """Everything that must hold when all is quiet."""
    for session in set(table.sessions):
        assert told(table, session) == journalled(table, session)
    for number in table.methods:
        assert len(table.answers_to(number)) == 1, f"{table.methods[number]} has {table.answers_to(number)}"
    assert not table.core.held_bytes
    for held in table.hub.sessions.values():
        assert not held.queue, "a turn waits for ever"
        answers = [entry[1] for entry in held.told if entry[0] == "answer"]
        assert len(answers) == len(set(answers))
        assert all(entry[2] == f"yes to {entry[1]}" for entry in held.told if entry[0] == "answer")
        prompts = [entry[1] for entry in held.told if entry[0] == "prompt"]
        assert prompts == sorted(set(prompts), key=lambda key: int(key.rpartition("-")[2]))
    asked = [message for message in table.messages() if "method" in message and "id" in message]
    assert len({message["id"] for message in asked}) == len(asked)
    assert len({json.dumps(message["params"]) for message in asked}) == len(asked)


def converse(table: Table, cut_at: int = -1, also: int = -1) -> int:
    """One conversation from its beginning to its end, in which only one thing can happen at a time; the
    connection is cut before step number `cut_at`, and then `also` steps later. The number of its steps.
    """
    cuts = {cut_at, cut_at + also if also >= 0 else -1}
    moved = 0

    def settle() -> None:
        nonlocal moved
        while True:
            moved += 1
            if moved in cuts and table.line is not None:
                table.cut()
            if table.line is None:
                table.open()
            if table.up or table.down:
                table.carry_up() if table.up else table.carry_down()
            elif table.questions:
                table.answer()
            elif steppable := table.steppable():
                table.step(steppable[0])
            else:
                return

    table.ask("initialize", protocolVersion=1)
    settle()
    table.ask("session/new", **SESSION)
    settle()
    table.prompt(table.sessions[0], "uqu")
    settle()
    table.ask("session/load", sessionId="s0", **SESSION)
    settle()
    table.ask("session/set_mode", sessionId="s0", modeId="x")
    table.prompt("s0", "qu")
    settle()
    for text in ("", "x"):  # turns of which nothing is told but their ends
        table.prompt("s0", text)
        settle()
    table.ask("session/list")
    settle()
    return moved


def past() -> Hub:
    hub = Hub()
    hub.make(journal=list(PAST))
    return hub


def uncut() -> Table:
    table = Table(past())
    converse(table)
    return table


def test_the_editor_notices_no_cut_at_any_message() -> None:
    plain = uncut()
    assert len(plain.heard) == 19
    for cut in range(1, converse(Table(past())) + 1):
        table = Table(past())
        converse(table, cut)
        assert table.heard == plain.heard, f"cut before step {cut}"
        assert [s.told for s in table.hub.sessions.values()] == [s.told for s in plain.hub.sessions.values()]


@given(st.integers(0, 70), st.integers(1, 12))
def test_nor_a_second_cut_while_it_is_mended(cut: int, also: int) -> None:
    plain, table = uncut(), Table(past())
    converse(table, cut, also)
    assert table.heard == plain.heard
    assert [s.told for s in table.hub.sessions.values()] == [s.told for s in plain.hub.sessions.values()]


@given(st.lists(st.integers(0, 10_000), min_size=10, max_size=90))
def test_whatever_happens_at_once_nothing_is_lost_doubled_or_out_of_order(chances: list[int]) -> None:
    table = Table(Hub())
    table.ask("initialize", protocolVersion=1)
    table.settle()
    table.ask("session/new", **SESSION)
    table.ask("session/new", **SESSION)
    for chance in chances:
        acts = possible(table)
        acts[chance % len(acts)]()
    table.settle()
    check(table)


def possible(table: Table) -> list[Callable[[], object]]:
    """What can happen now; what keeps a conversation going comes more often."""
    acts: list[Callable[[], object]] = [partial(table.ask, "session/list")]
    for session in sorted(set(table.sessions)):
        acts += [partial(table.prompt, session, text) for text in ("", "u", "uqu", "ux")]
        acts.append(partial(table.say, {"method": "session/cancel", "params": {"sessionId": session}}))
    acts += [partial(table.step, session) for session in table.steppable()] * 3
    acts += [table.open] * 6 if table.line is None else [table.cut]
    acts += [table.carry_up] * 6 if table.up else []
    acts += [table.carry_down] * 6 if table.down else []
    acts += [table.answer] * 2 if table.questions else []
    return acts
