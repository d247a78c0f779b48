"""Modes and options: one declaration, both shapes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from dragoman import Agent, AgentHandle, Choice, Kit, KitSession, KitTurn, Modes, Option, Switch
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import v1
from dragoman_local.journal import MemoryJournal
from dragoman_local.kit.settings import SessionSettings, collect_options
from tests.every import every
from tests.kit.kit_agents import listening
from tests.runtime.raw import request
from tests.sdk.ends import raw_client

MODES = Modes(("ask", "Ask first"), Choice("edit", "Edit", "Accepts edits"), "full_speed", default="edit")
MODEL = Option("model", ["small", "big-1.5"], category="model", description="Who thinks")
FAST = Switch("fast", default=True)


def test_both_shapes_come_from_one_declaration() -> None:
    settings = SessionSettings(collect_options(MODES, [MODEL, FAST]))
    modes = settings.modes()
    assert isinstance(modes, v1.SessionModeState)
    assert modes.current_mode_id == "edit"
    names = [(mode.id, mode.name) for mode in modes.available_modes]
    assert names == [("ask", "Ask first"), ("edit", "Edit"), ("full_speed", "Full speed")]
    mode, model, fast = settings.config_options(switches=True)
    assert isinstance(mode, v1.SessionConfigSelect)
    assert (mode.id, mode.category, mode.current_value) == ("mode", "mode", "edit")
    assert [option.value for option in mode.options] == ["ask", "edit", "full_speed"]  # type: ignore[union-attr]
    assert isinstance(model, v1.SessionConfigSelect)
    assert (model.current_value, model.category, model.description) == ("small", "model", "Who thinks")
    assert isinstance(fast, v1.SessionConfigBoolean)
    assert fast.current_value is True
    assert settings.config_options(switches=False) == [mode, model]


@every(
    ("value", "name"),
    [("big", "Big"), ("full_speed", "Full speed"), ("gpt-7", "gpt-7"), ("o3", "o3"), ("X", "X")],
)
def test_a_choice_without_a_name_is_made_readable(value: str, name: str) -> None:
    assert Option("o", [value]).choices == [Choice(value, name)]


def test_without_modes_there_are_none() -> None:
    assert SessionSettings(collect_options(None, [MODEL])).modes() is UNSET
    assert not SessionSettings({})


@every(
    ("option_id", "value"), [("none", "x"), ("model", "huge"), ("model", True), ("fast", "yes"), ("mode", "")]
)
def test_what_was_not_offered_is_refused_and_changes_nothing(option_id: str, value: Any) -> None:
    settings = SessionSettings(collect_options(MODES, [MODEL, FAST]))
    before = settings.values
    with pytest.raises(ErrorAnswer) as caught:
        settings.change(option_id, value)
    assert caught.value.code == -32602
    assert settings.values == before


def test_a_stored_value_that_is_no_longer_offered_gives_way_to_the_default() -> None:
    stored: dict[str, Any] = {"model": "gone", "fast": False, "other": "x"}
    settings = SessionSettings(collect_options(None, [MODEL, FAST]), stored)
    assert settings.values == {"model": "small", "fast": False}


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Option("empty", []),
        lambda: Option("odd", ["a"], default="b"),
        lambda: collect_options(MODES, [Option("mode", ["a"])]),
    ],
)
def test_a_declaration_that_makes_no_sense_fails_at_once(declare: Any) -> None:
    with pytest.raises(ValueError, match=r"empty|odd|mode"):
        declare()


def settable(journal: Any = None, **hooks: Any) -> Agent:
    """An agent that says what it is set to; `name=value` changes it from inside."""
    agent = Agent("settable")
    kit = Kit(agent, journal=journal or MemoryJournal(), modes=MODES, options=[MODEL, FAST], titles="none")

    @kit.prompt
    async def reply(turn: KitTurn[None]) -> None:
        session = turn.session
        if "=" in turn.text:
            await session.set(*turn.text.split("="))
        await turn.say(f"{session.mode_id} {session['model']} {session['fast']}")

    if "changed" in hooks:
        kit.on_option_change(hooks["changed"])
    return agent


async def said(session: Any, text: str = "say") -> str:
    return str((await session.prompt(text)).text)


async def test_a_client_sets_modes_and_options_and_they_stay_with_the_session(tmp_path: Path) -> None:
    agent = settable(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        assert await said(session) == "edit small True"
        await session.set_mode("ask")
        answer = await session.set_config_option("model", "big-1.5")
        assert [option.current_value for option in answer] == ["ask", "big-1.5"]  # type: ignore[union-attr]
        assert await said(session) == "ask big-1.5 True"
    async with listening(agent) as (handle, _):
        loaded = await handle.load_session(session.id, cwd="/tmp")
        assert await said(loaded) == "ask big-1.5 True"
        assert loaded.modes
        assert loaded.modes.current_mode_id == "ask"


async def test_a_change_in_one_shape_is_seen_in_the_other() -> None:
    async with listening(settable()) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        await session.set_mode("ask")
        await session.set_config_option("mode", "edit")
        updates = heard.updates(session.id)
        assert isinstance(updates[0], v1.ConfigOptionUpdate)
        assert updates[0].config_options[0].current_value == "ask"  # type: ignore[union-attr]
        assert updates[1] == v1.CurrentModeUpdate(current_mode_id="edit")


async def test_settings_change_also_while_a_turn_runs() -> None:
    agent = Agent("running")
    changed = asyncio.Event()
    kit = Kit(agent, journal=MemoryJournal(), modes=MODES, titles="none")

    @kit.on_option_change
    def heard(session: KitSession[None], option_id: str, value: Any) -> None:
        changed.set()

    @kit.prompt
    async def wait(turn: KitTurn[None]) -> None:
        await turn.say(turn.session.mode_id)
        await changed.wait()
        await turn.say(turn.session.mode_id)

    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        said = []
        async for text in session.prompt("go").texts():
            said.append(text)
            if text == "edit":
                await session.set_mode("ask")
        assert said == ["edit", "ask"]


async def test_an_unknown_mode_or_value_is_refused() -> None:
    async with listening(settable()) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        for refused in (
            lambda: session.set_mode("wild"),
            lambda: session.set_config_option("model", "wild"),
            lambda: session.set_config_option("fast", "wild"),
            lambda: session.set_config_option("none", "x"),
        ):
            with pytest.raises(CallFailed) as caught:
                await refused()
            assert caught.value.code == -32602
        assert await said(session) == "edit small True"


async def test_what_the_agent_changes_is_announced_in_both_shapes() -> None:
    async with listening(settable()) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        updates = [update async for update in session.prompt("mode=ask")]
        assert updates[0] == v1.CurrentModeUpdate(current_mode_id="ask")
        assert isinstance(updates[1], v1.ConfigOptionUpdate)
        updates = [update async for update in session.prompt("mode=ask")]
        assert len(updates) == 1  # nothing has changed


async def test_switches_are_shown_only_to_clients_that_know_them() -> None:
    for capabilities, ids in (({}, ["mode", "model"]), (BOOLEANS, ["mode", "model", "fast"])):
        async with raw_client(settable()) as client:
            await client.open(capabilities)
            client.send(request(1, "session/new", {"cwd": "/tmp", "mcpServers": []}))
            answer = (await client.answer_to(1))["result"]
            assert [option["id"] for option in answer["configOptions"]] == ids


BOOLEANS: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}


async def test_a_switch_is_set_by_a_client_that_knows_it() -> None:
    async with raw_client(settable()) as client:
        session_id = await client.open(BOOLEANS)
        params = {"sessionId": session_id, "configId": "fast", "type": "boolean", "value": False}
        client.send(request(1, "session/set_config_option", params))
        answer = (await client.answer_to(1))["result"]
        assert answer["configOptions"][2] == {
            "id": "fast",
            "name": "Fast",
            "type": "boolean",
            "currentValue": False,
        }


async def test_the_agent_hears_of_a_change_and_may_refuse_it() -> None:
    heard: list[tuple[str, Any]] = []

    async def changed(session: KitSession[None], option_id: str, value: Any) -> None:
        heard.append((option_id, value))
        if value == "big-1.5":
            raise ErrorAnswer(-32602, "Invalid params: too big")

    async with listening(settable(changed=changed)) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        await session.set_mode("ask")
        with pytest.raises(CallFailed, match="too big"):
            await session.set_config_option("model", "big-1.5")
        assert await said(session) == "ask small True"
        assert heard == [("mode", "ask"), ("model", "big-1.5")]


async def test_an_option_can_be_offered_anew_in_one_session() -> None:
    agent = Agent("late")
    kit = Kit(agent, journal=MemoryJournal(), options=[MODEL], titles="none")

    @kit.prompt
    async def learn(turn: KitTurn[None]) -> None:
        await turn.session.offer(Option("model", ["small", "new"], category="model"))

    async with listening(agent) as (handle, _):
        session, other = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        updates = [update async for update in session.prompt("go")]
        assert isinstance(updates[0], v1.ConfigOptionUpdate)
        await session.set_config_option("model", "new")
        with pytest.raises(CallFailed):
            await other.set_config_option("model", "new")


async def test_without_modes_and_options_there_are_no_such_methods() -> None:
    agent = Agent("bare")
    Kit(agent, journal=MemoryJournal())
    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        assert await code_of(handle, session.id) == -32601


async def code_of(handle: AgentHandle, session_id: str) -> int:
    with pytest.raises(CallFailed) as caught:
        await handle.call("session/set_mode", {"sessionId": session_id, "modeId": "x"})
    return caught.value.code
