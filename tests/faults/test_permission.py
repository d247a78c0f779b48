"""Permission: only a yes to the question that was asked, in the words that were offered, is a yes."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import Message, Talk, opening, prompt
from tests.faults.trial_agents import Command, forked

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]


def selected(option: Any) -> Message:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def result(request_id: Any, value: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


class Question:
    """An agent that waits for permission to make a file."""

    def __init__(self, talk: Talk, path: Path, request_id: int, *, since: int) -> None:
        self.talk = talk
        self.path = path
        self.id = request_id
        self.since = since

    async def outcome(self) -> str:
        """How the turn ended, and what it did."""
        answer = await self.talk.answer_to("ask", since=self.since)
        await self.talk.echoes("after the question")
        ran = self.path.read_text() if self.path.exists() else "not run"
        return f"{answer['result']['stopReason']}, {ran.strip()}"

    async def refuse(self) -> None:
        await self.talk.peer.send(result(self.id, selected("reject_once")))


async def ask(talk: Talk, path: Path) -> Question:
    since = len(talk.heard)
    await talk.peer.send(prompt("ask", talk.session, f"/ask {path}"))
    asked = await talk.asked("session/request_permission", since=since)
    offered = [option["optionId"] for option in asked["params"]["options"]]
    assert {"allow_once", "reject_once"} <= set(offered)
    return Question(talk, path, asked["id"], since=since)


@asynccontextmanager
async def asking(agent: Command, folder: Path) -> AsyncIterator[Question]:
    """With an agent of its own, for what may end it or depends on the number of the question."""
    async with opening(agent) as talk:
        yield await ask(talk, folder / "made")


@fault("PER-09")
async def test_a_permission_that_is_given_is_used(agent: Command, tmp_path: Path) -> None:
    async with asking(forked(agent), tmp_path) as question:
        await question.talk.peer.send(result(question.id, selected("allow_once")))
        assert await question.outcome() == "end_turn, ran"


@cases(
    {
        "PER-01": selected("reject_once"),
        "PER-02": selected("allow_everything"),
        "PER-X1": {"outcome": {"outcome": "cancelled"}},
        "PER-X2": selected("Allow"),
        "PER-X3": selected("ALLOW_ONCE"),
        "PER-X4": selected("allow_once "),
        "PER-X5": selected(""),
        "PER-X6": selected(None),
        "PER-X7": selected(["allow_once"]),
        "PER-X8": {"outcome": "selected", "optionId": "allow_once"},
        "PER-X9": {"outcome": {"outcome": "allow_once"}},
        "PER-X10": {"outcome": {"outcome": "cancelled", "optionId": "allow_once"}},
        "PER-X11": {"outcome": {"optionId": "allow_once"}},
        "PER-X12": {"outcome": {"outcome": "approved", "optionId": "allow_once"}},
        "PER-X13": {"_meta": selected("allow_once")},
        "PER-X14": {},
        "PER-X15": None,
        "PER-X16": True,
        "PER-X17": "allow_once",
        "PER-X18": [selected("allow_once")],
        "PER-X19": {
            "outcome": {"outcome": "selected", "optionId": "reject_once", "_meta": selected("allow_once")}
        },
    }
)
async def test_any_other_answer_is_a_no(shared: Talk, tmp_path: Path, case: Any) -> None:
    question = await ask(shared, tmp_path / "made")
    await shared.peer.send(result(question.id, case))
    assert await question.outcome() == "end_turn, not run"


@cases(
    {
        "PER-04": [{"code": -32603, "message": "no user here"}],
        "PER-05": ["denied", None],
        "PER-X20": [{}, 7, [], {"code": "x"}, {"message": "allow_once"}, {"code": 0, "message": None}],
    }
)
async def test_an_error_is_a_no_however_it_looks(shared: Talk, tmp_path: Path, case: list[Any]) -> None:
    for error in case:
        question = await ask(shared, tmp_path / "made")
        await shared.peer.send({"jsonrpc": "2.0", "id": question.id, "error": error})
        assert await question.outcome() == "end_turn, not run", error


@fault("PER-07")
async def test_a_permission_given_three_times_is_used_once(agent: Command, tmp_path: Path) -> None:
    async with asking(forked(agent), tmp_path) as question:
        await question.talk.peer.send(*[result(question.id, selected("allow_once"))] * 3)
        assert await question.outcome() == "end_turn, ran"


@fault("PER-X21")
async def test_the_first_answer_counts(agent: Command, tmp_path: Path) -> None:
    async with asking(forked(agent), tmp_path) as question:
        await question.refuse()
        await question.talk.peer.send(*[result(question.id, selected("allow_once"))] * 2)
        assert await question.outcome() == "end_turn, not run"


@fault("PER-X22")
async def test_an_answer_under_another_id_is_no_answer(agent: Command, tmp_path: Path) -> None:
    async with asking(forked(agent), tmp_path) as question:
        number = question.id
        near = [
            str(number),
            float(number),
            [number],
            {"id": number},
            number + 1,
            0,
            None,
            True,
            "",
            f"{number} ",
        ]
        assert await question.talk.replies(*[result(name, selected("allow_once")) for name in near]) == []
        await question.refuse()
        assert await question.outcome() == "end_turn, not run"


@fault("PER-X23")
async def test_an_answer_in_a_batch_is_no_answer_and_an_error_beside_a_yes_is_no_yes(
    agent: Command, tmp_path: Path
) -> None:
    async with asking(forked(agent), tmp_path) as question:
        yes = result(question.id, selected("allow_once"))
        both = {**yes, "error": {"code": 1, "message": "x"}}
        request = {**yes, "method": "session/request_permission"}
        replies = await question.talk.replies(b"[%b]\n" % str(yes).replace("'", '"').encode(), request)
        assert len(replies) == 2  # both are refused
        await question.talk.peer.send(both)
        await question.talk.answer_to("ask", since=question.since)
        assert not question.path.exists()


@fault("PER-X24")
async def test_an_answer_to_a_question_that_was_not_asked_yet_is_no_answer(
    agent: Command, tmp_path: Path
) -> None:
    async with opening(forked(agent)) as talk:
        assert await talk.replies(*[result(n, selected("allow_once")) for n in range(50)]) == []
        await talk.peer.send(prompt("ask", talk.session, f"/ask {tmp_path}/made"))
        asked = await talk.asked("session/request_permission")
        await talk.peer.send(result(asked["id"], selected("reject_once")))
        assert (await talk.answer_to("ask"))["result"] == {"stopReason": "end_turn"}
        assert not (tmp_path / "made").exists()


@fault("PER-X25")
async def test_two_questions_at_once_have_an_answer_each(agent: Command, tmp_path: Path) -> None:
    async with opening(forked(agent)) as talk:
        sessions = [talk.session, await talk.new_session()]
        for number, session in enumerate(sessions):
            await talk.peer.send(prompt(f"ask{number}", session, f"/ask {tmp_path}/{number}"))
        asked = {}
        for session in sessions:
            message = await talk.until(
                lambda m, s=session: (  # type: ignore[misc]  # bound now, not when the loop is over
                    m.get("method") == "session/request_permission" and m["params"]["sessionId"] == s
                )
            )
            asked[session] = message["id"]
        await talk.peer.send(result(asked[sessions[1]], selected("allow_once")))
        await talk.answer_to("ask1")
        await talk.peer.send(result(asked[sessions[0]], selected("reject_once")))
        await talk.answer_to("ask0")
        assert [path.name for path in tmp_path.iterdir()] == ["1"]


@cases({"PER-08": None, "PER-X26": signal.SIGTERM, "PER-X27": signal.SIGKILL, "PER-X28": signal.SIGINT})
async def test_an_agent_that_ends_while_it_asks_does_nothing(
    agent: Command, tmp_path: Path, case: int | None
) -> None:
    async with asking(agent, tmp_path) as question:
        peer = question.talk.peer
        if case is None:
            peer.close_stdin()
        else:
            peer.send_signal(case)
        await peer.wait(seconds=5)
        assert not question.path.exists()


@fault("PER-X30")
async def test_a_permission_for_a_session_that_was_closed_runs_nothing(
    agent: Command, tmp_path: Path
) -> None:
    async with asking(forked(agent), tmp_path) as question:
        talk = question.talk
        closing = {"jsonrpc": "2.0", "id": "close", "method": "session/close"}
        await talk.peer.send({**closing, "params": {"sessionId": talk.session}})
        await talk.peer.send(result(question.id, selected("allow_once")))
        assert (await talk.answer_to("close"))["result"] == {}
        assert (await talk.answer_to("ask"))["result"] == {"stopReason": "cancelled"}
        await talk.replies()
        assert not question.path.exists()


@fault("PER-X29")
async def test_an_unknown_member_in_a_yes_is_no_reason_for_a_no(agent: Command, tmp_path: Path) -> None:
    async with asking(forked(agent), tmp_path) as question:
        yes = selected("allow_once")
        yes["outcome"]["note"] = "from the user"
        await question.talk.peer.send(result(question.id, {**yes, "_meta": {"a": 1}, "extra": 7}))
        assert await question.outcome() == "end_turn, ran"
