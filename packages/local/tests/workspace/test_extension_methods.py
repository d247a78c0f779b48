"""The extension methods, over the wire: plain data in, plain data out."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client
from dragoman_local.workspace.refusals import CONFLICT, FORBIDDEN, INVALID_PARAMS
from dragoman_local.workspace.workspace import Workspace
from tests.runtime.raw import request
from tests.sdk.ends import raw_agent
from tests.workspace.file_agent import code, lending


async def test_status_is_told_in_plain_data(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("12345")
    os.utime(tmp_path / "file.txt", (0, 0))
    async with lending(tmp_path) as agent:

        async def stat(path: Path) -> Any:
            return (await agent.ask("_dragoman/fs/stat", path))["result"]

        assert await stat(tmp_path / "file.txt") == {
            "exists": True,
            "isDirectory": False,
            "size": 5,
            "modifiedAt": "1970-01-01T00:00:00+00:00",
        }
        folder = await stat(tmp_path)
        assert (folder["exists"], folder["isDirectory"]) == (True, True)
        assert await stat(tmp_path / "none") == {"exists": False, "isDirectory": False}


async def test_files_are_found_by_a_pattern(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", ".c.py"):
        (tmp_path / name).write_text("")
    async with lending(tmp_path) as agent:
        found = await agent.ask("_dragoman/fs/glob", "**/*.py")
        assert found["result"] == {"matches": [f"{tmp_path}/a.py", f"{tmp_path}/b.py"], "truncated": False}
        some = await agent.ask("_dragoman/fs/glob", "*.py", limit=1, hidden=True)
        assert some["result"] == {"matches": [f"{tmp_path}/.c.py"], "truncated": True}


async def test_bytes_are_read_in_ranges_that_fit_together(tmp_path: Path) -> None:
    data = bytes(range(256))
    (tmp_path / "file.bin").write_bytes(data)
    async with lending(tmp_path) as agent:
        got, token = b"", None
        while True:
            answer = await agent.ask(
                "_dragoman/fs/read_range", tmp_path / "file.bin", offset=len(got), limit=100, ifVersion=token
            )
            got += base64.b64decode(answer["result"]["content"])
            token = answer["result"]["version"]
            assert answer["result"]["size"] == 256
            if answer["result"]["eof"]:
                break
        assert got == data
        (tmp_path / "file.bin").write_bytes(b"other")
        answer = await agent.ask("_dragoman/fs/read_range", tmp_path / "file.bin", ifVersion=token)
        assert code(answer) == (CONFLICT, "changed_since_read")


@pytest.mark.parametrize("method", ["stat", "glob", "read_range"])
@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"sessionId": 1}, {"sessionId": "s1"}, {"sessionId": "s1", "path": 1, "pattern": 1}],
)
async def test_senseless_params_of_an_extension_are_refused(method: str, params: Any, tmp_path: Path) -> None:
    with Workspace() as workspace:
        client = Client()
        workspace.serve(client)
        workspace.open("s1", cwd=str(tmp_path))
        async with raw_agent(client) as (_, agent):
            agent.send(request("q", f"_dragoman/fs/{method}", params))
            assert (await agent.answer_to("q"))["error"]["code"] in (INVALID_PARAMS, -32600)


@pytest.mark.parametrize("params", [{"offset": -1}, {"limit": -1}, {"offset": "0"}, {"limit": 2**60}])
async def test_senseless_ranges_are_refused(params: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    async with lending(tmp_path) as agent:
        answer = await agent.ask("_dragoman/fs/read_range", tmp_path / "file", **params)
        assert answer["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize("method", ["stat", "glob", "read_range"])
async def test_an_extension_stays_within_the_roots(method: str, tmp_path: Path) -> None:
    async with lending(tmp_path) as agent:
        answer = await agent.ask(f"_dragoman/fs/{method}", "/etc/passwd")
        assert code(answer) == (FORBIDDEN, "outside")
