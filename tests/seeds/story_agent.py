"""An agent of v1 that does, by command, everything that a seed document says an agent does.

    python story_agent.py JOURNAL

Its sessions are kept in the journal and replayed by `session/load`. Client dialects are tried in front of it.
"""

from __future__ import annotations

import sys

from dragoman import Agent, AgentTool, Kit, KitTurn, serve
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema.v1 import (
    AudioContent,
    CurrentModeUpdate,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    StopReason,
    TextResourceContents,
    ToolCallLocation,
    ToolKind,
)

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [AgentTool(name="readFile", description="Reads a file from disk", input_schema=PATH)]

agent = Agent(
    "story", version="1.2.3", title="Story", image=True, audio=True, embedded_context=True, tools=TOOLS
)
kit = Kit(agent, journal=sys.argv[1])


@kit.command(
    "wait", "Runs a command that never ends by itself, and writes its process id to the file that is named"
)
async def wait(turn: KitTurn[None], argument: str) -> None:
    async with turn.tool("Sleep", kind="execute"):
        await turn.run("sh", "-c", 'echo $$ > "$1"; exec sleep 3600', "sh", argument or "/dev/null")


@kit.command("ask", "Asks before it does something")
async def ask(turn: KitTurn[None], argument: str) -> None:
    call = turn.tool("Remove", kind="delete", raw_input={"path": "/x"}, status="pending")
    async with call:
        if not await call.ask():
            await turn.say("refused")
            return
    await turn.say("removed")


@kit.command("stop", "Ends for the reason that is named")
async def stop(turn: KitTurn[None], argument: str) -> StopReason:
    reasons: tuple[StopReason, ...] = ("end_turn", "max_tokens", "max_turn_requests", "refusal")
    return next(reason for reason in reasons if reason == argument)


@kit.command("fail", "Fails")
async def fail(turn: KitTurn[None], argument: str) -> None:
    raise CallFailed(-32603, "the model answered 500")


@kit.command("show", "Says one block of each kind")
async def show(turn: KitTurn[None], argument: str) -> None:
    await turn.say(ImageContent(data="aW1n", mime_type="image/png"))
    await turn.say(AudioContent(data="c25k", mime_type="audio/wav"))
    await turn.say(ResourceLink(uri="file:///a.txt", name="a.txt"))
    resource = TextResourceContents(uri="file:///b.txt", text="bee", mime_type="text/plain")
    await turn.say(EmbeddedResource(resource=resource))


@kit.command("tools", "Calls a tool of each kind; the last of them fails")
async def tools(turn: KitTurn[None], argument: str) -> None:
    kinds: tuple[ToolKind, ...] = ("read", "execute", "search", "fetch")
    for kind in kinds:
        call = turn.tool(kind.title(), kind=kind, name=kind, status="pending")
        await call.announce()
        await call.progress(status="in_progress")
        await (call.fail("broken") if kind == "fetch" else call.complete("done"))


@kit.command("mode", "Repeats the user and changes its mode")
async def change_mode(turn: KitTurn[None], argument: str) -> None:
    await turn.echo(argument)
    await turn.update(CurrentModeUpdate(current_mode_id="careful"))


@kit.command("read", "Reads a file of the client")
async def read(turn: KitTurn[None], argument: str) -> None:
    await turn.say(await turn.read_text_file(argument))


@kit.command("try", "Reads a file of the client, says the code of its failure, and fails in the same way")
async def try_read(turn: KitTurn[None], argument: str) -> None:
    try:
        await turn.read_text_file(argument)
    except CallFailed as failed:
        await turn.say(str(failed.code))
        raise ErrorAnswer(failed.code, failed.message, failed.data) from None


@kit.command("write", "Writes a file of the client")
async def write(turn: KitTurn[None], argument: str) -> None:
    await turn.write_text_file(argument, "written")
    await turn.say("done")


@kit.command("shell", "Runs a command in a terminal of the client")
async def shell(turn: KitTurn[None], argument: str) -> None:
    async with await turn.create_terminal(argument) as terminal:
        first = await terminal.output()
        await terminal.kill()
        ended = await terminal.wait()
    await turn.say(f"{first.output} {ended.exit_code}")


@kit.prompt
async def tell(turn: KitTurn[None]) -> None:
    await turn.think("I think.")
    await turn.plan([("Look", "in_progress"), "Tell"])
    where = [ToolCallLocation(path="/a.txt", line=3)]
    async with turn.tool("Read a.txt", kind="read", name="Read", raw_input={"a": 1}, locations=where) as call:
        await call.complete("three lines", raw_output={"lines": 3})
    await turn.plan([("Look", "completed"), ("Tell", "completed")])
    kinds = [type(block).__name__ for block in turn.prompt]
    await turn.say("You ")
    await turn.say(f"said: {turn.text} {kinds}")


if __name__ == "__main__":
    serve(agent)
