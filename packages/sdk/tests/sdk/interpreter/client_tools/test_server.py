"""The small MCP server: it greets, lists, calls, and survives everything else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from dragoman.errors import ErrorAnswer
from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.interpreter.client_tools.server import AT_ONCE, ClientToolServer

WRITE = {"name": "write_text_file", "arguments": {"path": "/a", "content": "x"}}


class End:
    """The other end, and the client behind the server."""

    def __init__(self) -> None:
        self.owner = TaskOwner("test")
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.asked: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()
        tools = ("write_text_file", "no_such_tool")
        self.server = ClientToolServer(
            tools, self._ask, lambda line: self.heard.put_nowait(json.loads(line)), self.owner
        )

    async def __aenter__(self) -> End:
        return self

    async def __aexit__(self, *reason: object) -> None:
        self.server.close()
        await self.owner.aclose()

    async def _ask(self, method: str, params: Any) -> Any:
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(waiting)
        return await waiting

    def says(self, frame: Any) -> None:
        self.server.hear(json.dumps(frame).encode() + b"\n")

    def asks(self, id: Any, method: str, params: Any = None) -> None:
        self.says({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})


async def test_it_greets_in_the_version_that_it_is_asked_for_if_it_knows_it() -> None:
    async with End() as end:
        end.asks(1, "initialize", {"protocolVersion": "2024-11-05"})
        end.asks(2, "initialize", {"protocolVersion": "1999-01-01"})
        first, second = await end.heard.get(), await end.heard.get()
        assert first["result"]["protocolVersion"] == "2024-11-05"
        assert second["result"]["protocolVersion"] == "2025-06-18"
        assert first["result"]["capabilities"] == {"tools": {}}


async def test_it_lists_what_the_client_lends_and_nothing_else() -> None:
    async with End() as end:
        end.asks(1, "tools/list")
        listed = (await end.heard.get())["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["write_text_file"]


async def test_a_call_is_answered_when_the_client_has() -> None:
    async with End() as end:
        end.asks("c", "tools/call", WRITE)
        waiting = await end.asked.get()
        end.asks(2, "ping")
        assert (await end.heard.get())["id"] == 2  # nobody waits for a call
        waiting.set_result({})
        told = await end.heard.get()
        assert told["id"] == "c"
        assert told["result"] == {"content": [{"type": "text", "text": "Wrote /a"}], "isError": False}


async def test_what_the_client_refuses_is_a_failed_call() -> None:
    async with End() as end:
        end.asks(1, "tools/call", WRITE)
        (await end.asked.get()).set_exception(ErrorAnswer(-32602, "read only"))
        told = await end.heard.get()
        assert told["result"]["isError"] is True
        assert told["result"]["content"][0]["text"] == "The client refused: read only"


async def test_a_mistake_of_ours_is_a_failed_call_without_its_text() -> None:
    async with End() as end:
        end.asks(1, "tools/call", WRITE)
        (await end.asked.get()).set_exception(RuntimeError("secret"))
        assert (await end.heard.get())["result"]["content"][0]["text"] == "Internal error"


async def test_a_cancelled_call_is_not_answered() -> None:
    async with End() as end:
        end.asks(1, "tools/call", WRITE)
        waiting = await end.asked.get()
        end.says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        end.says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
        end.asks(2, "ping")
        assert (await end.heard.get())["id"] == 2
        await end.owner.finish(4)
        assert waiting.cancelled()
        assert end.heard.empty()


async def test_a_call_without_its_arguments_says_which() -> None:
    async with End() as end:
        end.asks(1, "tools/call", {"name": "write_text_file", "arguments": {"path": "/a"}})
        assert "'content' is missing" in (await end.heard.get())["result"]["content"][0]["text"]


async def test_what_it_does_not_know_it_refuses() -> None:
    async with End() as end:
        end.asks(1, "resources/list")
        end.asks(2, "tools/call", {"name": "read_text_file"})
        end.asks(3, "tools/call", {"name": ["x"]})
        end.server.hear(b"{broken\n")
        end.server.hear(b"[]\n")
        end.says({"jsonrpc": "2.0", "method": "notifications/initialized"})
        codes = [(await end.heard.get())["error"]["code"] for _ in range(4)]
        assert codes == [-32601, -32602, -32602, -32700]
        assert end.heard.empty()


async def test_too_many_calls_at_once_are_refused() -> None:
    async with End() as end:
        for number in range(AT_ONCE + 1):
            end.asks(number, "tools/call", WRITE)
        told = await end.heard.get()
        assert (told["id"], told["error"]["code"]) == (AT_ONCE, -32603)
