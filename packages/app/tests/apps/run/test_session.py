"""The session of a run: its mode and its options."""

import json
from pathlib import Path

import pytest

from dragoman import Agent, ClientHandle
from dragoman.schema import v1
from dragoman.testing import talking_to
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.run.plan import SessionRequest
from dragoman_app.apps.run.session import open_session, settle
from dragoman_local.workspace.local_client import LocalClient
from dragoman_local.workspace.settings import LocalRules
from tests.apps.run.run_process import run, scripted


def chosen(**settings: str) -> SessionRequest:
    mode = settings.pop("mode", None)
    return SessionRequest(
        cwd="/tmp", directories=[], servers=[], session_id=None, mode=mode, options=list(settings.items())
    )


def agent_with_options(seen: list[tuple[str, str | bool]]) -> Agent:
    agent = Agent("tunable")
    choices = [v1.SessionConfigSelectOption(value=name, name=name) for name in ("fast", "deep")]
    options: list[v1.SessionConfigOption] = [
        v1.SessionConfigSelect(
            id="effort", name="Effort", current_value="fast", options=choices, category="mode"
        ),
        v1.SessionConfigBoolean(id="loud", name="Loud", current_value=False),
    ]

    @agent.new_session
    async def new(request: v1.NewSessionRequest, client: ClientHandle) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id="s", config_options=options)

    @agent.set_config_option
    async def change(
        request: v1.SetSessionConfigOptionRequest, client: ClientHandle
    ) -> v1.SetSessionConfigOptionResponse:
        seen.append((request.config_id, request.value))
        return v1.SetSessionConfigOptionResponse(config_options=options)

    @agent.prompt
    async def reply(turn: object) -> None:
        raise AssertionError

    return agent


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"effort": "deep"}, ("effort", "deep")),
        ({"loud": "on"}, ("loud", True)),
        ({"loud": "FALSE"}, ("loud", False)),
        ({"mode": "deep"}, ("effort", "deep")),
    ],
)
async def test_options_are_set(settings: dict[str, str], expected: tuple[str, str | bool]) -> None:
    seen: list[tuple[str, str | bool]] = []
    local = LocalClient(lambda session_id: None, rules=LocalRules())
    with local.workspace:
        async with talking_to(agent_with_options(seen)) as handle:
            session, how = await open_session(handle, local, chosen(**settings))
            await settle(session, chosen(**settings))
    assert (how, seen) == ("new", [expected])


@pytest.mark.parametrize(
    ("settings", "why", "known"),
    [
        ({"speed": "1"}, "unknown option 'speed'", "effort, loud"),
        ({"effort": "lazy"}, "cannot be 'lazy'", "fast, deep"),
        ({"loud": "maybe"}, "true or false", "true or false"),
    ],
)
async def test_what_there_is_not_is_answered_with_what_there_is(
    settings: dict[str, str], why: str, known: str
) -> None:
    seen: list[tuple[str, str | bool]] = []
    local = LocalClient(lambda session_id: None, rules=LocalRules())
    with local.workspace:
        async with talking_to(agent_with_options(seen)) as handle:
            session, _ = await open_session(handle, local, chosen(**settings))
            with pytest.raises(UsageMistake, match=why) as told:
                await settle(session, chosen(**settings))
    assert known in told.value.next_step
    assert seen == []


def test_a_replay_that_comes_after_the_answer_is_not_taken_for_the_turn(tmp_path: Path) -> None:
    said = json.dumps({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}})
    agent = scripted(
        tmp_path,
        f"agent late\n  can load\non load\n  answer {{}}\n  wait 0.15\n  update {said}\n  update {said}\n"
        "on prompt\n  say new\n",
    )
    done = run("--agent", agent, "--session", "s", "--format", "json", "x", folder=tmp_path)
    assert done.status == 0
    assert [event["text"] for event in done.named("text") if "phase" not in event] == ["new"]
    replayed = [event for event in done.events if event.get("phase") == "replay"]
    assert len(replayed) == 2
