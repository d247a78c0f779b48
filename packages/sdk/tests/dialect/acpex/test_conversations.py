"""Whole conversations in processes: clients of the overview and of the code with agents of v1, and the other
way round.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client, connect
from dragoman.dialect import Ledger
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    Plan,
    ReadTextFileRequest,
    ReadTextFileResponse,
    TextContent,
    ToolCall,
    ToolCallProgress,
    UserMessageChunk,
)
from tests.agents.review.ground import APP, APP_FINDINGS, findings_in
from tests.dialect.acpex.stage import BOTH, text
from tests.dialect.plain import REVIEWER, TRANSLATE, Pipe, talking
from tests.interop.programs import CLIENTS, needs_node, tell
from tests.interop.python.fetch import VERSIONS, sources

pytestmark = pytest.mark.bound(50)  # programs are started, on a machine that may be busy

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]
FINDINGS = {(rule, "app.py", line) for rule, _, line in APP_FINDINGS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "app.py").write_text(APP)
    return tmp_path / "project"


class Editor:
    """Lends its files, until it is told to hold its answers back."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.holding = False

    def __call__(self, frame: Any) -> Any:
        self.asked.append(frame["method"])
        if self.holding or frame["method"] != "fs/read_text_file":
            return None
        return {"content": Path(frame["params"]["path"]).read_text()}


class Form:
    """What a client of either form says and hears."""

    def __init__(self, dialect: str) -> None:
        self.wire = dialect == "acpex-wire"

    @property
    def greeting(self) -> Any:
        files = {"readTextFile": True, "writeTextFile": False}
        if self.wire:
            return {"protocolVersion": 1, "clientCapabilities": {"fs": files, "terminal": False}}
        info = {"name": "Quill", "version": "0.3"}
        offered = {"fileSystem": files, "terminal": {"create": True}}
        return {
            "protocolVersion": 1,
            "clientInfo": info,
            "capabilities": offered,
            "authenticationMethods": [],
        }

    def prompt(self, session: str, words: str) -> Any:
        return {"sessionId": session, ("prompt" if self.wire else "content"): [text(words)]}

    def kind(self, update: Any) -> str:
        """Checks what every update of the form has."""
        assert update.keys() >= ({"type", "sessionUpdate"} if self.wire else {"kind", "content"})
        return str(update["type" if self.wire else "kind"])

    def words(self, updates: list[Any], kind: str = "agent_message_chunk") -> str:
        chunks = [update["content"] for update in updates if self.kind(update) == kind]
        return "".join(chunk["text"] if self.wire else chunk["content"][0]["text"] for chunk in chunks)

    def open_calls(self, updates: list[Any]) -> set[str]:
        """Tool calls that were announced and did not end."""
        members = [(self.kind(update), update if self.wire else update["content"]) for update in updates]
        begun = {call["toolCallId"] for kind, call in members if kind == "tool_call"}
        assert begun
        ends = [call for kind, call in members if kind == "tool_call_update"]
        return begun - {
            end["toolCallId"] for end in ends if not self.wire or end.get("status") == "completed"
        }


@pytest.mark.parametrize("dialect", BOTH)
async def test_a_client_has_its_code_reviewed_cancels_and_loads(dialect: str, folder: Path) -> None:
    editor, form = Editor(), Form(dialect)
    reviewer = [*REVIEWER, str(folder.with_name("sessions.db"))]
    async with talking(
        *TRANSLATE, "--client", dialect, "--agent", "v1", "--", *reviewer, answer=editor
    ) as pipe:
        answer = (await pipe.ask("initialize", form.greeting))["result"]
        assert answer["_meta" if form.wire else "meta"]["name"] == "dragoman-review"
        made = await pipe.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        session = made["result"]["sessionId"]
        pipe.take_updates()

        ended = await pipe.ask("session/prompt", form.prompt(session, "review app.py and fix it"))
        assert ended["result"]["stopReason"] == "done"
        updates = pipe.take_updates()
        assert set(findings_in(form.words(updates))) == FINDINGS
        assert "plan" in {form.kind(update) for update in updates}
        assert editor.asked  # its own file, and nothing that it does not have
        assert set(editor.asked) == {"fs/read_text_file"}
        assert (folder / "app.py").read_text() == APP  # nobody could be asked, so nobody has allowed it
        said = form.words(updates)

        editor.holding = True
        number = pipe.begin("session/prompt", form.prompt(session, "review app.py"))
        await pipe.until(lambda frame: frame.get("method") == "fs/read_text_file")
        pipe.say(method="session/cancel", params={"sessionId": session})
        assert (await pipe.until_answer(number))["result"]["stopReason"] == "cancelled"
        said += form.words(pipe.take_updates())

        await pipe.ask("session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
        replayed = pipe.take_updates()
        assert form.words(replayed, "user_message_chunk") == "review app.py and fix itreview app.py"
        assert form.words(replayed) == said
        await errors(pipe, form, folder)
        assert await pipe.end() == 0
    if not form.wire:
        assert form.open_calls(updates) == set()


async def errors(pipe: Pipe, form: Form, folder: Path) -> None:
    lost = {"sessionId": "nowhere", "cwd": str(folder), "mcpServers": []}
    assert (await pipe.ask("session/load", lost))["error"]["code"] == -32001
    assert (await pipe.ask("session/prompt", form.prompt("nowhere", "hello")))["error"]["code"] == -32001
    assert (await pipe.ask("session/dance", {}))["error"]["code"] == -32601
    login = await pipe.ask("authenticate", {"methodId": "key", "data": {"apiKey": "owl-secret"}})
    assert login["error"]["code"] == -32001
    assert "owl-secret" not in str(login)


@pytest.mark.skipif(not sources(VERSIONS[0]).is_dir(), reason="needs the official SDK's sources")
async def test_a_client_talks_to_the_official_sdks_example(folder: Path) -> None:
    example = [sys.executable, str(sources(VERSIONS[0]) / "examples" / "agent.py")]
    form = Form("acpex")
    env = {"PYTHONPATH": str(sources(VERSIONS[0]) / "src")}
    async with talking(*TRANSLATE, "--client", "acpex", "--agent", "v1", "--", *example, env=env) as pipe:
        answer = (await pipe.ask("initialize", form.greeting))["result"]
        assert answer["meta"]["name"] == "example-agent"
        session = (await pipe.ask("session/new", {"cwd": str(folder), "mcpServers": []}))["result"][
            "sessionId"
        ]
        link = {"type": "resource_link", "uri": "file:///barn/hay.txt"}
        image = {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": "aQ=="}}
        params = {"sessionId": session, "content": [text("Look at this"), link, image]}
        assert (await pipe.ask("session/prompt", params))["result"] == {"stopReason": "done", "content": []}
        said = [update["content"]["content"] for update in pipe.take_updates()]
        assert said == [[text("Client sent:")], [text("Look at this")], [link], [image]]
        assert await pipe.end() == 0


# Agents of ACPex.

MESSAGE = "agent_message_chunk"
HELLO = {
    "initialize": {"version": 1, "agent": "owl"},
    "hello": {
        "kinds": ["agent_thought_chunk", "plan", "tool_call", "tool_call_update", MESSAGE, MESSAGE],
        "text": "There is hay.",
        "tools": {"look-1": "completed"},
        "stop": "end_turn",
    },
    "no such session": {"kinds": [], "text": "", "error": -32002},
    "no such method": -32601,
}


# Another dialect has the other client; `make test-all` has both here.
@pytest.mark.parametrize(
    "client", ["official-python", pytest.param("typescript", marks=[needs_node, pytest.mark.slow])]
)
def test_an_agent_is_driven_by_the_official_clients(client: str) -> None:
    command = [*TRANSLATE, "--client", "v1", "--agent", "acpex", "--", *AGENT]
    assert tell(CLIENTS[client], "hello", [], command) == HELLO


@pytest.mark.parametrize("dialect", BOTH)
async def test_an_agent_is_driven_by_our_client(dialect: str) -> None:
    client, ledger = Client("editor"), Ledger()

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=f"hay in {request.path}")

    command = [*AGENT, "wire"] if dialect == "acpex-wire" else AGENT
    async with connect(command, client=client, dialect=dialect, ledger=ledger) as agent:
        assert agent.info is not None
        assert (agent.info.name, agent.info.version) == ("owl", "7.1")
        session = await agent.new_session(cwd="/barn")
        updates = [update async for update in session.prompt("tour")]
        assert spoken(updates) == ["There is ", "hay."]
        assert [[entry.content for entry in one.entries] for one in updates if isinstance(one, Plan)] == [
            ["1. Look", "2. Tell"]
        ]
        assert [one.raw_input for one in updates if isinstance(one, ToolCall)] == [{"at": "/barn"}]
        assert [one.status for one in updates if isinstance(one, ToolCallProgress)] == ["completed"]
        assert spoken([one async for one in session.prompt("read /hay.txt")]) == ["hay in /hay.txt"]
        with pytest.raises(CallFailed) as denied:
            await session.prompt("forbidden")
        assert denied.value.code == -32603
        turn = session.prompt("wait")
        async for _ in turn:
            await session.cancel()
        assert turn.result.stop_reason == "cancelled"
        loaded = await agent.load_session(session.id, cwd="/barn")
        asked = [one.content for one in loaded.late if isinstance(one, UserMessageChunk)]
        assert asked == [TextContent(text=words) for words in ("tour", "read /hay.txt", "forbidden", "wait")]
        with pytest.raises(CallFailed) as lost:
            await agent.load_session("nowhere", cwd="/barn")
        assert lost.value.code == -32002
    assert [entry.what for entry in ledger.entries if entry.outcome == "lost"] == []


def spoken(updates: list[Any]) -> list[str]:
    chunks = [update.content for update in updates if isinstance(update, AgentMessageChunk)]
    return [content.text for content in chunks if isinstance(content, TextContent)]
