"""A person who thinks for an hour loses nothing, through every face: `run`, `chat`, `mcp`, the page, the hub
and `connect`. And the hub waits for agents as long as these wait for people, and no longer.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mcp_types
import pytest

from dragoman import Agent, Limits, connect
from dragoman.schema import v1
from dragoman.sdk.agent.session import ClientHandle
from dragoman.sdk.resumption import ResumingTransport
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.run import plan, questions
from dragoman_app.apps.run.lend import LentWorkspace
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.run.reporter import QuietView, RunReporter
from dragoman_app.cli.parser import make_parser
from dragoman_app.tui.ports import ChatRequest, FormAnswer, FormPrompt, PermissionQuestion
from dragoman_hub.gate.admission import Grant
from dragoman_local.workspace.policy.terminal import TerminalLines
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet
from tests.apps.gateway.stage import make_gateway
from tests.apps.mcp.stage import official_client
from tests.conversations import slow_people
from tests.conversations.slow_people import (
    ANSWERS,
    EXTENSION,
    HOUR,
    asking_agent,
    in_leaps,
    think,
)
from tests.forks import forked
from tests.hub.sessions.stage import Talker, staged

PERSONS = sorted(ANSWERS)
LENT = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "elicitation": {"form": {}}}
HASTE = Limits(call_seconds=120.0)


# Faces, whose person is asked by the program.


class SlowLines(TerminalLines):
    """Somebody at the terminal of `dragoman run`, who agrees to a form, or chooses what is offered first."""

    replies: Iterator[str] = iter(())

    async def read(self, *, secret: bool = False) -> str | None:
        await think()
        return next(self.replies, None)


class SlowPerson(Quiet):
    """Somebody in front of `dragoman chat`."""

    async def ask(self, question: PermissionQuestion) -> str | None:
        await think()
        return await super().ask(question)

    async def fill(self, form: FormPrompt) -> FormAnswer:
        await think()
        return FormAnswer(action="accept", values={"name": "ann"})


async def by_run(folder: Path, method: str) -> str:
    words = ["run", "Hello", "--agent", "echo", "--cwd", str(folder), "--policy", str(folder / "ask.toml")]
    with patch.object(plan, "is_terminal", lambda descriptor: True):
        made = plan.make_plan(make_parser(words).parse_args(words))
    reporter = RunReporter(QuietView(), OutputWriter(1), verbose=False, progress=None)
    reporter.write = lambda text: None  # type: ignore[method-assign,assignment]
    SlowLines.replies = iter(["ann", "yes"] if method == "elicitation/create" else ["1"])
    with patch.object(questions, "TerminalLines", SlowLines):
        lending = LentWorkspace(made, reporter, on_open_question=lambda: None)
        async with (
            lending.local.workspace,
            connect(asking_agent(), client=lending.client, limits=HASTE) as handle,
        ):
            session = await handle.new_session(cwd=str(folder))
            lending.local.workspace.open(session.id, cwd=str(folder))
            return (await session.prompt(f"{method} {folder}", silence=60.0)).text


async def by_chat(folder: Path, method: str) -> str:
    agent = shlex.join(forked([sys.executable, slow_people.__file__]))
    backend = LocalBackend(str(folder), LocalRules(policy=str(folder / "ask.toml")), record=False)
    person = SlowPerson()
    async with backend.open(ChatRequest(agent=agent, cwd=str(folder)), person, person) as chat:
        assert (await chat.turn([v1.TextContent(text=f"{method} {folder}")])).stop_reason == "end_turn"
    return "".join(person.words)


async def by_mcp(folder: Path, method: str) -> str:
    async def answer(_: object, asked: Any) -> mcp_types.ElicitResult:
        await think()
        fields = asked.requested_schema["properties"]
        content = {name: field["enum"][0] if "enum" in field else "ann" for name, field in fields.items()}
        return mcp_types.ElicitResult(action="accept", content=content)

    gateway = make_gateway(folder, agent=asking_agent(), policy=str(folder / "ask.toml"), silence=60.0)
    async with gateway, official_client(gateway, folder, elicitation_callback=answer) as client:
        answered = await client.call_tool("prompt", {"text": f"{method} {folder}"})
    return str(answered.structured_content["text"])


async def by_page(folder: Path, method: str) -> str:
    """The page, the inbox and an editor's plugin: a client of the hub that answers what the hub asks."""
    async with staged({"asking": asking_agent}, policy=str(folder / "ask.toml")) as stage:
        editor = await stage.client().begin(elicitation={"form": {}})
        page = await stage.client(Grant("ann")).begin(elicitation={"form": {}})
        await page.call("_dragoman/hub/watch")
        prompt = editor.prompt(await editor.new(str(folder)), f"{method} {folder}")
        asked = await page.until(lambda one: one.get("method") == "_dragoman/hub/asked")
        question = asked["params"]["request"]
        assert "expiresAt" not in question
        await think()
        (waiting,) = (await page.call("_dragoman/hub/inbox"))["requests"]
        assert waiting["askedAt"] == question["askedAt"]
        said = ANSWERS["elicitation/create"]
        if question["method"] == "session/request_permission":
            option = question["params"]["options"][0]["optionId"]
            said = {"outcome": {"outcome": "selected", "optionId": option}}
        named = {name: question[name] for name in ("sessionId", "request")}
        assert (await page.call("_dragoman/hub/answer", {**named, "result": said}))["settled"]
        assert "result" in await editor.answer(prompt)
        return "".join(editor.texts())


async def answered_late(client: Talker, folder: Path, method: str) -> str:
    """A client that lends everything, and asks its person before it does."""
    prompt = client.prompt(await client.new(str(folder)), f"{method} {folder}")
    asked = await client.asked(method)
    await think()
    client.say({"id": asked["id"], "result": ANSWERS[method]})
    if method == "terminal/create":
        client.say({"id": (await client.asked("terminal/release"))["id"], "result": {}})
    assert "result" in await client.answer(prompt)
    return "".join(client.texts())


async def by_lending(folder: Path, method: str) -> str:
    async with staged({"asking": asking_agent}, policy=str(folder / "allow.toml")) as stage:
        return await answered_late(await stage.client().begin(**LENT), folder, method)


async def by_connect(folder: Path, method: str) -> str:
    async with staged({"asking": asking_agent}, policy=str(folder / "allow.toml")) as stage:

        async def open_() -> Transport:
            here, there = memory_pair()
            stage.hub.accept(there, Grant("owner"))
            return here

        transport = ResumingTransport(open_)
        try:
            return await answered_late(await Talker(transport).begin(**LENT), folder, method)
        finally:
            await transport.aclose()


FACES = {
    "run": by_run,
    "chat": by_chat,
    "mcp": by_mcp,
    "page": by_page,
    "hub": by_lending,
    "connect": by_connect,
}


@pytest.mark.parametrize("method", [method for method in PERSONS if method != EXTENSION])
@pytest.mark.parametrize("face", FACES)
def test_a_face_keeps_a_question_for_a_person_who_thinks_for_an_hour(
    face: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "plums.txt").write_text("plums")
    (folder / "ask.toml").write_text('[[rule]]\ndecision = "ask"\nname = "people decide"\n')
    permission = '[[rule]]\ndecision = "ask"\nmethod = "permission"\n'
    (folder / "allow.toml").write_text(f'default = "allow"\n{permission}')

    async def play() -> str:
        began = asyncio.get_running_loop().time()
        said = await FACES[face](folder, method)
        assert asyncio.get_running_loop().time() >= began + HOUR, "nobody was asked"
        return said

    assert in_leaps(play()) == "done"


# The hub, which asks its agents in the name of clients.


def test_a_login_through_the_hub_takes_as_long_as_the_person_does() -> None:
    logged_in = asyncio.Event()

    def agent() -> Agent:
        made = asking_agent()

        @made.authenticate
        async def wait(request: v1.AuthenticateRequest) -> None:
            await logged_in.wait()

        return made

    async def play() -> None:
        async with staged({"asking": agent}) as stage:
            client = await stage.client().begin()
            number = client.ask("authenticate", {"methodId": "browser"})
            await client.new()  # the agent has the login by now
            await think()
            logged_in.set()
            assert "result" in await client.answer(number)

    in_leaps(play())


def test_the_hub_waits_for_an_agent_only_while_that_waits_for_a_person() -> None:
    hangs = asyncio.Event()

    def agent() -> Agent:
        made = asking_agent()

        @made.set_mode
        async def change(request: v1.SetSessionModeRequest, client: ClientHandle) -> None:
            if request.mode_id == "never":
                hangs.set()
                await asyncio.Event().wait()
            schema = v1.ElicitationSchema(properties={})
            asked = v1.ElicitationFormMode(
                session_id=request.session_id, message="Sure?", requested_schema=schema
            )
            kind: Any = v1.CreateElicitationResponse
            await client.ask("elicitation/create", asked, kind)

        return made

    async def play() -> None:
        async with staged({"asking": agent}) as stage:
            client = await stage.client().begin(elicitation={"form": {}})
            session = await client.new()
            changing = client.ask("session/set_mode", {"sessionId": session, "modeId": "asks"})
            asked = await client.asked("elicitation/create")
            await think()
            client.say({"id": asked["id"], "result": ANSWERS["elicitation/create"]})
            assert "result" in await client.answer(changing)
            hanging = client.ask("session/set_mode", {"sessionId": session, "modeId": "never"})
            await hangs.wait()
            await think(180.0)
            assert "error" in await client.answer(hanging)

    in_leaps(play())


def test_a_client_waits_for_a_hub_that_asks_a_person_before_it_opens_a_session(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\ndecision = "ask"\nmethod = "mcp"\n')

    async def play() -> None:
        async with staged({"asking": asking_agent}, policy=str(rules)) as stage:
            page = await stage.client(Grant("ann")).begin()
            await page.call("_dragoman/hub/watch")
            here, there = memory_pair()
            stage.hub.accept(there, Grant("owner"))
            async with connect(here, limits=HASTE) as handle:
                server = v1.McpServerStdio(name="files", command="npx", args=[], env=[])
                opening = asyncio.ensure_future(handle.new_session(cwd=str(tmp_path), mcp_servers=[server]))
                asked = await page.until(lambda one: one.get("method") == "_dragoman/hub/asked")
                question = asked["params"]["request"]
                await think()
                option = question["params"]["options"][0]["optionId"]
                said = {"outcome": {"outcome": "selected", "optionId": option}}
                named = {name: question[name] for name in ("sessionId", "request")}
                await page.call("_dragoman/hub/answer", {**named, "result": said})
                assert (await opening).id

    in_leaps(play())
