"""The agent of the interop story, written with plain functions. Its argument says which server runs it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import dragoman
from dragoman import blocking
from dragoman.blocking import Agent, ClientHandle, Turn
from dragoman.errors import CallFailed, ErrorAnswer
from dragoman.schema import Unknown
from dragoman.schema.v1 import (
    ElicitationAcceptAction,
    ElicitationSchema,
    LoadSessionRequest,
    NewSessionRequest,
    NewSessionResponse,
    PlanEntry,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    StringPropertySchema,
)
from tests.interop.python import our_agent as awaited

SERVERS: dict[str, Callable[[Agent], None]] = {"blocking": blocking.serve, "awaited": dragoman.serve}

agent = Agent("story", version="1", image=True, embedded_context=True)
settings = awaited.settings
notes: list[str] = []


@agent.new_session
def new_session(request: NewSessionRequest) -> NewSessionResponse:
    modes = [SessionMode(id="plain", name="Plain"), SessionMode(id="loud", name="Loud")]
    return NewSessionResponse(
        session_id="s-1",
        modes=SessionModeState(current_mode_id=settings["mode"], available_modes=modes),
        config_options=[awaited.config()],
    )


@agent.load_session
def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    if request.session_id != "stored":
        raise ErrorAnswer(-32002, "Resource not found")
    session = client.sessions[request.session_id]
    session.echo("earlier")
    session.say("answered")


@agent.set_mode
def set_mode(request: SetSessionModeRequest) -> None:
    settings["mode"] = request.mode_id


@agent.set_config_option
def set_config_option(request: SetSessionConfigOptionRequest) -> SetSessionConfigOptionResponse:
    settings["model"] = str(request.value)
    return SetSessionConfigOptionResponse(config_options=[awaited.config()])


@agent.extension("_story/shout")
def shout(params: dict[str, str]) -> dict[str, str]:
    return {"text": params["text"].upper()}


@agent.extension("_story/note")
def note(params: dict[str, str]) -> None:
    notes.append(params["text"])


@agent.prompt
def prompt(turn: Turn) -> None:
    order, _, rest = turn.text.partition(" ")
    ORDERS[order](turn, rest)


# The orders.


def stream(turn: Turn, rest: str) -> None:
    turn.think("hm")
    turn.plan(
        [
            PlanEntry(content="think", priority="high", status="completed"),
            PlanEntry(content="answer", priority="medium", status="in_progress"),
        ]
    )
    for word in ("one ", "two ", "three"):
        turn.say(word)


def tool(turn: Turn, rest: str) -> None:
    with turn.tool(f"Do it ({rest})", kind="edit", tool_call_id=f"call-{rest}") as call:
        permission = call.ask(awaited.OPTIONS)
        (call.complete if permission else call.fail)()
    turn.say(f"{permission.option.option_id if permission.option else 'nothing'} was chosen")


def read(turn: Turn, rest: str) -> None:
    try:
        turn.say(turn.read_text_file(rest, line=2, limit=1))
    except CallFailed as error:
        turn.say(f"error {error.code}")


def write(turn: Turn, rest: str) -> None:
    path, _, content = rest.partition(" ")
    turn.write_text_file(path, content)
    turn.say("written")


def run(turn: Turn, rest: str) -> None:
    made = turn.create_terminal("echo", "hello", env={"STORY": "1"}, cwd="/story", output_byte_limit=99)
    with turn.tool("Run", kind="execute", tool_call_id="call-run") as call, made as terminal:
        call.progress(content=[terminal.content])
        ended = terminal.wait()
        output = terminal.output()
        terminal.kill()
    turn.say(f"{output.output} {ended.exit_code}")


def wait(turn: Turn, rest: str) -> None:
    turn.say("waiting")
    while not turn.cancelled:
        time.sleep(0.001)


def refuse(turn: Turn, rest: str) -> None:
    raise ErrorAnswer(-32000, "Authentication required")


def crash(turn: Turn, rest: str) -> None:
    raise RuntimeError("the key is sk-story")


def future(turn: Turn, rest: str) -> None:
    turn.update(Unknown("from_the_future", b'{"sessionUpdate":"from_the_future","when":2030}'))
    turn.say("and back")


def extend(turn: Turn, rest: str) -> None:
    turn.client.notify("_story/hint", {"text": "psst"})
    answer: dict[str, Any] = turn.client.call("_story/ask", {"question": "why"})
    turn.say(f"{answer['answer']}, {', '.join(notes)}")


def elicit(turn: Turn, rest: str) -> None:
    form = ElicitationSchema(properties={"name": StringPropertySchema(title="Name")}, required=["name"])
    answer = turn.elicit("Who are you?", form)
    given = answer.content if isinstance(answer, ElicitationAcceptAction) else None
    turn.say(f"Hello {given['name'] if given else 'nobody'}")


def blocks(turn: Turn, rest: str) -> None:
    turn.say(" ".join(awaited.BLOCKS[type(block)] for block in turn.prompt))


def tell_settings(turn: Turn, rest: str) -> None:
    turn.say(f"{settings['mode']} {settings['model']}")


ORDERS: dict[str, Callable[[Turn, str], None]] = {
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
    SERVERS[sys.argv[1]](agent)
