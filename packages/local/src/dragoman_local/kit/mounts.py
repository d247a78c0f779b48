"""The MCP servers that a client names for a session: they start and end with it, and serve no other.

Each server has a task of its own, so that one which fails costs nothing but itself: the user is told, and the
session goes on without it. The `mcp` package is imported here, in a thread, and only for a session that has
servers. What a server is started with (environment, headers, address) is neither logged nor stored.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from dragoman.errors import SpawnFailed
from dragoman.schema import v1
from dragoman.schema.codec import read

log = logging.getLogger(__name__)

START_SECONDS = 30.0
"""The seconds for a server to be ready; some first download themselves."""

END_SECONDS = 0.9
"""The seconds for the servers of a session to end; then they are killed."""


class MountedTool(Struct, frozen=True, kw_only=True):
    """A tool of a server, as the server describes it.

        for tool in await turn.session.mcp.tools():
            print(tool.full_name, tool.description)

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
    """

    server: str
    name: str
    description: str
    input_schema: dict[str, Any]
    """The JSON schema of its arguments."""

    @property
    def full_name(self) -> str:
        """A name that is unique in the session, and that models accept."""
        return f"{_plain(self.server)}__{_plain(self.name)}"


class MountedResult(Struct, frozen=True, kw_only=True):
    """A tool's result."""

    content: list[v1.ContentBlock]
    is_error: bool = False
    structured_content: Any = None

    @property
    def text(self) -> str:
        """All text of it."""
        return "\n".join(block.text for block in self.content if isinstance(block, v1.TextContent))


class MountingSession(Protocol):
    """The parts of a session that its servers use; `KitSession` implements it."""

    id: str
    cwd: str
    mcp_servers: list[v1.McpServer]

    async def note(self, title: str, description: str) -> None:
        """Tell the user, now or in the next turn."""


class Mounts:
    """Starts the servers at once; `ready` waits for them."""

    def __init__(self, session: MountingSession) -> None:
        self._session = session
        self._clients: dict[str, Any] = {}
        self._tools: dict[str, list[MountedTool]] = {}
        self._stop = asyncio.Event()
        self.errors: dict[str, str] = {}
        """Servers that did not start, and why."""
        self._starting: dict[str, asyncio.Future[None]] = {}
        self._tasks = [self._start(server) for server in _with_unique_names(session.mcp_servers)]

    def _start(self, entry: tuple[str, Any]) -> asyncio.Task[None]:
        name, server = entry
        loop = asyncio.get_running_loop()
        self._starting[name] = loop.create_future()
        return loop.create_task(self._serve(name, server), name=f"MCP server of {self._session.id}")

    # What an agent does with them.

    async def ready(self) -> None:
        """Wait until every server has started or failed."""
        if self._starting:
            await asyncio.wait(self._starting.values())

    @property
    def servers(self) -> list[str]:
        """The started servers."""
        return list(self._clients)

    async def tools(self) -> list[MountedTool]:
        """The tools of all started servers."""
        await self.ready()
        return [tool for tools in self._tools.values() for tool in tools]

    async def call(self, tool: MountedTool, arguments: dict[str, Any] | None = None) -> MountedResult:
        """Run a tool. An error is returned as a result, so that a model can react to it."""
        await self.ready()
        client = self._clients.get(tool.server)
        if client is None:
            return _failure(f"The MCP server {tool.server} is not running.")
        try:
            answer = await client.call_tool(tool.name, arguments or {})
        except Exception as error:  # noqa: BLE001  # the libraries below raise anything; the turn goes on
            log.warning("a tool of the MCP server %s failed: %s", tool.server, type(error).__name__)
            return _failure(f"The MCP server {tool.server} could not run {tool.name}: {_error_text(error)}")
        return MountedResult(
            content=[_block(item) for item in answer.content],
            is_error=bool(answer.is_error),
            structured_content=answer.structured_content,
        )

    async def aclose(self) -> None:
        """End the servers and all their processes."""
        self._stop.set()
        for task, starting in zip(self._tasks, self._starting.values(), strict=True):
            if not starting.done():
                task.cancel()  # it would look at the stop only once it has started
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=END_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=END_SECONDS)
        self._clients.clear()
        self._tools.clear()

    # The life of one.

    async def _serve(self, name: str, server: object) -> None:
        starting = self._starting[name]
        try:
            wire = await asyncio.to_thread(import_module, "dragoman_local.kit.mcp_wire")
            async with asyncio.timeout(START_SECONDS) as patience:
                async with wire.open_client(server, cwd=self._session.cwd) as client:
                    self._tools[name] = await _list_tools(name, client)
                    self._clients[name] = client
                    patience.reschedule(None)
                    starting.set_result(None)
                    await self._stop.wait()
        except Exception as error:  # noqa: BLE001  # whatever it was, it is this server's alone
            await self._on_failure(name, error)
        finally:
            self._clients.pop(name, None)
            if not starting.done():
                starting.set_result(None)

    async def _on_failure(self, name: str, error: Exception) -> None:
        log.warning("the MCP server %s of a session failed: %s", name, type(_first(error)).__name__)
        if self._stop.is_set():
            return
        self.errors[name] = why = _reason(error)
        self._tools.pop(name, None)
        await self._session.note(f"The MCP server {name} is not available", why)


async def _list_tools(name: str, client: Any) -> list[MountedTool]:
    tools: list[MountedTool] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += [
            MountedTool(
                server=name,
                name=tool.name,
                description=tool.description or tool.title or "",
                input_schema=tool.input_schema,
            )
            for tool in page.tools
        ]
        cursor = page.next_cursor
        if not cursor:
            return tools


def _with_unique_names(servers: list[v1.McpServer]) -> list[tuple[str, Any]]:
    """Pairs of a unique name and its server."""
    by_name: dict[str, Any] = {}
    for server in servers:
        base = str(getattr(server, "name", "")) or "mcp"
        name, number = base, 2
        while name in by_name:
            name, number = f"{base}-{number}", number + 1
        by_name[name] = server
    return list(by_name.items())


def _block(item: Any) -> v1.ContentBlock:
    """MCP's content is the protocol's; what it does not know becomes text."""
    content = item.model_dump_json(by_alias=True, exclude_none=True).encode()
    kind: Any = v1.ContentBlock  # a union is no `type` to a type checker
    block: v1.ContentBlock = read(content, kind)
    return block


def _failure(text: str) -> MountedResult:
    return MountedResult(content=[v1.TextContent(text=text)], is_error=True)


def _reason(error: Exception) -> str:
    """Why a server is not there, without anything that it was started with."""
    error = _first(error)
    if isinstance(error, ImportError):
        return "This agent was installed without MCP support. Try: pip install 'dragoman-sdk[mcp]'"
    if isinstance(error, SpawnFailed):
        return "Its program could not be started."
    if isinstance(error, TimeoutError):
        return f"It was not ready within {START_SECONDS:g} seconds."
    return "The connection to it failed."


def _first(error: BaseException) -> Any:
    """Task groups wrap what went wrong; the innermost first error says it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _error_text(error: Exception) -> str:
    """The server's own words, if there are any."""
    inner = getattr(_first(error), "error", None)
    message = getattr(inner, "message", None)
    return message if isinstance(message, str) and message else "the connection failed"


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name) or "_"
