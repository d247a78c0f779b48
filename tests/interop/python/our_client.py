"""The client of the story, written with this SDK.

Arguments: `hello` or `story`, the story's orders as JSON, and the agent's command. It prints what it has
seen as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable
from typing import Any

from dragoman import AgentHandle, Client, Session, connect
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import Unknown, given
from dragoman.schema.v1 import (
    AgentMessageChunk,
    CancelledPermissionOutcome,
    ContentBlock,
    CreateElicitationRequest,
    CreateElicitationResponse,
    CreateTerminalRequest,
    CreateTerminalResponse,
    ElicitationAcceptAction,
    ElicitationFormMode,
    EmbeddedResource,
    ImageContent,
    KillTerminalRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResourceLink,
    SelectedPermissionOutcome,
    SessionConfigSelect,
    SessionUpdate,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    TextContent,
    TextResourceContents,
    ToolCall,
    ToolCallProgress,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)

client = Client("story-client", version="1")
files = {"/story/in.txt": "line one\nline two\nline three\n"}
commands: dict[str, str] = {}
hints: list[str] = []
unknown: list[Any] = []  # only this SDK shows its users what no version knows


@client.request_permission
async def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
    wanted = given(request.tool_call.title, "").partition("(")[2].rstrip(")")
    chosen = [option.option_id for option in request.options if option.kind.startswith(wanted)]
    if not chosen:
        return RequestPermissionResponse(outcome=CancelledPermissionOutcome())
    return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=chosen[-1]))


@client.read_text_file
async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
    if request.path not in files:
        raise ErrorAnswer(-32002, "Resource not found")
    lines = files[request.path].splitlines(keepends=True)[given(request.line, 1) - 1 :]
    return ReadTextFileResponse(content="".join(lines[: given(request.limit, len(lines))]))


@client.write_text_file
async def write(request: WriteTextFileRequest) -> None:
    files[request.path] = request.content


@client.create_terminal
async def create(request: CreateTerminalRequest) -> CreateTerminalResponse:
    names = [f"{variable.name}={variable.value}" for variable in given(request.env, [])]
    words = [*names, request.command, *given(request.args, []), given(request.cwd, "")]
    commands["t-1"] = " ".join([*words, str(request.output_byte_limit)])
    return CreateTerminalResponse(terminal_id="t-1")


@client.terminal_output
async def output(request: TerminalOutputRequest) -> TerminalOutputResponse:
    status = TerminalExitStatus(exit_code=0)
    return TerminalOutputResponse(output=commands[request.terminal_id], truncated=False, exit_status=status)


@client.wait_for_terminal_exit
async def wait_for_exit(request: WaitForTerminalExitRequest) -> WaitForTerminalExitResponse:
    return WaitForTerminalExitResponse(exit_code=0)


@client.kill_terminal
async def kill(request: KillTerminalRequest) -> None:
    assert request.terminal_id in commands


@client.release_terminal
async def release(request: ReleaseTerminalRequest) -> None:
    del commands[request.terminal_id]


@client.elicit
async def fill_in(request: CreateElicitationRequest) -> CreateElicitationResponse:
    assert isinstance(request, ElicitationFormMode)
    asked = given(request.requested_schema.properties, {})
    return ElicitationAcceptAction(content=dict.fromkeys(asked, "Ada"))


@client.extension("_story/ask")
async def answer(params: dict[str, str]) -> dict[str, str]:
    return {"answer": f"story/ask {params['question']}"}


@client.extension("_story/hint")
def hint(params: dict[str, str]) -> None:
    hints.append(params["text"])


# The story, and what came of it.


def told(updates: list[SessionUpdate]) -> dict[str, Any]:
    unknown.extend(update.fields() for update in updates if isinstance(update, Unknown))
    known = [update for update in updates if not isinstance(update, Unknown)]
    tools: dict[str, str] = {}
    text = ""
    for update in known:
        if isinstance(update, ToolCall | ToolCallProgress):
            tools[update.tool_call_id] = given(update.status, tools.get(update.tool_call_id, "pending"))
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            text += update.content.text
    report: dict[str, Any] = {"kinds": [update.__struct_config__.tag for update in known], "text": text}
    return report | ({"tools": tools} if tools else {})


async def turn(session: Session, *blocks: str | ContentBlock) -> dict[str, Any]:
    updates: list[SessionUpdate] = []
    running = session.prompt(*blocks)
    try:
        async for update in running:
            updates.append(update)
            if isinstance(update, AgentMessageChunk) and update.content == TextContent(text="waiting"):
                await session.cancel()
    except CallFailed as error:
        return told(updates) | {"error": error.code}
    return told(updates) | {"stop": running.result.stop_reason}


async def failing(work: Awaitable[Any]) -> int:
    try:
        await work
    except CallFailed as error:
        return error.code
    return 0


def introduction(agent: AgentHandle) -> dict[str, Any]:
    return {"version": agent.protocol_version, "agent": agent.info.name if agent.info else None}


async def hello(agent: AgentHandle) -> dict[str, Any]:
    report: dict[str, Any] = {"initialize": introduction(agent)}
    session = await agent.new_session(cwd="/story")
    report["hello"] = await turn(session, "hello ", "again")
    report["no such session"] = await turn(Session(agent, "nowhere", cwd="/story"), "hello")
    report["no such method"] = await failing(agent.call("_story/none", {}))
    return report


BLOCKS: list[ContentBlock] = [
    ImageContent(data="aGk=", mime_type="image/png"),
    ResourceLink(name="in", uri="file:///story/in.txt"),
    EmbeddedResource(resource=TextResourceContents(uri="file:///story/x.txt", text="x")),
]


async def story(agent: AgentHandle, orders: list[str]) -> dict[str, Any]:
    report: dict[str, Any] = {"initialize": introduction(agent)}
    session = await agent.new_session(cwd="/story")
    assert session.modes is not None
    report["modes"] = [mode.id for mode in session.modes.available_modes]
    await session.set_mode("loud")
    option, *_ = await session.set_config_option("model", "large")
    assert isinstance(option, SessionConfigSelect)
    report["model"] = option.current_value
    await agent.notify("_story/note", {"text": "noted"})
    report["shout"] = await agent.call("_story/shout", {"text": "hey"})
    report["no such method"] = await failing(agent.call("_story/none", {}))
    for order in orders:
        report[order] = await turn(session, order)
    report["blocks"] = await turn(session, "blocks", *BLOCKS)
    loaded = await agent.load_session("stored", cwd="/story")
    report["load"] = told(list(loaded.late))
    report["load what is lost"] = await failing(agent.load_session("lost", cwd="/story"))
    report["written"] = files["/story/out.txt"]
    report["hints"] = hints
    report["unknown"] = unknown
    return report


async def main() -> None:
    tale, orders, *command = sys.argv[1:]
    async with connect(command, client=client) as agent:
        report = await (hello(agent) if tale == "hello" else story(agent, json.loads(orders)))
    print(json.dumps(report))


if __name__ == "__main__":
    asyncio.run(main())
