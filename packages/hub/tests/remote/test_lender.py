"""The lender, in this process: what a client asks of the other side's disk is answered there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman_hub.remote.lender import RemoteLender
from dragoman_hub.remote.path_map import FolderMap, MappedFolder


class OtherSide:
    """A lender with nobody behind it: what goes to the agent and to the client is kept."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.lender = RemoteLender(
            to_agent=lambda _: None,
            drain=lambda: asyncio.sleep(0),
            to_client=lambda line: self.answers.put_nowait(json.loads(line)),
        )

    def pass_on(self, **message: Any) -> bytes:
        return self.lender.from_client(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.pass_on(id=9, method=method, params=params) == b""  # the agent hears nothing of it
        return await self.answers.get()


@asynccontextmanager
async def other_side(folder: Path) -> AsyncIterator[OtherSide]:
    side = OtherSide()
    assert side.pass_on(id=1, method="session/new", params={"cwd": str(folder), "mcpServers": []})
    side.lender.from_agent(b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}\n')
    yield side
    await side.lender.aclose()


async def test_the_folders_of_a_session_are_compared_there(tmp_path: Path) -> None:
    async with other_side(tmp_path) as side:
        assert (await side.ask("_dragoman/disk/look", sessionId="s"))["result"] == {}
        (tmp_path / "sly.txt").write_text("nobody knows\n")
        answer = await side.ask("_dragoman/disk/changes", sessionId="s")
        (file,) = answer["result"]["files"]
        assert (file["path"], file["kind"]) == (str(tmp_path / "sly.txt"), "added")
        assert (await side.ask("_dragoman/disk/revert", sessionId="s", path=file["path"]))["result"] == {}
        assert not (tmp_path / "sly.txt").exists()
        unknown = await side.ask("_dragoman/disk/look", sessionId="another")
        assert "error" in unknown
        side.pass_on(id=2, method="session/close", params={"sessionId": "s"})
        assert "error" in await side.ask("_dragoman/disk/changes", sessionId="s")


def test_paths_of_changes_are_translated() -> None:
    paths = FolderMap([MappedFolder("/here", "/there")])
    question = b'{"id":1,"method":"_dragoman/disk/changes","params":{"sessionId":"s"}}\n'
    assert paths.to_agent(question) == question
    answer = b'{"id":1,"result":{"files":[{"path":"/there/a"}],"notes":[]}}\n'
    assert b'"/here/a"' in paths.to_client(answer)
    revert = b'{"id":2,"method":"_dragoman/disk/revert","params":{"sessionId":"s","path":"/here/a"}}\n'
    assert b'"/there/a"' in paths.to_agent(revert)
