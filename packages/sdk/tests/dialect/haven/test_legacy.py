"""The older form: another discriminator, and permissions that nobody can answer."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.dialect.edge import Consent, nobody_consents
from dragoman.dialect.haven import LegacyAgent, LegacyClient
from dragoman.dialect.haven.names import UNANSWERABLE, UNASKED, UNKNOWN_KIND
from dragoman.dialect.message import answer, notification, request
from tests.dialect.edges import bare, params_of, remarks

ALLOW = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
REJECT = {"optionId": "no", "name": "No", "kind": "reject_once"}
NEVER = {"optionId": "never", "name": "Never", "kind": "reject_always"}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def client(consent: Consent = nobody_consents) -> LegacyClient:
    return LegacyClient(EdgeSettings(consent=consent), Ledger())


def agent(consent: Consent = nobody_consents) -> LegacyAgent:
    return LegacyAgent(EdgeSettings(consent=consent), Ledger())


def selected(option: str) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def question(*options: Any) -> Any:
    call = {"toolCallId": "c", "title": "Mend", "status": "pending"}
    params = {"sessionId": "s", "toolCall": call, "options": list(options)}
    return request("q", "session/request_permission", params)


def test_updates_are_told_apart_by_type() -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    ((_, told),) = client().from_inside(notification("session/update", {"sessionId": "s", "update": update}))
    assert params_of(told)["update"] == {"type": "agent_message_chunk", "content": update["content"]}
    assert agent().from_peer(told) == [
        ("inside", notification("session/update", {"sessionId": "s", "update": update}))
    ]


def test_a_type_that_is_no_kind_of_update_is_passed_on_and_put_down() -> None:
    edge = agent()
    note = notification("session/update", {"sessionId": "s", "update": {"type": "text", "text": "x"}})
    assert edge.from_peer(note) == [("inside", note)]
    assert remarks(edge.ledger) == [("lost", UNKNOWN_KIND[0])]


def test_an_agent_that_already_uses_the_right_discriminator_is_understood() -> None:
    update = {"sessionUpdate": "tool_call", "id": "c", "name": "T", "status": "pending"}
    ((_, told),) = agent().from_peer(notification("session/update", {"sessionId": "s", "update": update}))
    assert params_of(told)["update"]["toolCallId"] == "c"


# A client that cannot be asked.


def test_the_client_is_told_of_a_question_and_it_is_refused() -> None:
    edge = client()
    told, decided = edge.from_inside(question(ALLOW, REJECT))
    assert told == (
        "peer",
        notification(
            "session/request_permission",
            {
                "sessionId": "s",
                "toolCall": {"id": "c", "name": "Mend", "status": "pending"},
                "options": [ALLOW, REJECT],
            },
        ),
    )
    assert decided == ("inside", answer("q", selected("no")))
    assert remarks(edge.ledger) == [("lost", UNANSWERABLE[0])]


def test_where_nothing_rejects_just_this_once_nothing_is_chosen() -> None:
    for options in ([ALLOW], [NEVER, ALLOW], []):
        _, decided = client().from_inside(question(*options))
        assert decided == ("inside", answer("q", CANCELLED))


def test_the_policy_decides_and_sees_the_question_in_v1() -> None:
    seen: list[Any] = []

    def consent(params: Any) -> str | None:
        seen.append(params)
        return "yes"

    asked = question(ALLOW, REJECT)
    _, decided = client(consent).from_inside(asked)
    assert decided == ("inside", answer("q", selected("yes")))
    assert seen == [asked.params]


def test_a_policy_that_chooses_what_was_not_offered_refuses() -> None:
    _, decided = client(lambda params: "always").from_inside(question(ALLOW, REJECT))
    assert decided == ("inside", answer("q", selected("no")))


@pytest.mark.parametrize("how", ["answer", "notification", "request"])
def test_nothing_that_the_client_says_afterwards_is_an_approval(how: str) -> None:
    edge = client()
    edge.from_inside(question(ALLOW, REJECT))
    if how == "answer":
        assert edge.from_peer(answer("q", selected("yes"))) == []
        assert remarks(edge.ledger)[-1] == ("lost", UNASKED[0])
    else:
        params = {"sessionId": "s", **selected("yes")}
        said = notification("session/request_permission", params)
        if how == "request":
            said = request(1, "session/request_permission", params)
        # It goes to the agent, as what it is; there it answers nothing.
        assert edge.from_peer(said) == [("inside", said)]
    assert edge.peer_ended() == []


# An agent that does not wait for an answer.


def announced(*options: Any, **call: Any) -> Any:
    params = {"sessionId": "s", "toolCall": {"id": "c", "name": "Mend", **call}, "options": list(options)}
    return notification("session/request_permission", params)


STOP = ("peer", notification("session/cancel", {"sessionId": "s"}))


def test_an_agent_that_announces_what_it_will_do_is_shown_and_stopped() -> None:
    edge = agent()
    shown, stopped = edge.from_peer(announced(ALLOW, REJECT, status="pending", kind="command"))
    assert bare(shown[1].params) == {
        "sessionId": "s",
        "update": {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "title": "Mend",
            "name": "Mend",
            "status": "pending",
            "kind": "execute",
        },
    }
    assert stopped == STOP
    assert remarks(edge.ledger) == [("lost", UNANSWERABLE[0])]


def test_a_call_that_is_known_already_is_updated() -> None:
    edge = agent()
    known = {"type": "tool_call", "id": "c", "name": "Mend", "status": "pending"}
    edge.from_peer(notification("session/update", {"sessionId": "s", "update": known}))
    shown, _ = edge.from_peer(announced(ALLOW, status="in_progress"))
    assert params_of(shown[1])["update"]["sessionUpdate"] == "tool_call_update"


def test_only_a_policy_that_allows_lets_it_go_on() -> None:
    assert len(agent(lambda params: "yes").from_peer(announced(ALLOW, REJECT))) == 1
    for chosen in ("no", "never", "nonsense", None):
        outs = agent(lambda params, chosen=chosen: chosen).from_peer(announced(ALLOW, REJECT, NEVER))  # type: ignore[misc]
        assert outs[-1] == STOP


def test_two_options_of_one_id_allow_only_if_both_do() -> None:
    twin = {**REJECT, "optionId": "yes"}
    assert agent(lambda params: "yes").from_peer(announced(ALLOW, twin))[-1] == STOP


def test_a_question_with_an_id_is_a_question_after_all() -> None:
    params = {"sessionId": "s", "toolCall": {"id": "c", "name": "Mend"}, "options": [ALLOW]}
    ((way, asked),) = agent().from_peer(request(4, "session/request_permission", params))
    assert (way, asked.id) == ("inside", 4)


def test_an_announcement_that_says_nothing_stops_it_too() -> None:
    odd: list[Any] = [{}, None, [], {"toolCall": 1, "options": {"optionId": "yes"}}]
    for params in odd:
        outs = agent(lambda params: "yes").from_peer(notification("session/request_permission", params))
        assert [way for way, _ in outs] == ["peer"]


def test_a_permission_of_the_past_stops_nothing_while_a_session_is_loaded() -> None:
    edge = agent()
    edge.from_inside(request(1, "session/load", {"sessionId": "s", "cwd": "/w"}))
    call = {"id": "t", "name": "Water", "status": "completed"}
    asked = notification(
        "session/request_permission", {"sessionId": "s", "toolCall": call, "options": [ALLOW]}
    )
    assert [way for way, _ in edge.from_peer(asked)] == ["inside"]
    edge.from_peer(answer(1, {}))
    assert [way for way, _ in edge.from_peer(asked)] == ["inside", "peer"]
