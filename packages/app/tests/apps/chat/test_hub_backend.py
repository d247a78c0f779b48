import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Agent, ClientHandle, Turn
from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.schema import v1
from dragoman.sdk.serve import serving
from dragoman_app.apps.chat.hub_backend import HubBackend, with_agent
from dragoman_app.tui.ports import ChatRequest
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet


def test_the_agent_is_named_in_the_address_of_a_hub() -> None:
    assert with_agent("ws://h/acp", "") == "ws://h/acp"
    assert with_agent("ws://h/acp?x=1&agent=old", "a b") == "ws://h/acp?x=1&agent=a+b"


def hub_like() -> Agent:
    """An agent that says what a hub says beyond the protocol."""
    agent = Agent("hub-like")
    changed = [{"path": "/far/a.py", "kind": "modified", "diff": "--- a\n+++ b\n@@ @@\n-x\n+y\n+z\n"}]

    @agent.load_session
    async def load(request: v1.LoadSessionRequest, client: ClientHandle) -> None:
        await client.sessions[request.session_id].echo("from afar")

    @agent.list_sessions
    async def sessions(request: v1.ListSessionsRequest) -> v1.ListSessionsResponse:
        return v1.ListSessionsResponse(
            sessions=[v1.SessionInfo(session_id="far-1", cwd="/far", title="Far away")]
        )

    @agent.prompt
    async def reply(turn: Turn) -> None:
        links = [block.uri for block in turn.prompt if isinstance(block, v1.ResourceLink)]
        await turn.say(f"{turn.text} {links}")

    agent.extension("_dragoman/hub/agents")(
        lambda params: {"agents": [{"name": "review", "title": "Reviews"}]}
    )
    agent.extension("_dragoman/hub/files")(lambda params: {"files": ["src/far.py"]})
    agent.extension("_dragoman/hub/sessions")(
        lambda params: {"sessions": [{"sessionId": "far-1"}] if params["cwd"] == "/far" else []}
    )

    @agent.extension("_dragoman/hub/file")
    def file(params: dict[str, object]) -> dict[str, object]:
        if params["path"] != "src/far.py":
            raise ErrorAnswer(-32002, "there is no such file")
        text = f"line {params['line']}"
        return {"path": "/far/src/far.py", "text": text, "first": 3, "isWhole": False, "isCovered": True}

    agent.extension("_dragoman/hub/changes")(lambda params: {"files": changed})

    @agent.extension("_dragoman/hub/revert")
    def revert(params: object) -> dict[str, object]:
        changed.clear()
        return {}

    agent.extension("_dragoman/hub/search")(
        lambda params: {"found": [{"sessionId": "far-2", "title": "Other", "excerpt": "needle"}]}
    )
    return agent


@asynccontextmanager
async def hub_at(agent: Agent, token: str) -> AsyncIterator[str]:
    from dragoman.transport.messages import MessageTransport
    from dragoman_hub.api.endpoint import AcpEndpoint, Visit
    from dragoman_hub.api.listener import open_listener, open_socket
    from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts

    tasks: set[asyncio.Task[None]] = set()

    async def serve(client: MessageTransport) -> None:
        async with serving(agent, client) as served:
            await served.wait_ended()

    def accept(client: MessageTransport, visit: Visit) -> None:
        tasks.add(asyncio.create_task(serve(client)))

    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    endpoint = AcpEndpoint(Admission({hash_token(token): Grant("token")}, hosts=local_hosts(port)), accept)
    async with open_listener(endpoint, bound, tls=None):
        yield f"ws://127.0.0.1:{port}/acp"
        endpoint.leave()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.bound(60)
async def test_through_a_hub_its_agents_sessions_files_and_changes_are_used(tmp_path: Path) -> None:
    token = "t" * 40
    async with hub_at(hub_like(), token) as url:
        nobody = socket.socket()
        nobody.bind(("127.0.0.1", 0))
        urls = f"ws://127.0.0.1:{nobody.getsockname()[1]}/acp,{url}"
        house = HubBackend("/far", LocalRules(), url=urls, headers={"authorization": f"Bearer {token}"})
        (choice,) = await house.agents()
        assert (choice.name, choice.title) == ("review", "Reviews")
        quiet = Quiet()
        async with house.open(ChatRequest(agent="review", cwd="/far", session="far-1"), quiet, quiet) as chat:
            assert await chat.files("f") == ["src/far.py"]
            file = await chat.read_file("src/far.py", 3)
            assert (file.path, file.text, file.first) == ("/far/src/far.py", "line 3", 3)
            assert (file.is_whole, file.is_covered) == (False, True)
            with pytest.raises(LocalMistake, match="no such file"):
                await chat.read_file("gone.py")
            blocks = await chat.attachments(["src/far.py"])
            await chat.turn([v1.TextContent(text="look"), *blocks])
            assert quiet.words == ["from afar", "look ['file:///far/src/far.py']"]
            rows = await house.sessions("away")
            assert [row.title for row in rows] == ["Far away", "Other"]
            review = await chat.review()
            assert review is not None
            assert (review.files[0].added_lines, review.files[0].removed_lines) == (2, 1)
            await review.revert("/far/a.py")
            assert await chat.review() is None
        async with house.open(ChatRequest(agent="", cwd="/far", session="last"), quiet, quiet) as chat:
            assert chat.request.session == "far-1"
        with pytest.raises(LocalMistake, match="no session in /elsewhere"):
            async with house.open(ChatRequest(agent="", cwd="/elsewhere", session="last"), quiet, quiet):
                pass
        nobody.close()
