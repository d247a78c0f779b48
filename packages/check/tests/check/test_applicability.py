"""Which requirements bind a peer."""

from __future__ import annotations

from dragoman_check.applicability import why_not_applicable
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side, requirements
from dragoman_check.recording import Recording
from tests.check.rules.talks import Talk


def reason(requirement: str, *talks: Talk, side: Side = "agent") -> str:
    conversations = [Conversation(talk.recording) for talk in talks]
    return why_not_applicable(requirements()[requirement], conversations, side)


def test_what_an_agent_advertised_applies() -> None:
    assert reason("CLO-04", Talk()) == ""
    assert reason("CLO-04", Talk({})) == "the agent did not advertise sessionCapabilities.close"


def test_one_conversation_in_which_it_applies_is_enough() -> None:
    assert reason("CLO-04", Talk({}), Talk()) == ""


def test_what_is_about_not_having_it_applies_to_everybody() -> None:
    assert reason("ELIC-01", Talk({})) == ""
    assert reason("LOAD-10", Talk({})) == ""


def test_version_2_has_other_names_and_fewer_areas() -> None:
    second = Talk({"session": {}}, version=2)
    assert reason("CLO-04", second) == ""
    assert reason("DEL-04", second) == "the agent did not advertise session.delete"
    assert reason("LOAD-10", second) == "version 2 of the protocol does not have it"
    assert reason("TERM-12", second, side="client") == "version 2 of the protocol does not have it"
    assert reason("TERM-01", second) == ""


def test_a_conversation_without_a_handshake_says_nothing_about_the_others() -> None:
    conversations = [Conversation(Recording()), Conversation(Talk({"session": {}}, version=2).recording)]
    assert why_not_applicable(requirements()["MODE-01"], conversations, "agent")


def test_nothing_is_known_without_any_conversation() -> None:
    assert why_not_applicable(requirements()["CLO-04"], [], "agent") == ""
    assert reason("HTTP-01", Talk(), side="client") == "the peer was reached over stdio"
