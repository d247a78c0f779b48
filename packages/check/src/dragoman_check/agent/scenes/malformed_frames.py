"""Sends every kind of malformed frame over one connection, and a correct one after each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.driver import AgentDriver, initialize_params, prompt_params
from dragoman_check.agent.scenes.handshake import before_the_handshake
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
    """Send frames without an answer."""
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
    """Send all of them; a frame that ends the agent costs one connection."""
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
    """Send a request that any agent answers at once."""

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


# Requests with params of the wrong shape, with unusual params, and with unknown methods.

SECRET = "hunter2-must-not-come-back"  # noqa: S105  # nobody's: it is looked for in what comes back
STDIO = {"name": "a", "command": "/bin/true", "args": [], "env": []}
BROKEN_STDIO = {"name": "a", "command": "/bin/true", "args": 5, "env": [{"name": "T", "value": SECRET}]}

Probe = tuple[str, Json]
"""A method and its params."""


def bad_params(stage: Stage, folder: Path, setup: JsonObject) -> dict[str, Probe]:
    """Send params of the wrong shape, by their mistake, for the methods that the agent advertised."""
    session = str(setup.get("sessionId"))
    probes = {**_bad_new(str(folder)), **_bad_prompts(session), **_bad_settings(session, setup)}
    probes["unknown login"] = ("authenticate", {"methodId": "nobody's"})
    if stage.profile.has("sessionCapabilities", "list"):
        probes["bad cursor"] = ("session/list", {"cursor": "garbage"})
        probes["list of a relative folder"] = ("session/list", {"cwd": "src"})
    if stage.profile.has("loadSession"):
        probes["load without session"] = ("session/load", {"cwd": str(folder), "mcpServers": []})
    if stage.profile.has("sessionCapabilities", "additionalDirectories"):
        probes |= _bad_roots(str(folder))
    return probes


def _bad_new(folder: str) -> dict[str, Probe]:
    new: JsonObject = {"cwd": folder, "mcpServers": []}
    unknown_kind = {**STDIO, "type": "ws"}
    return {
        "new without cwd": ("session/new", {"mcpServers": []}),
        "new without servers": ("session/new", {"cwd": folder}),
        "new with a number as cwd": ("session/new", {**new, "cwd": 5}),
        "new with an array": ("session/new", [folder, []]),
        "new without params": ("session/new", None),
        "new with a relative cwd": ("session/new", {**new, "cwd": "src"}),
        "new with a broken server": ("session/new", {**new, "mcpServers": [{"name": "a"}, STDIO]}),
        "new with a secret": ("session/new", {**new, "mcpServers": [BROKEN_STDIO]}),
        "new with an unknown transport": ("session/new", {**new, "mcpServers": [unknown_kind]}),
        "new with servers as text": ("session/new", {**new, "mcpServers": "none"}),
    }


def _bad_roots(folder: str) -> dict[str, Probe]:
    new: JsonObject = {"cwd": folder, "mcpServers": []}
    return {
        "roots as text": ("session/new", {**new, "additionalDirectories": folder}),
        "roots with a number": ("session/new", {**new, "additionalDirectories": [5]}),
        "roots with nothing": ("session/new", {**new, "additionalDirectories": [""]}),
        "roots with a relative one": ("session/new", {**new, "additionalDirectories": ["src"]}),
    }


def _bad_prompts(session: str) -> dict[str, Probe]:
    return {
        "prompt without session": ("session/prompt", {"prompt": []}),
        "prompt without prompt": ("session/prompt", {"sessionId": session}),
        "prompt as text": ("session/prompt", {"sessionId": session, "prompt": "hello"}),
        "block of no kind": ("session/prompt", prompt_params(session, {"text": "x"})),
        "block of an unknown kind": (
            "session/prompt",
            prompt_params(session, {"type": "smell", "text": "x"}),
        ),
        "text block without text": ("session/prompt", prompt_params(session, {"type": "text"})),
    }


def _bad_settings(session: str, setup: JsonObject) -> dict[str, Probe]:
    wrong = {"sessionId": session, "modeId": "nobody's"}
    option = {"sessionId": session, "configId": "nobody's", "value": "x"}
    probes: dict[str, Probe] = {
        "unknown mode" if setup.get("modes") else "mode without modes": ("session/set_mode", wrong)
    }
    if setup.get("modes"):
        probes["mode without mode"] = ("session/set_mode", {"sessionId": session})
    if options := setup.get("configOptions"):
        first = options[0] if isinstance(options, list) and isinstance(options[0], dict) else {}
        illegal = {**option, "configId": first.get("id"), "value": "nobody's"}
        probes["unknown option"] = ("session/set_config_option", option)
        probes["illegal value"] = ("session/set_config_option", illegal)
    return probes


def unknown(stage: Stage) -> Iterator[tuple[str, str, Json]]:
    """Send unknown methods and sessions."""
    unknown_session = {"sessionId": stage.unknown_session}
    for method in ("nope/nope", "$/foo", "_tck/x"):
        yield f"request {method}", method, {}
    yield "request session/cancel", "session/cancel", unknown_session
    if not stage.profile.has("auth", "logout"):  # who can, does: and somebody would be logged out
        yield "request logout", "logout", {}
    setup = {**unknown_session, "cwd": str(stage.folder), "mcpServers": []}
    if stage.profile.version == 1:
        yield "load of an unknown session", "session/load", setup
        yield "mode of an unknown session", "session/set_mode", {**unknown_session, "modeId": "ask"}
    yield "resume of an unknown session", "session/resume", setup
    yield "close of an unknown session", "session/close", unknown_session
    yield "delete of an unknown session", "session/delete", unknown_session
    yield "prompt of an unknown session", "session/prompt", prompt_params(stage.unknown_session, "hello")
    if stage.profile.version == 1 or stage.profile.setup.get("configOptions"):
        option = {"type": "id", "configId": "mode", "value": "ask"}
        yield "option of an unknown session", "session/set_config_option", {**unknown_session, **option}


def lenient(stage: Stage, folder: Path, setup: JsonObject) -> dict[str, Probe]:
    """Send unusual params that an agent must accept; at the end close the session, if possible."""
    session = str(setup.get("sessionId"))
    hostile = {"cwd": "/etc", "sessionId": "x", "prompt": [], "mcpServers": 7}
    new = {"cwd": str(folder), "mcpServers": []}
    probes: dict[str, Probe] = {
        "new with hostile meta": ("session/new", {**new, "_meta": hostile}),
        "new with meta as text": ("session/new", {**new, "_meta": "x"}),
        "new with meta null": ("session/new", {**new, "_meta": None}),
        "new with bogus": ("session/new", {**new, "bogus": 1}),
        "new with null servers": ("session/new", {**new, "mcpServers": None}),
        "new with null roots": ("session/new", {**new, "additionalDirectories": None}),
    }
    if stage.profile.has("sessionCapabilities", "list"):
        probes["list with a bad filter"] = ("session/list", {"cwd": 7})
    if stage.profile.has("sessionCapabilities", "close"):
        close = {"sessionId": session, "_meta": {"traceparent": "00-0-0-00"}}
        probes["close"] = ("session/close", close)
        probes["prompt after close"] = ("session/prompt", prompt_params(session, "hello"))
    return probes
