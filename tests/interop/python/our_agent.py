"""The agent of the story, written with this SDK. A prompt's first word is an order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import Unknown
from dragoman.schema.v1 import (
    ElicitationAcceptAction,
    ElicitationSchema,
    EmbeddedResource,
    ImageContent,
    LoadSessionRequest,
    NewSessionRequest,
    NewSessionResponse,
    PermissionOption,
    PlanEntry,
    ResourceLink,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    StringPropertySchema,
    TextContent,
)

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]
BLOCKS: dict[type, str] = {
    TextContent: "text",
    ImageContent: "image",
    ResourceLink: "resource_link",
    EmbeddedResource: "resource",
}

agent = Agent("story", version="1", image=True, embedded_context=True)
settings = {"mode": "plain", "model": "small"}
notes: list[str] = []


def config() -> SessionConfigSelect:
    values = [SessionConfigSelectOption(value=value, name=value.title()) for value in ("small", "large")]
    return SessionConfigSelect(id="model", name="Model", current_value=settings["model"], options=values)


@agent.new_session
async def new_session(request: NewSessionRequest) -> NewSessionResponse:
    modes = [SessionMode(id="plain", name="Plain"), SessionMode(id="loud", name="Loud")]
    return NewSessionResponse(
        session_id="s-1",
        modes=SessionModeState(current_mode_id=settings["mode"], available_modes=modes),
        config_options=[config()],
    )


@agent.load_session
async def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    if request.session_id != "stored":
        raise ErrorAnswer(-32002, "Resource not found")
    session = client.sessions[request.session_id]
    await session.echo("earlier")
    await session.say("answered")


@agent.set_mode
async def set_mode(request: SetSessionModeRequest) -> None:
    settings["mode"] = request.mode_id


@agent.set_config_option
async def set_config_option(request: SetSessionConfigOptionRequest) -> SetSessionConfigOptionResponse:
    settings["model"] = str(request.value)
    return SetSessionConfigOptionResponse(config_options=[config()])


@agent.extension("_story/shout")
async def shout(params: dict[str, str]) -> dict[str, str]:
    return {"text": params["text"].upper()}


@agent.extension("_story/note")
def note(params: dict[str, str]) -> None:
    notes.append(params["text"])


@agent.prompt
async def prompt(turn: Turn) -> None:
    order, _, rest = turn.text.partition(" ")
    await ORDERS[order](turn, rest)


# The orders.


async def stream(turn: Turn, rest: str) -> None:
    await turn.think("hm")
    await turn.plan(
        [
            PlanEntry(content="think", priority="high", status="completed"),
            PlanEntry(content="answer", priority="medium", status="in_progress"),
        ]
    )
    for word in ("one ", "two ", "three"):
        await turn.say(word)


async def tool(turn: Turn, rest: str) -> None:
    async with turn.tool(
        f"Do it ({rest})", kind="edit", tool_call_id=f"call-{rest}", status="pending"
    ) as call:
        permission = await call.ask(OPTIONS)
        await (call.complete() if permission else call.fail())
    await turn.say(f"{permission.option.option_id if permission.option else 'nothing'} was chosen")


async def read(turn: Turn, rest: str) -> None:
    try:
        await turn.say(await turn.read_text_file(rest, line=2, limit=1))
    except CallFailed as error:
        await turn.say(f"error {error.code}")


async def write(turn: Turn, rest: str) -> None:
    path, _, content = rest.partition(" ")
    await turn.write_text_file(path, content)
    await turn.say("written")


async def run(turn: Turn, rest: str) -> None:
    environment = {"STORY": "1"}
    async with (
        turn.tool("Run", kind="execute", tool_call_id="call-run") as call,
        await turn.create_terminal(
            "echo", "hello", env=environment, cwd="/story", output_byte_limit=99
        ) as terminal,
    ):
        await call.progress(content=[terminal.content])
        ended = await terminal.wait()
        output = await terminal.output()
        await terminal.kill()
    await turn.say(f"{output.output} {ended.exit_code}")


async def wait(turn: Turn, rest: str) -> None:
    await turn.say("waiting")
    await asyncio.Event().wait()


async def refuse(turn: Turn, rest: str) -> None:
    raise ErrorAnswer(-32000, "Authentication required")


async def crash(turn: Turn, rest: str) -> None:
    raise RuntimeError("the key is sk-story")


async def future(turn: Turn, rest: str) -> None:
    await turn.update(Unknown("from_the_future", b'{"sessionUpdate":"from_the_future","when":2030}'))
    await turn.say("and back")


async def extend(turn: Turn, rest: str) -> None:
    await turn.client.notify("_story/hint", {"text": "psst"})
    answer: dict[str, Any] = await turn.client.call("_story/ask", {"question": "why"})
    await turn.say(f"{answer['answer']}, {', '.join(notes)}")


async def elicit(turn: Turn, rest: str) -> None:
    form = ElicitationSchema(properties={"name": StringPropertySchema(title="Name")}, required=["name"])
    answer = await turn.elicit("Who are you?", form)
    given = answer.content if isinstance(answer, ElicitationAcceptAction) else None
    await turn.say(f"Hello {given['name'] if given else 'nobody'}")


async def blocks(turn: Turn, rest: str) -> None:
    await turn.say(" ".join(BLOCKS[type(block)] for block in turn.prompt))


async def tell_settings(turn: Turn, rest: str) -> None:
    await turn.say(f"{settings['mode']} {settings['model']}")


ORDERS: dict[str, Callable[[Turn, str], Awaitable[None]]] = {
    "stream": stream,
    "tool": tool,
    "read": read,
    "write": write,
    "run": run,
    "wait": wait,
    "refuse": refuse,
    "crash": crash,
    "future": future,
    "extend": extend,
    "elicit": elicit,
    "blocks": blocks,
    "settings": tell_settings,
}

if __name__ == "__main__":
    serve(agent)
