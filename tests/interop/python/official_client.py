"""The client of the story, written with the official Python SDK.

Arguments: `hello` or `story`, the story's orders as JSON, and the agent's command. It prints what it has
seen as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AcceptElicitationResponse,
    AgentMessageChunk,
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    EmbeddedResourceContentBlock,
    FileSystemCapabilities,
    ImageContentBlock,
    Implementation,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileResponse,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    ResourceContentBlock,
    TerminalExitStatus,
    TerminalOutputResponse,
    TextContentBlock,
    TextResourceContents,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)


class StoryClient:
    """Keeps the story's files and commands in memory, and notes what it is told.

    Without the SDK's `Client` as its base, which would demand every method of it.
    """

    def __init__(self) -> None:
        self.files = {"/story/in.txt": "line one\nline two\nline three\n"}
        self.commands: dict[str, str] = {}
        self.hints: list[str] = []
        self.seen: list[Any] = []

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.seen.append(update)
        if isinstance(update, AgentMessageChunk) and getattr(update.content, "text", "") == "waiting":
            await self.agent.cancel(session_id=session_id)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse:
        wanted = (tool_call.title or "").partition("(")[2].rstrip(")")
        chosen = [option.option_id for option in options if option.kind.startswith(wanted)]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[-1]))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> ReadTextFileResponse:
        if path not in self.files:
            raise RequestError.resource_not_found(path)
        lines = self.files[path].splitlines(keepends=True)[(line or 1) - 1 :]
        return ReadTextFileResponse(content="".join(lines[:limit]))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse | None:
        self.files[path] = content
        return WriteTextFileResponse()

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[Any] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> CreateTerminalResponse:
        names = [f"{variable.name}={variable.value}" for variable in env or []]
        self.commands["t-1"] = " ".join([*names, command, *(args or []), cwd or "", str(output_byte_limit)])
        return CreateTerminalResponse(terminal_id="t-1")

    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> TerminalOutputResponse:
        status = TerminalExitStatus(exit_code=0)
        return TerminalOutputResponse(output=self.commands[terminal_id], truncated=False, exit_status=status)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=0)

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> KillTerminalResponse | None:
        return KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> ReleaseTerminalResponse | None:
        del self.commands[terminal_id]
        return ReleaseTerminalResponse()

    async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> AcceptElicitationResponse:
        asked = list(mode.requested_schema.properties)
        return AcceptElicitationResponse(action="accept", content=dict.fromkeys(asked, "Ada"))

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"answer": f"{method} {params['question']}"}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.hints.append(params["text"])


class Teller:
    """Walks through the story and tells what came of it."""

    def __init__(self, client: StoryClient, agent: Any) -> None:
        self.client = client
        self.agent = agent

    def told(self) -> dict[str, Any]:
        seen, self.client.seen = self.client.seen, []
        tools: dict[str, str] = {}
        for update in seen:
            if isinstance(update, ToolCallStart | ToolCallProgress):
                tools[update.tool_call_id] = update.status or tools.get(update.tool_call_id, "pending")
        chunks = [update for update in seen if isinstance(update, AgentMessageChunk)]
        report = {
            "kinds": [update.session_update for update in seen],
            "text": "".join(getattr(chunk.content, "text", "") for chunk in chunks),
        }
        return report | ({"tools": tools} if tools else {})

    async def turn(self, session_id: str, *blocks: Any) -> dict[str, Any]:
        prompt = [TextContentBlock(type="text", text=b) if isinstance(b, str) else b for b in blocks]
        try:
            answer = await self.agent.prompt(session_id=session_id, prompt=prompt)
        except RequestError as error:
            return self.told() | {"error": error.code}
        return self.told() | {"stop": answer.stop_reason}

    async def initialize(self) -> dict[str, Any]:
        answer = await self.agent.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_info=Implementation(name="story-client", version="1"),
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=True,
                elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()),
            ),
        )
        return {"version": answer.protocol_version, "agent": answer.agent_info.name}

    async def failing(self, work: Any) -> int:
        try:
            await work
        except RequestError as error:
            return error.code
        return 0

    async def hello(self) -> dict[str, Any]:
        report: dict[str, Any] = {"initialize": await self.initialize()}
        session = await self.agent.new_session(cwd="/story", mcp_servers=[])
        report["hello"] = await self.turn(session.session_id, "hello ", "again")
        report["no such session"] = await self.turn("nowhere", "hello")
        report["no such method"] = await self.failing(self.agent.ext_method("story/none", {}))
        return report

    async def story(self, orders: list[str]) -> dict[str, Any]:
        report: dict[str, Any] = {"initialize": await self.initialize()}
        session = await self.agent.new_session(cwd="/story", mcp_servers=[])
        session_id = session.session_id
        report["modes"] = [mode.id for mode in session.modes.available_modes]
        await self.agent.set_session_mode(session_id=session_id, mode_id="loud")
        changed = await self.agent.set_config_option("model", session_id, "large")
        report["model"] = changed.config_options[0].current_value
        await self.agent.ext_notification("story/note", {"text": "noted"})
        report["shout"] = await self.agent.ext_method("story/shout", {"text": "hey"})
        report["no such method"] = await self.failing(self.agent.ext_method("story/none", {}))
        for order in orders:
            report[order] = await self.turn(session_id, order)
        report["blocks"] = await self.turn(session_id, "blocks", *BLOCKS)
        await self.agent.load_session(cwd="/story", session_id="stored", mcp_servers=[])
        report["load"] = self.told()
        lost = self.agent.load_session(cwd="/story", session_id="lost", mcp_servers=[])
        report["load what is lost"] = await self.failing(lost)
        report["written"] = self.client.files["/story/out.txt"]
        report["hints"] = self.client.hints
        return report


BLOCKS = [
    ImageContentBlock(type="image", data="aGk=", mime_type="image/png"),
    ResourceContentBlock(type="resource_link", name="in", uri="file:///story/in.txt"),
    EmbeddedResourceContentBlock(
        type="resource", resource=TextResourceContents(uri="file:///story/x.txt", text="x")
    ),
]


async def main() -> None:
    tale, orders, command, *args = sys.argv[1:]
    client: Any = StoryClient()
    async with spawn_agent_process(client, command, *args, use_unstable_protocol=True) as (agent, _):
        teller = Teller(client, agent)
        report = await (teller.hello() if tale == "hello" else teller.story(json.loads(orders)))
    print(json.dumps(report))


if __name__ == "__main__":
    asyncio.run(main())
