"""Blocking classes offer what their awaited namesakes offer: the same methods, parameters and defaults."""

from __future__ import annotations

import inspect

import pytest

from dragoman.sdk.agent.session import AgentSession, ClientHandle, Turn
from dragoman.sdk.agent.terminal import Terminal
from dragoman.sdk.agent.tool_call import ToolCallReport
from dragoman.sdk.client.agent_handle import AgentHandle, Session
from dragoman.sdk.client.prompt import PromptTurn
from dragoman.sdk.session_opener import SessionOpener
from dragoman.sdk.supervision.session import SupervisedSession
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from dragoman.sdk.sync.agent import SyncAgentHandle, SyncPromptTurn, SyncSession
from dragoman.sdk.sync.tools import SyncTerminal, SyncToolCallReport
from dragoman.sdk.sync.turn import SyncAgentSession, SyncClientHandle, SyncTurn
from tests.every import every

PAIRS: list[tuple[type, type]] = [
    (AgentHandle, SyncAgentHandle),
    (Session, SyncSession),
    (Session, SupervisedSession),
    (PromptTurn, SyncPromptTurn),
    (ClientHandle, SyncClientHandle),
    (AgentSession, SyncAgentSession),
    (Turn, SyncTurn),
    (ToolCallReport, SyncToolCallReport),
    (Terminal, SyncTerminal),
]

INTERNAL = {
    AgentHandle: {"introduce"},
    Session: {
        *("leave", "backlog", "inlet", "hand_over", "keep", "wake_listener"),
        *("link", "capabilities", "weigh_backlog", "turn_ended", "interrupt", "steering_way"),
    },
    PromptTurn: {"forget_messages", "give_up", "is_open", "listens", "is_hungry", "take", "backlog"},
    ClientHandle: {"behind", "ready", "introduce", "check_allowed", "ask_for"},
    Turn: {"when_sent", "close"},
    ToolCallReport: {"is_open"},
    Terminal: {"create"},
}
"""What the awaited classes have for the SDK itself, and no handler or program calls."""

AWAITED_ONLY = {(Session, "listen"): "it waits for updates that may never come, beside other work"}
"""Methods that blocking code has no use for."""

ONLY_IN = {"lane", "first_byte", "deadline"}
"""Parameters that one kind has and the other has not: order among handlers, and deadlines of supervision."""


def public(kind: type) -> dict[str, inspect.Signature | None]:
    """Methods with their signatures, and properties without one."""
    found: dict[str, inspect.Signature | None] = {}
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or not (
            inspect.isfunction(member) or isinstance(member, property | classmethod)
        ):
            continue
        is_method = inspect.isfunction(member)
        found[name] = inspect.signature(getattr(kind, name)) if is_method else None
    return found


def parameters(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    return [
        (each.name, each.kind, each.default if each.default is each.empty else repr(each.default))
        for each in signature.parameters.values()
        if each.name not in ONLY_IN
    ]


@every(("awaited", "other"), PAIRS)
def test_a_facade_has_every_method_with_the_same_parameters(awaited: type, other: type) -> None:
    offered = public(other)
    for name, signature in public(awaited).items():
        if name in INTERNAL.get(awaited, ()) or (awaited, name) in AWAITED_ONLY:
            continue
        assert name in offered or hasattr(other, name), f"{other.__name__} has no {name}"
        theirs = offered.get(name)
        if signature is not None and theirs is not None:
            assert parameters(theirs) == parameters(signature), (
                f"{other.__name__}.{name} takes other parameters; see sdk/sync"
            )


@pytest.mark.parametrize("opener", [AgentHandle, SyncAgentHandle, SupervisedAgent])
def test_sessions_are_opened_by_one_description(opener: type) -> None:
    assert inspect.getattr_static(opener, "open_session") is not SessionOpener.open_session
    for name in ("new_session", "load_session", "resume_session"):
        assert getattr(opener, name) is getattr(SessionOpener, name)
