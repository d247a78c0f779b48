"""Scenes about frames: versions, what is no request, what has the wrong shape, how bytes are cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.requirements.talk import Talk, prompting

if TYPE_CHECKING:
    from tests.requirements.stage import Stage

MEGABYTE = 1_000_000
NOBODY = "00000000-0000-4000-8000-000000000000"
SECRET = "hunter2-must-not-come-back"

BAD_FRAMES: dict[str, bytes] = {
    "no version": b'{"id":51,"method":"session/list","params":{}}',
    "other version": b'{"jsonrpc":"1.0","id":52,"method":"session/list","params":{}}',
    "no JSON": b"{",
    "not UTF-8": b'{"jsonrpc":"2.0","id":50,"method":"\xff"}',
    "a number": b"42",
    "a string": b'"x"',
    "empty object": b"{}",
    "method is a number": b'{"jsonrpc":"2.0","id":50,"method":5}',
    "empty batch": b"[]",
    "batch of a request": b'[{"jsonrpc":"2.0","id":50,"method":"session/list"}]',
    "batch of a notification": b'[{"jsonrpc":"2.0","method":"_tck/n"}]',
}
SILENT_FRAMES: dict[str, bytes] = {
    "unknown notification": b'{"jsonrpc":"2.0","method":"nope"}',
    "private notification": b'{"jsonrpc":"2.0","method":"_tck/n","params":{"a":1}}',
    "dollar notification": b'{"jsonrpc":"2.0","method":"$/whatever","params":{}}',
    "cancel without params": b'{"jsonrpc":"2.0","method":"session/cancel"}',
    "cancel of a number": b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}',
    "cancel of an unknown session": b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%b"}}'
    % NOBODY.encode(),
    "answer to nothing": b'{"jsonrpc":"2.0","id":4711,"result":{}}',
    "answer with both": b'{"jsonrpc":"2.0","id":4711,"result":{},"error":{"code":1,"message":"x"}}',
    "answer with neither": b'{"jsonrpc":"2.0","id":4711}',
    "cancel request of nothing": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4711}}',
    "cancel request without id": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}',
    "cancel request of an object": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}',
    "cancel request of null": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":null}}',
}
IDS: list[Any] = [7, -7, 0, 2**53 + 1, "abc", "17", "\U0001f409"]
BAD_VERSIONS: dict[str, Any] = {
    "version missing": {},
    "version as a string": {"protocolVersion": "1"},
    "version with a fraction": {"protocolVersion": 1.5},
    "version below zero": {"protocolVersion": -1},
    "version too large": {"protocolVersion": 65536},
}
MALFORMED = {"fs": [], "terminal": "yes", "session": 7, "auth": None}
STDIO = {"name": "a", "command": "/bin/true", "args": [], "env": []}
BROKEN_STDIO = {"name": "a", "command": "/bin/true", "args": 5, "env": [{"name": "T", "value": SECRET}]}


def bad_params(folder: str, session: str) -> dict[str, tuple[str, Any]]:
    """Params of the wrong shape, by what is wrong with them."""
    new: dict[str, Any] = {"cwd": folder, "mcpServers": []}
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
        "roots as text": ("session/new", {**new, "additionalDirectories": "/tmp"}),
        "roots with a number": ("session/new", {**new, "additionalDirectories": [5]}),
        "roots with nothing": ("session/new", {**new, "additionalDirectories": [""]}),
        "roots with a relative one": ("session/new", {**new, "additionalDirectories": ["src"]}),
        "prompt without session": ("session/prompt", {"prompt": []}),
        "prompt without prompt": ("session/prompt", {"sessionId": session}),
        "prompt as text": ("session/prompt", {"sessionId": session, "prompt": "hello"}),
        "block of no kind": ("session/prompt", prompting(session, {"text": "x"})),
        "block of an unknown kind": ("session/prompt", prompting(session, {"type": "smell", "text": "x"})),
        "text block without text": ("session/prompt", prompting(session, {"type": "text"})),
        "mode without mode": ("session/set_mode", {"sessionId": session}),
        "unknown mode": ("session/set_mode", {"sessionId": session, "modeId": "nobody's"}),
        "unknown option": (
            "session/set_config_option",
            {"sessionId": session, "configId": "nobody's", "value": "x"},
        ),
        "illegal value": (
            "session/set_config_option",
            {"sessionId": session, "configId": "mode", "value": "nobody's"},
        ),
        "bad cursor": ("session/list", {"cursor": "garbage"}),
        "list of a relative folder": ("session/list", {"cwd": "src"}),
        "load without session": ("session/load", {"cwd": folder, "mcpServers": []}),
        "unknown login": ("authenticate", {"methodId": "nobody's"}),
    }


async def probes(stage: Stage) -> None:
    """One connection that is sent everything wrong, with something right after each."""
    folder = str(stage.project("probed"))
    async with stage.connection("probes", ends=False) as talk:
        await talk.call("session/new", {"cwd": folder, "mcpServers": []}, name="too early")
        for name, params in BAD_VERSIONS.items():
            await talk.call("initialize", params, name=name)
        await talk.open()
        session = await talk.new(folder)
        facts = talk.scene.facts
        facts["session"] = session
        for name, line in {**BAD_FRAMES, **SILENT_FRAMES}.items():
            await talk.send(line + b"\n")
            facts[name] = await talk.quiet()
        for request_id in IDS:
            await talk.call("session/list", {}, id=request_id, name=f"id {request_id!r}")
        for name, (method, params) in bad_params(folder, session).items():
            await talk.call(method, params, name=name)
            await talk.quiet()
        await talk.call("session/list", {}, name="after all")
        await _unknown(talk, folder)
        await _lenient(talk, folder, session)
        await talk.call("authenticate", {"methodId": "server"}, name="login")
        twice = b'{"jsonrpc":"2.0","id":9,"method":"session/list"}\n' * 2
        await talk.send(twice)
        for _ in range(2):
            await talk.until(lambda frame: "method" not in frame and frame.get("id") == 9)
        await talk.open(name="initialize again")


async def _unknown(talk: Talk, folder: str) -> None:
    """Methods and sessions that nobody knows."""
    for method in ("nope/nope", "$/foo", "_tck/x", "session/cancel", "logout"):
        params = {"sessionId": NOBODY} if method == "session/cancel" else {}
        await talk.call(method, params, name=f"request {method}")
    setup = {"sessionId": NOBODY, "cwd": folder, "mcpServers": []}
    await talk.call("session/load", setup, name="load of an unknown session")
    await talk.call("session/resume", setup, name="resume of an unknown session")
    await talk.call("session/close", {"sessionId": NOBODY}, name="close of an unknown session")
    await talk.call("session/delete", {"sessionId": NOBODY}, name="delete of an unknown session")
    await talk.prompt(NOBODY, "hello", name="prompt of an unknown session")
    mode = {"sessionId": NOBODY, "modeId": "ask"}
    await talk.call("session/set_mode", mode, name="mode of an unknown session")
    option = {"sessionId": NOBODY, "configId": "mode", "value": "ask"}
    await talk.call("session/set_config_option", option, name="option of an unknown session")


async def _lenient(talk: Talk, folder: str, session: str) -> None:
    """What looks odd and must be taken."""
    for name, params in (("absent", None), ("empty", {})):
        await talk.call("session/list", params, name=f"list, params {name}")
    await talk.send(b'{"jsonrpc":"2.0","id":61,"method":"session/list","params":null}\n')
    await talk.answer(61, "list, params null")
    hostile = {"cwd": "/etc", "sessionId": "x", "prompt": [], "mcpServers": 7}
    new = {"cwd": folder, "mcpServers": []}
    await talk.call("session/new", {**new, "_meta": hostile}, name="new with hostile meta")
    await talk.call("session/new", {**new, "_meta": "x"}, name="new with meta as text")
    await talk.call("session/new", {**new, "_meta": None}, name="new with meta null")
    await talk.call("session/new", {**new, "bogus": 1}, name="new with bogus")
    await talk.call("session/new", {**new, "mcpServers": None}, name="new with null servers")
    await talk.call("session/new", {**new, "additionalDirectories": None}, name="new with null roots")
    await talk.call("session/list", {"cwd": 7}, name="list with a bad filter")
    close = {"sessionId": session, "_meta": {"traceparent": "00-0-0-00"}}
    await talk.call("session/close", close, name="close")
    await talk.prompt(session, "hello", name="prompt after close")


async def streams(stage: Stage) -> None:
    """How bytes are cut does not matter."""
    async with stage.connection("streams") as talk:
        await talk.open()
        await talk.send(b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}\r\n')
        await talk.answer(1, "CRLF")
        await talk.send(b"\n\r\n  \n")
        talk.scene.facts["blank lines"] = await talk.quiet()
        await talk.send(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}\n')
        talk.scene.facts["BOM"] = await talk.quiet()
        request = {"jsonrpc": "2.0", "id": "\U0001f409é", "method": "session/list", "params": {}}
        line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        for at in range(len(line)):
            await talk.peer.send(line[at : at + 1])
        await talk.answer("\U0001f409é", "dribbled")
        both = [b'{"jsonrpc":"2.0","id":%d,"method":"session/list"}' % number for number in (3, 4)]
        await talk.send(b"\n".join(both) + b"\n")
        await talk.answer(3, "first of two")
        await talk.answer(4, "second of two")
        for size in (1, 10, 50):
            await _send_long(talk, size)
        await talk.peer.send(b'{"jsonrpc":"2.0","id":5,"method":"session/list"}')
        talk.scene.facts["exit"] = await talk.close()


async def _send_long(talk: Talk, size: int) -> None:
    """A long line is not kept: it is nothing but padding."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"session/list","params":{"_meta":{"pad":"' % (100 + size)
    await talk.peer.send(head + b"x" * size * MEGABYTE + b'"}}}\n', seconds=40)
    found = await talk.until(lambda frame: "method" not in frame and frame.get("id") in (100 + size, None))
    talk.scene.facts[f"{size} MB"] = found
    await talk.quiet()


async def versions(stage: Stage) -> None:
    """Other versions than ours, each on a connection of its own."""
    for version in (0, 2, 65535):
        async with stage.connection(f"version {version}", ends=False) as talk:
            params = {"protocolVersion": version, "clientCapabilities": MALFORMED}
            await talk.call("initialize", params, name="initialize")
            await talk.call("session/list", {}, name="list")


async def gate(stage: Stage) -> None:
    """An agent that knows no model yet."""
    async with stage.connection("gate", ends=False, has_model=False) as talk:
        await talk.open()
        session = await talk.new(stage.project("gated"))
        await talk.prompt(session, "hello", name="prompt")
        await talk.call("authenticate", {"methodId": "openai"}, name="login")


SCENES = [gate, probes, streams, versions]
