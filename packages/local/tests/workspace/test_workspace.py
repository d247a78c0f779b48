"""A workspace in a client: what an agent sends over the wire, and what it gets."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, AgentHandle, Client, ClientHandle, Turn, blocking
from dragoman.errors import CallFailed, ErrorAnswer, LocalMistake
from dragoman.schema.v1 import NewSessionRequest, NewSessionResponse
from dragoman.testing import talking_to
from dragoman.testing.pace import patience
from dragoman_local.workspace.lent_terminals import TerminalRequest
from dragoman_local.workspace.refusals import CONFLICT, FORBIDDEN, INVALID_PARAMS, NOT_FOUND
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.workspace import Workspace
from dragoman_local.workspace.write_conflicts import ConflictDecision
from tests.sdk.ends import raw_agent
from tests.workspace.file_agent import Asking, code, lending, version


async def test_an_agent_of_ours_reads_and_writes(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("1\n2\n3\n")
    agent = Agent("editor")

    @agent.prompt
    async def edit(turn: Turn) -> None:
        text = await turn.read_text_file(str(tmp_path / "file.txt"), line=2, limit=1)
        await turn.write_text_file(str(tmp_path / "new/file.txt"), text * 2)

    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        async with talking_to(agent, client=client) as handle:
            with workspace.opening(cwd=str(tmp_path)) as opening:
                session = await handle.new_session(cwd=str(tmp_path))
                opening.settle(session.id)
            await session.prompt("go")
    assert (tmp_path / "new/file.txt").read_text() == "2\n2\n"


def test_it_serves_a_blocking_client_too(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("text")
    agent = Agent("reader")

    @agent.prompt
    async def read(turn: Turn) -> None:
        await turn.say(await turn.read_text_file(str(tmp_path / "file.txt")))

    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        with blocking.connect(agent, client=client) as handle:
            with workspace.opening(cwd=str(tmp_path)) as opening:
                session = handle.new_session(cwd=str(tmp_path))
                opening.settle(session.id)
            assert session.prompt("go").result.text == "text"


# Over the wire.


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "1\r\n2\r\n3"),
        ({"line": 0}, "1\r\n2\r\n3"),
        ({"line": None, "limit": None}, "1\r\n2\r\n3"),
        ({"line": 2}, "2\r\n3"),
        ({"line": 1, "limit": 2}, "1\r\n2\r\n"),
        ({"line": 3, "limit": 9}, "3"),
        ({"line": 4}, ""),
        ({"limit": 0}, ""),
        ({"line": 2**32 - 1, "limit": 2**32 - 1}, ""),
    ],
)
async def test_lines_are_counted_from_one(params: dict[str, Any], text: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_bytes(b"1\r\n2\r\n3")
    async with lending(tmp_path) as agent:
        assert (await agent.read(tmp_path / "file.txt", **params))["result"]["content"] == text


@pytest.mark.parametrize("params", [{"line": "x"}, {"line": -1}, {"limit": 1.5}, {"limit": 2**32}])
async def test_senseless_lines_are_refused(params: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("text")
    async with lending(tmp_path) as agent:
        assert (await agent.read(tmp_path / "file.txt", **params))["error"]["code"] == INVALID_PARAMS


async def test_text_with_emoji_and_crlf_comes_back_byte_for_byte(tmp_path: Path) -> None:
    text = "emoji \U0001f600\r\ncrlf\r\nno end \u2028"
    async with lending(tmp_path) as agent:
        assert "result" in await agent.write(tmp_path / "file.txt", text)
        assert (await agent.read(tmp_path / "file.txt"))["result"]["content"] == text
    assert (tmp_path / "file.txt").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/passwd", (FORBIDDEN, "outside")),
        ("/proc/self/environ", (FORBIDDEN, "outside")),
        ("{root}/../x", (FORBIDDEN, "outside")),
        ("{root}/none", (NOT_FOUND, "missing")),
        ("{root}/sub", (INVALID_PARAMS, "not_a_file")),
        ("{root}/pipe", (FORBIDDEN, "special")),
        ("{root}/a\0b", (INVALID_PARAMS, "bad_path")),
        ("relative", (INVALID_PARAMS, "bad_path")),
    ],
)
async def test_a_refusal_has_a_code_and_a_reason(
    path: str, expected: tuple[int, str], tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    async with lending(tmp_path) as agent:
        assert code(await agent.read(path.replace("{root}", str(tmp_path)))) == expected


async def test_meta_never_overrides_the_path(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    meta = {"path": "/etc/passwd", "sessionId": "other", "line": 5}
    async with lending(tmp_path) as agent:
        assert (await agent.read(tmp_path / "file.txt", _meta=meta))["result"]["content"] == "mine"
        await agent.write(tmp_path / "file.txt", "new", _meta={"path": str(tmp_path / "other.txt")})
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


async def test_versions_travel_as_meta(tmp_path: Path) -> None:
    async with lending(tmp_path) as agent:
        written = version(await agent.write(tmp_path / "file.txt", "text"))
        assert version(await agent.read(tmp_path / "file.txt")) == written
        (tmp_path / "file.txt").write_text("user")
        refused = await agent.write(tmp_path / "file.txt", "agent")
        assert code(refused) == (CONFLICT, "changed_since_read")
        assert refused["error"]["data"]["version"] == version(await agent.read(tmp_path / "file.txt"))
        assert "user" not in str(refused)


async def test_a_merge_is_told_and_recorded(tmp_path: Path) -> None:
    decisions: list[ConflictDecision] = []
    workspace = Workspace(settings=FileSettings(stale="merge"), record=decisions.append)
    path = tmp_path / "file.txt"
    path.write_text("1\n2\n3\n")
    async with lending(tmp_path, workspace) as agent:
        await agent.read(path)
        path.write_text("user\n2\n3\n")
        answer = await agent.write(path, "1\n2\nagent\n")
        assert answer["result"]["_meta"]["dragoman"]["conflict"] == "merged"
    assert path.read_text() == "user\n2\nagent\n"
    assert [(decision.session_id, decision.outcome) for decision in decisions] == [("s1", "merged")]


async def test_an_agent_that_reads_before_it_creates_works_if_that_was_chosen(tmp_path: Path) -> None:
    workspace = Workspace(settings=FileSettings(missing="empty"))
    async with lending(tmp_path, workspace) as agent:
        assert (await agent.read(tmp_path / "new.txt"))["result"]["content"] == ""
        assert "result" in await agent.write(tmp_path / "new.txt", "text")
    assert (tmp_path / "new.txt").read_text() == "text"


async def test_an_agent_that_looks_for_its_instructions_everywhere_finds_none_outside(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "AGENTS.md").write_text("rules of somebody else")
    workspace = Workspace(settings=FileSettings(outside="not_found"))
    async with lending(root, workspace) as agent:
        there = await agent.read(tmp_path / "AGENTS.md")
        missing = await agent.read(tmp_path / "CLAUDE.md")
        inside = await agent.read(root / "AGENTS.md")
        assert there["error"] == missing["error"] == inside["error"]
        assert code(there) == (NOT_FOUND, "missing")
        assert code(await agent.write(tmp_path / "AGENTS.md", "mine")) == (FORBIDDEN, "outside")


# Sessions.


@pytest.mark.parametrize("method", ["fs/read_text_file", "_dragoman/fs/stat", "_dragoman/fs/read_range"])
async def test_a_session_that_nobody_opened_has_no_files(method: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("text")
    async with lending(tmp_path) as agent:
        agent.session_id = "unknown"
        answer = await agent.ask(method, tmp_path / "file.txt")
        assert answer["error"]["code"] == NOT_FOUND
        assert answer["error"]["data"] == {"sessionId": "unknown"}


async def test_each_session_has_its_own_roots(tmp_path: Path) -> None:
    paths = {}
    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        async with raw_agent(client) as (handle, agent):
            for name in ("one", "two"):
                (tmp_path / name).mkdir()
                (tmp_path / name / "file.txt").write_text(name)
                session = await handle.new_session(cwd=str(tmp_path / name))
                workspace.open(session.id, cwd=str(tmp_path / name))
                paths[name] = Asking(agent, session.id)
            assert (await paths["one"].read(tmp_path / "one/file.txt"))["result"]["content"] == "one"
            assert code(await paths["one"].read(tmp_path / "two/file.txt")) == (FORBIDDEN, "outside")
            assert code(await paths["two"].write(tmp_path / "one/file.txt", "")) == (FORBIDDEN, "outside")


async def test_additional_directories_are_roots_and_are_not_kept_for_the_next_opening(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "cwd").mkdir()
    (tmp_path / "more/file.txt").write_text("more")
    with Workspace() as workspace:
        cwd, more = str(tmp_path / "cwd"), str(tmp_path / "more")
        lent = workspace.open("s", cwd=cwd, additional_directories=[more])
        assert (await lent.read(f"{more}/file.txt")).text == "more"
        with pytest.raises(LocalMistake):
            workspace.open("s", cwd=cwd, additional_directories=[f"{more}/none"])
        assert (await workspace.session("s").read(f"{more}/file.txt")).text == "more"
        again = workspace.open("s", cwd=cwd)
        with pytest.raises(ErrorAnswer, match="outside"):
            await again.read(f"{more}/file.txt")
        with pytest.raises(ErrorAnswer, match="closed"):
            await lent.read(f"{more}/file.txt")


async def test_opening_a_session_again_does_not_forget_what_its_agent_knows(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with Workspace() as workspace:
        await workspace.open("s", cwd=str(tmp_path)).read(str(path))
        path.write_text("user")
        with pytest.raises(ErrorAnswer, match="changed since"):
            await workspace.open("s", cwd=str(tmp_path)).write(str(path), "agent")


async def test_two_agents_may_have_sessions_of_the_same_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)
    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        async with raw_agent(client) as (one, first), raw_agent(client) as (two, second):
            await _open(workspace, one, tmp_path / "one")
            await _open(workspace, two, tmp_path / "two")
            asking = {"one": Asking(first, "s1"), "two": Asking(second, "s1")}
            for name, agent in asking.items():
                for target in asking:
                    answer = await agent.ask("_dragoman/fs/stat", tmp_path / target / "file.txt")
                    assert ("result" in answer) == (name == target)


async def _open(workspace: Workspace, handle: AgentHandle, folder: Path) -> None:
    with workspace.opening(cwd=str(folder), agent=handle) as opening:
        session = await handle.new_session(cwd=str(folder))
        opening.settle(session.id)


async def test_an_agent_may_use_files_before_its_session_has_been_answered(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules")
    agent = Agent("eager")
    got: dict[str, Any] = {}

    @agent.new_session
    async def make(_: NewSessionRequest, peer: ClientHandle) -> NewSessionResponse:
        for session_id in ("mine", "foreign"):
            params = {"sessionId": session_id, "path": str(tmp_path / "AGENTS.md")}
            try:
                got[session_id] = (await peer.call("fs/read_text_file", params))["content"]
            except CallFailed as failed:
                got[session_id] = failed.code
        return NewSessionResponse(session_id="mine")

    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        async with talking_to(agent, client=client) as handle:
            with workspace.opening(cwd=str(tmp_path)) as opening:
                session = await handle.new_session(cwd=str(tmp_path))
                opening.settle(session.id)
        assert got == {"mine": "rules", "foreign": NOT_FOUND}
        assert workspace.session("mine").session_id == "mine"
        with pytest.raises(ErrorAnswer):
            workspace.session("foreign")


def test_while_two_sessions_are_being_made_an_unknown_id_is_nobodys(tmp_path: Path) -> None:
    with Workspace() as workspace, workspace.opening(cwd=str(tmp_path)):
        assert workspace.session("x").session_id == "x"
        with workspace.opening(cwd=str(tmp_path)), pytest.raises(ErrorAnswer):
            workspace.session("y")
        with pytest.raises(ErrorAnswer):
            workspace.session("y")


def test_an_opening_that_fails_lends_nothing(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with Workspace() as workspace:
        with pytest.raises(RuntimeError), workspace.opening(cwd=str(tmp_path)):
            raise RuntimeError
        with pytest.raises(ErrorAnswer):
            workspace.session("x")
        workspace.open("a", cwd=str(tmp_path))
        workspace.close("a")
        workspace.close("a")
        workspace.open("b", cwd=str(tmp_path))
    assert len(os.listdir("/dev/fd")) == before


def test_a_workspace_can_lend_for_reading_alone() -> None:
    client = Client()
    Workspace().serve(client, write=False, extensions=False)
    offered = client.capabilities().fs
    assert (offered.read_text_file, offered.write_text_file) == (True, False)  # type: ignore[union-attr]
    assert "_dragoman/fs/stat" not in client.handlers


async def test_a_slow_disk_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.txt").write_text("text")
    turned = threading.Event()
    with Workspace() as workspace:
        lent = workspace.open("s", cwd=str(tmp_path))
        read = lent.files.read

        def slow(*args: Any, **more: Any) -> Any:
            assert turned.wait(patience(3)), "the loop stood still"
            return read(*args, **more)

        monkeypatch.setattr(lent.files, "read", slow)
        reading = asyncio.create_task(lent.read(str(tmp_path / "file.txt")))
        while not (await lent.stat(str(tmp_path))).is_folder:
            pass
        turned.set()
        assert (await reading).text == "text"


async def test_a_session_in_place_of_a_lost_one_has_its_folders_and_settings_and_nothing_that_ran(
    tmp_path: Path,
) -> None:
    async with Workspace() as workspace:
        workspace.open("lost", cwd=str(tmp_path), settings=FileSettings(missing="empty"))
        terminal_id = await workspace.terminals("lost").create(TerminalRequest(command="sleep", args=["600"]))
        workspace.renew("lost", "new")
        assert (await workspace.session("new").read(str(tmp_path / "missing.txt"))).text == ""
        with pytest.raises(ErrorAnswer):
            workspace.session("lost")
        with pytest.raises(ErrorAnswer):
            workspace.terminals("new").get(terminal_id)
        workspace.renew("never there", "newer")
        with pytest.raises(ErrorAnswer):
            workspace.session("newer")
