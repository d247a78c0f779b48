"""An agent with one stored session, which takes plain text only and fails to open sessions in /fail."""

import asyncio
from uuid import uuid4

from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import LoadSessionRequest, NewSessionRequest, NewSessionResponse

STORED = "stored-session"
NOT_FOUND = -32002

agent = Agent("shelf")


@agent.new_session
async def new_session(request: NewSessionRequest) -> NewSessionResponse:
    await asyncio.sleep(0)
    if request.cwd == "/fail":
        raise RuntimeError("sk-shelf-0123456789")
    return NewSessionResponse(session_id=str(uuid4()))


@agent.load_session
async def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    await asyncio.sleep(0)
    if request.session_id != STORED:
        raise ErrorAnswer(NOT_FOUND, "Session not found")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


serve(agent)
