"""Sends every kind of malformed frame over one connection, and a correct one after each."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.driver import AgentDriver, initialize_params
from dragoman_check.agent.scenes.handshake import before_the_handshake
from dragoman_check.agent.scenes.wrong_params import bad_params, lenient, unknown
from dragoman_check.agent.stage import SceneStep, Stage

BAD_FRAMES: dict[str, bytes] = {
    "no version": b'{"id":50,"method":"session/list","params":{}}',
    "other version": b'{"jsonrpc":"1.0","id":51,"method":"session/list","params":{}}',
    "no JSON": b"{",
    "not UTF-8": b'{"jsonrpc":"2.0","id":52,"method":"\xff"}',
    "a number": b"42",
    "a string": b'"x"',
    "empty object": b"{}",
    "method is a number": b'{"jsonrpc":"2.0","id":53,"method":5}',
    "empty batch": b"[]",
    "batch of a request": b'[{"jsonrpc":"2.0","id":54,"method":"session/list"}]',
    "batch of a notification": b'[{"jsonrpc":"2.0","method":"_tck/n"}]',
}
IDS: list[Json] = [7, -7, 0, 2**53 + 1, "abc", "17", "\U0001f409"]


def silent_frames(unknown_session: str) -> dict[str, bytes]:
    """Frames that are not answered."""
    return {
        "unknown notification": b'{"jsonrpc":"2.0","method":"nope"}',
        "private notification": b'{"jsonrpc":"2.0","method":"_tck/n","params":{"a":1}}',
        "dollar notification": b'{"jsonrpc":"2.0","method":"$/whatever","params":{}}',
        "cancel without params": b'{"jsonrpc":"2.0","method":"session/cancel"}',
        "cancel of a number": b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}',
        "cancel of an unknown session": (
            b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%b"}}'
            % unknown_session.encode()
        ),
        "answer to nothing": b'{"jsonrpc":"2.0","id":4711,"result":{}}',
        "answer with both": b'{"jsonrpc":"2.0","id":4711,"result":{},"error":{"code":1,"message":"x"}}',
        "answer with neither": b'{"jsonrpc":"2.0","id":4711}',
        "cancel request of nothing": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":'
        b'{"requestId":4711}}',
        "cancel request without id": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}',
        "cancel request of an object": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":'
        b'{"requestId":{}}}',
        "cancel request of null": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":'
        b'{"requestId":null}}',
    }


async def probes(stage: Stage) -> None:
    """All of it; what ends the agent costs a connection, and not the rest."""
    await stage.survive("probes", before_the_handshake(stage), begin=_nothing)
    await stage.survive("probes", _frames(stage), begin=_open)
    await stage.survive("probes", _requests(stage), begin=_open)
    await _params(stage)


async def _nothing(talk: AgentDriver) -> None:
    pass


async def _open(talk: AgentDriver) -> None:
    await talk.open({})
    await talk.quiet()  # whether it answers what it does not know: then its silence tells something


def _frames(stage: Stage) -> Iterator[SceneStep]:
    for name, line in {**BAD_FRAMES, **silent_frames(stage.unknown_session)}.items():
        yield _send(name, line)


def _send(name: str, line: bytes) -> SceneStep:
    async def play(talk: AgentDriver) -> None:
        first = talk.position
        talk.send(line + b"\n")
        try:
            await talk.quiet()
        finally:
            talk.mark(name, first)

    return SceneStep(name, play)


def call(name: str, method: str, params: object, request_id: object = None) -> SceneStep:
    """A request that any agent answers at once, in one way or another."""

    async def play(talk: AgentDriver) -> None:
        await talk.call(method, params, name=name, request_id=request_id, seconds=talk.brief)

    return SceneStep(name, play)


def _requests(stage: Stage) -> Iterator[SceneStep]:
    """Right and odd requests that need no session."""
    for request_id in IDS:
        yield call(f"id {request_id!r}", "session/list", {}, request_id)
    yield call("list, params absent", "session/list", None)
    yield call("list, params empty", "session/list", {})
    yield SceneStep("list, params null", _list_null)
    for name, method, params in unknown(stage):
        yield call(name, method, params)
    yield SceneStep("twice", _twice)
    yield call("initialize again", "initialize", initialize_params(stage.profile.version, {}))


async def _list_null(talk: AgentDriver) -> None:
    first = talk.position
    talk.send(b'{"jsonrpc":"2.0","id":61,"method":"session/list","params":null}\n')
    try:
        await talk.answer(61, since=first, seconds=talk.brief)
    finally:
        talk.mark("list, params null", first)


async def _twice(talk: AgentDriver) -> None:
    first = talk.position
    talk.send(b'{"jsonrpc":"2.0","id":9,"method":"session/list","params":{"cwd":"/nowhere"}}\n' * 2)
    await talk.quiet()
    talk.mark("twice", first)


async def _params(stage: Stage) -> None:
    """Wrong and odd params for a session that exists."""
    if stage.profile.blocked_by or stage.profile.version != 1:
        return
    folder = stage.project("probed")
    state: JsonObject = {}

    async def begin(talk: AgentDriver) -> None:
        await talk.open({})
        state.update(await talk.new_result(folder))
        talk.facts["session"] = state.get("sessionId")

    def late(name: str) -> SceneStep:
        async def play(talk: AgentDriver) -> None:
            every = {**bad_params(stage, folder, state), **lenient(stage, folder, state)}
            method, params = every[name]
            await talk.call(method, params, name=name, seconds=talk.brief)
            await talk.quiet()

        return SceneStep(name, play)

    # The names are the same for every session.
    first_setup = stage.profile.setup
    names = [*bad_params(stage, folder, first_setup), "after all", *lenient(stage, folder, first_setup)]
    steps = [call(name, "session/list", {}) if name == "after all" else late(name) for name in names]
    await stage.survive("probes", steps, begin=begin)
