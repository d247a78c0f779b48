"""The entry that the index of keys names is the answer to the key, or nobody is told anything."""

from __future__ import annotations

import pytest

from dragoman.errors import ErrorAnswer, JournalError
from dragoman_hub.engine.key_lookup import check_owner, read_answer, read_steer_outcome
from dragoman_hub.gate.admission import Grant, Scope
from dragoman_hub.session.notes import note
from dragoman_hub.session.state import ANSWERS, REDACTED
from dragoman_local.journal import Entry, KeyEntries, MemoryJournal
from tests.every import every
from tests.hub.engine.test_key_lookup import add_turns
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

ENDED = {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("frame", "is_turn", "is_steer"),
    [
        (note("turn_ended", key="k", result=ENDED), True, False),
        (note("turn_ended", key=f"a {REDACTED} b", result=ENDED), True, False),
        (note("turn_ended", key="other", result=ENDED), False, False),
        (note("steered", key="k", result=ENDED), False, True),
        (note("taken", key="k"), False, False),
        (b'{"jsonrpc":"2.0","method":"k"}', False, False),
        (b"no note", False, False),
    ],
)
async def test_an_entry_that_is_no_answer_to_the_key_is_not_told(
    frame: bytes, is_turn: bool, is_steer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = MemoryJournal()
    await journal.append("s", [Entry("note", frame, 1.0)])
    place = KeyEntries(answer=1)

    async def find_key(stream: str, key: str) -> KeyEntries | None:
        return place

    monkeypatch.setattr(journal, "find_key", find_key)
    for read, is_found in ((read_answer, is_turn), (read_steer_outcome, is_steer)):
        if is_found:
            answer = await read(journal, "s", "k")
            assert answer is not None
            assert answer.sequence == 1
        else:
            with pytest.raises(JournalError, match="entry 1 of s is not the answer"):
                await read(journal, "s", "k")
    place = KeyEntries(prompt=1)
    assert await read_answer(journal, "s", "k") is None


async def test_an_old_answer_is_its_writers_and_an_administrators() -> None:
    prompting: frozenset[Scope] = frozenset({"prompt"})
    async with staged({"one": obedient}) as stage:
        writer = await stage.client(Grant("writer", prompting)).begin()
        session = await writer.new()
        await writer.answer(writer.prompt(session, "say 1", key="k"))
        await stage.crash()
        await add_turns(stage, session, ANSWERS + 2)
        await stage.start()
        readers = ((Grant("other", prompting), False), (Grant("writer", prompting), True), (Grant("a"), True))
        for grant, is_theirs in readers:
            client = await stage.client(grant).begin()
            await client.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
            answer = await client.answer(client.prompt(session, "say 1", key="k"))
            assert answer.get("result") == (ENDED if is_theirs else None)
            assert is_theirs or answer["error"]["code"] == -32003


@every(
    ("owner", "scopes", "expected"),
    [
        ("ann", ("prompt",), True),
        ("", ("prompt",), True),
        ("bob", ("prompt",), False),
        ("bob", ("prompt", "admin"), True),
    ],
)
def test_a_key_belongs_to_the_token_that_used_it_first(
    owner: str, scopes: tuple[Scope, ...], *, expected: bool
) -> None:
    grant = Grant("ann", frozenset(scopes))
    if expected:
        check_owner(owner, grant)
    else:
        with pytest.raises(ErrorAnswer):
            check_owner(owner, grant)
