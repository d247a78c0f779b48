"""An ACP agent as an MCP server, for one client of a gateway.

`prompt` is a turn of the agent: what the agent says and does becomes progress of the call, its permission
requests become elicitation, and the result says how the turn went. A call that the client cancels cancels the
turn. The roots of the client confine the folders of sessions. Sessions belong to the client that opened them.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/server/tools
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from dragoman.decoders import convert
from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.schema import v1
from dragoman.text.sanitize import sanitize_line
from dragoman.version import VERSION
from dragoman.wire import Id
from dragoman.wire.codes import invalid_params, invalid_request
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.folders import FolderRules
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.gateway.report import LONGEST_TITLE, TurnEvent, TurnReport, token_counts
from dragoman_app.apps.gateway.session import GatewaySession, SessionBusy
from dragoman_app.apps.mcp.connection import FrameWriter, McpConnection
from dragoman_app.apps.mcp.tools import PromptArguments, SessionArguments, SessionsArguments, make_tools
from dragoman_app.apps.mcp.user import McpUser, user_of
from dragoman_app.apps.run.session import set_mode, set_model, set_option, values_of

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The supported versions, the newest first."""

ROOTS_SECONDS = 10.0
"""The most seconds for a client to name its roots."""

MOST_ROOTS = 1000
MOST_STORED = 200
"""The most stored sessions of the agent to list."""

A = TypeVar("A")


class McpServer:
    """The agent as one client sees it. `aclose` ends its calls and its sessions."""

    def __init__(
        self, gateway: Gateway, folders: FolderRules, write: FrameWriter, *, most_text: int | None = None
    ) -> None:
        """`most_text` is the most bytes of the agent's text in a result, where not all can be sent."""
        self.version = VERSIONS[0]
        """The version of the protocol that the client and we have agreed on."""
        self._gateway = gateway
        self._folders = folders
        self._most_text = most_text
        self._is_initialized = False
        self._capabilities: dict[str, object] = {}
        self._roots: list[str] | None = None
        self._tools: Mapping[str, Callable[[object, object, Id], Awaitable[dict[str, object]]]] = {
            "prompt": self._prompt,
            "sessions": self._list_sessions,
            "cancel": self._cancel,
            "close": self._close,
        }
        self.connection = McpConnection(
            write,
            methods={
                "initialize": self._initialize,
                "ping": self._ping,
                "tools/list": self._list_tools,
                "tools/call": self._call_tool,
            },
            notices={"notifications/roots/list_changed": self._on_roots_changed},
        )

    async def aclose(self, *, grace: float = 0.0) -> None:
        await self.connection.aclose(grace=grace)
        await self._gateway.close_sessions_of(self)

    # The protocol.

    async def _initialize(self, params: dict[str, object], request_id: Id) -> object:
        if self._is_initialized:
            raise invalid_request("the client is already initialized")
        capabilities = params.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self._is_initialized = True
        version = params.get("protocolVersion")
        self.version = version if version in VERSIONS else VERSIONS[0]
        name = self._gateway.target.agent.name
        return {
            "protocolVersion": self.version,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "dragoman", "title": f"{name}, through Dragoman", "version": VERSION},
            "instructions": f"`prompt` gives the coding agent {name} a task and waits until it is done. "
            "Pass the `session` of its result to continue the same conversation.",
        }

    async def _ping(self, params: dict[str, object], request_id: Id) -> object:
        return {}

    async def _list_tools(self, params: dict[str, object], request_id: Id) -> object:
        self._require_initialized()
        return {"tools": make_tools(self._gateway.target.agent.name)}

    async def _call_tool(self, params: dict[str, object], request_id: Id) -> object:
        self._require_initialized()
        name = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise invalid_params(f"unknown tool. Choose from {', '.join(self._tools)}")
        try:
            return await tool(params.get("arguments") or {}, params.get("_meta"), request_id)
        except UsageMistake as mistake:
            return _error_result(f"{mistake}. Try: {mistake.next_step}")
        except DragomanError as error:
            outcome = self._gateway.explain(error)
            next_step = f"\nTry: {outcome.next_step}" if outcome.next_step else ""
            return _error_result(f"{outcome.name}: {outcome.message}{next_step}")

    def _require_initialized(self) -> None:
        if not self._is_initialized:
            raise invalid_request("initialize comes first")

    # Folders.

    def _on_roots_changed(self, params: dict[str, object]) -> None:
        self._roots = None

    async def _client_roots(self, request_id: Id) -> list[str]:
        """The folders of the client; none if it has no roots. A client that does not name them when it is
        asked gets no session: nobody knows what it would have allowed.
        """
        if "roots" not in self._capabilities:
            return []
        if self._roots is None:
            try:
                async with asyncio.timeout(ROOTS_SECONDS):
                    answer = await self.connection.call("roots/list", {}, related_to=request_id)
            except (ErrorAnswer, TimeoutError):
                raise UsageMistake(
                    "the client did not name its roots when it was asked", "try again"
                ) from None
            self._roots = _read_roots(answer)
        return self._roots

    # Tools.

    async def _prompt(self, arguments: object, meta: object, request_id: Id) -> dict[str, object]:
        wish = _read_arguments(arguments, PromptArguments)
        if not wish.text.strip():
            raise UsageMistake("`text` is empty", "say what the agent should do")
        session = await self._session_for(wish, request_id)
        if session.is_busy:
            raise SessionBusy("a turn is running in this session; wait for it, or call `cancel`")
        if isinstance(session.user.forms, McpUser):
            session.user.forms.request_id = request_id
        _check_choices(session, wish, self._gateway.rules.choices)
        await _settle(session, wish)
        progress = ProgressReporter(self.connection, meta, request_id)
        report = await session.turn(
            [v1.TextContent(text=wish.text)],
            progress.on_event,
            watch_files=self._gateway.is_local,
        )
        await progress.finish()
        if self._most_text is not None:
            report = report.shorten(self._most_text)
        return _prompt_result(report, diffs=wish.diffs)

    async def _session_for(self, wish: PromptArguments, request_id: Id) -> GatewaySession:
        """The session that is meant; a new or a stored one is opened."""
        if wish.session is not None:
            session = self._gateway.find_session(wish.session, owner=self)
            if session is not None:
                return session
        roots = await self._client_roots(request_id)
        cwd = await asyncio.to_thread(self._folders.choose, wish.cwd, roots)
        user = user_of(self._capabilities, self.connection, request_id)
        return await self._gateway.open_session(cwd=cwd, owner=self, user=user, stored_id=wish.session)

    async def _list_sessions(self, arguments: object, meta: object, request_id: Id) -> dict[str, object]:
        wish = _read_arguments(arguments, SessionsArguments)
        agent = await self._gateway.agent()
        info = agent.info
        values: dict[str, object] = {
            "agent": {
                "name": self._gateway.target.agent.name if info is None else info.name,
                "version": None if info is None else info.version,
                "protocolVersion": agent.handle.protocol_version,
            },
            "sessions": [_session_entry(session) for session in self._gateway.sessions_of(self)],
        }
        if wish.stored:
            roots = await self._client_roots(request_id)
            values["stored"] = [entry async for entry in self._stored_sessions(roots)]
        return _result(msgspec.json.encode(values).decode(), values)

    async def _stored_sessions(self, roots: list[str]) -> AsyncIterator[dict[str, object]]:
        handle = (await (await self._gateway.agent()).living_agent()).handle
        count = 0
        async for session in handle.list_sessions():
            if count >= MOST_STORED:
                return
            try:
                await asyncio.to_thread(self._folders.choose, session.cwd, roots)
            except UsageMistake:
                continue  # not a folder of this client
            count += 1
            yield {"session": session.session_id, "cwd": session.cwd, "title": session.title or ""}

    async def _cancel(self, arguments: object, meta: object, request_id: Id) -> dict[str, object]:
        session = self._own_session(arguments)
        is_running = session.is_busy
        if is_running:
            await session.supervised.cancel()
        words = "The turn is being cancelled." if is_running else "No turn is running in this session."
        return _result(words, {"session": session.id, "cancelled": is_running})

    async def _close(self, arguments: object, meta: object, request_id: Id) -> dict[str, object]:
        session = self._own_session(arguments)
        await self._gateway.close_session(session)
        return _result("The session is closed.", {"session": session.id, "closed": True})

    def _own_session(self, arguments: object) -> GatewaySession:
        name = _read_arguments(arguments, SessionArguments).session
        session = self._gateway.find_session(name, owner=self)
        if session is None:
            ids = ", ".join(session.id for session in self._gateway.sessions_of(self)) or "none"
            raise UsageMistake(f"there is no open session {name!r}", f"choose an open session: {ids}")
        return session


FREE_CATEGORIES: Final = frozenset({"model", "thought_level"})
"""Options of these categories change how an agent thinks, not what it may do."""


def _check_choices(session: GatewaySession, wish: PromptArguments, allowed: frozenset[str]) -> None:
    """Refuse what a calling model may not choose: a mode or an option may end the agent's questions."""
    free = {
        option.id
        for option in session.supervised.config_options
        if isinstance(option, v1.SessionConfigSelect) and option.category in FREE_CATEGORIES
    }
    wishes = {**({} if wish.mode is None else {"mode": wish.mode}), **wish.options}
    for name, value in wishes.items():
        choice = f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        if name not in free and name not in allowed and choice not in allowed:
            raise UsageMistake(
                f"{choice} may change what the agent asks before it acts, so a person has to allow it",
                f"leave it out, or ask the person to start `dragoman mcp` with --allow-choice {choice}",
            )


async def _settle(session: GatewaySession, wish: PromptArguments) -> None:
    if wish.mode is not None:
        await set_mode(session.supervised, wish.mode)
    if wish.model is not None:
        await set_model(session.supervised, wish.model)
    for key, value in wish.options.items():
        await set_option(session.supervised, key, str(value))


def _read_arguments(arguments: object, kind: type[A]) -> A:
    try:
        return convert(arguments, kind)
    except msgspec.ValidationError as error:
        raise UsageMistake(f"invalid arguments: {error}", "see the tool's input schema") from None


def _read_roots(answer: object) -> list[str]:
    """The folders that a client names; addresses that are not local folders are left out."""
    roots = answer.get("roots") if isinstance(answer, dict) else None
    uris = [root.get("uri") for root in roots or () if isinstance(root, dict)][:MOST_ROOTS]
    paths = [_path_of(uri) for uri in uris if isinstance(uri, str)]
    folders = [path for path in paths if path]
    if uris and not folders:
        raise UsageMistake("no root of the client is a folder of this machine", "open a local folder there")
    return folders


def _path_of(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = unquote(parts.path)
    return path if path.startswith("/") and "\0" not in path else ""


def _session_entry(session: GatewaySession) -> dict[str, object]:
    entry: dict[str, object] = {
        "session": session.id,
        "cwd": session.cwd,
        "busy": session.is_busy,
        "turns": session.turns,
    }
    modes = session.supervised.modes
    if modes is not None:
        entry["mode"] = modes.current_mode_id
        entry["modes"] = [mode.id for mode in modes.available_modes]
    entry["options"] = [
        {
            "id": option.id,
            "name": option.name,
            "category": option.category or "",
            "value": option.current_value,
            "values": values_of(option),
        }
        for option in session.supervised.config_options
        if isinstance(option, v1.SessionConfigSelect)
    ]
    return entry


def _prompt_result(report: TurnReport, *, diffs: bool) -> dict[str, object]:
    values: dict[str, object] = {
        "session": report.session_id,
        "stopReason": report.stop_reason,
        "text": report.text,
        "toolCalls": report.calls,
        "plan": report.plan,
        "changedFiles": [
            {
                name: value
                for name, value in (
                    ("path", change.path),
                    ("kind", change.kind),
                    ("linesAdded", change.lines_added),
                    ("linesRemoved", change.lines_removed),
                    ("diff", change.diff if diffs else None),
                )
                if value is not None
            }
            for change in report.changes
        ],
        "refused": report.refusals,
        "notes": report.notes + (["only the beginning of the text is shown"] if report.is_cut else []),
    }
    usage = token_counts(report.usage)
    if usage is not None:
        values["usage"] = usage
    return _result(report.text or "(The agent gave no answer.)", values, more=_summary(report))


def _summary(report: TurnReport) -> str:
    """What a model must know besides the agent's words: not every client shows it the structured content."""
    lines = [f"[session {report.session_id}; stop reason {report.stop_reason}]"]
    lines += [f"[changed: {change.kind} {change.path}]" for change in report.changes]
    lines += [f"[refused: {refusal.text}]" for refusal in report.refusals]
    lines += [f"[note: {note}]" for note in report.notes]
    return "\n".join(lines)


def _result(text: str, values: dict[str, object], *, more: str = "") -> dict[str, object]:
    texts = [text, more] if more else [text]
    return {
        "content": [{"type": "text", "text": text} for text in texts],
        "structuredContent": values,
        "isError": False,
    }


def _error_result(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


# What an agent does, as progress of the call that made it do so.
#
# A client that wants progress names a token. It is told a line at a time: of the agent's words, of tool
# calls with their status, of the plan. The lines are for people, so they are sanitized; the number only
# grows, and a total is not known.

LONGEST_LINE = 2000
"""The most characters of a line of progress; a longer line is sent in pieces."""


class ProgressReporter:
    """The progress of one call; sends nothing to a client that did not request it."""

    def __init__(self, connection: McpConnection, meta: object, request_id: Id) -> None:
        self._connection = connection
        self._request_id = request_id
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._token = token if isinstance(token, str | int) else None
        self._count = 0
        self._line = ""

    async def on_event(self, event: TurnEvent) -> None:
        """Send an event, or keep it until its line is complete."""
        if self._token is None:
            return
        if event.kind == "text":
            *lines, self._line = (self._line + event.text).split("\n")
            for line in lines:
                await self._tell(line)
            while len(self._line) >= LONGEST_LINE:
                line, self._line = self._line[:LONGEST_LINE], self._line[LONGEST_LINE:]
                await self._tell(line)
            return
        if event.kind == "thought":
            return  # it comes word by word, and nobody can tell where it ends
        await self.finish()
        await self._tell(_line_of(event))

    async def finish(self) -> None:
        """Send the rest of a line."""
        line, self._line = self._line, ""
        await self._tell(line)

    async def _tell(self, line: str) -> None:
        if not line.strip() or self._token is None:
            return
        self._count += 1
        await self._connection.notify(
            "notifications/progress",
            {
                "progressToken": self._token,
                "progress": self._count,
                "message": sanitize_line(line[:LONGEST_LINE]),
            },
            related_to=self._request_id,
        )


def _line_of(event: TurnEvent) -> str:
    if event.call is not None:
        return f"{event.call.kind}: {event.call.title[:LONGEST_TITLE]} ({event.call.status})"
    if event.kind == "plan":
        return "plan: " + "; ".join(event.text.splitlines())
    return f"{event.kind}: {event.text}"
