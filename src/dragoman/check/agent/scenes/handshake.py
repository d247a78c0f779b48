"""Scenes about the handshake: what comes before it, other versions, and a client whose words are nonsense."""

from __future__ import annotations

from typing import Any

from dragoman.check.agent.connection import Gone, Silence
from dragoman.check.agent.stage import Stage, Step
from dragoman.check.agent.talk import Talk

BAD_VERSIONS: dict[str, Any] = {
    "version missing": {},
    "version as a string": {"protocolVersion": "1"},
    "version with a fraction": {"protocolVersion": 1.5},
    "version below zero": {"protocolVersion": -1},
    "version too large": {"protocolVersion": 65536},
}
MALFORMED = {"fs": [], "terminal": "yes", "session": 7, "auth": None}


def before_the_handshake(stage: Stage) -> list[Step]:
    """What is tried on a connection to which nobody was introduced."""

    def early(name: str, method: str, params: Any) -> Step:
        async def play(talk: Talk) -> None:
            await talk.call(method, params, name=name, seconds=talk.brief)

        return Step(name, play)

    new = {"cwd": str(stage.folder), "mcpServers": []}
    return [
        early("too early", "session/new", new),
        *(early(name, "initialize", params) for name, params in BAD_VERSIONS.items()),
    ]


async def versions(stage: Stage) -> None:
    """Other versions than ours, each on a connection of its own."""
    for version in (0, 2, 65535):
        try:
            async with stage.talk(f"version {version}") as talk:
                params = {"protocolVersion": version, "clientCapabilities": MALFORMED}
                await talk.call("initialize", params, name="initialize")
                await talk.call("session/list", {}, name="list", seconds=talk.brief)
        except (Silence, Gone):
            pass  # told by the recording


async def first_meeting(stage: Stage) -> None:
    """The handshake, a session and one turn: who the agent is, and whether it can be examined at all.

    Raises `Gone` or `Silence` if there is no handshake.
    """
    profile, folder = stage.profile, stage.project("hello")
    async with stage.talk("hello", folder=folder) as talk:
        found = await talk.open({}, name="initialize")
        profile.info = _object(found.get("agentInfo", found.get("info")))
        profile.can = _object(found.get("agentCapabilities", found.get("capabilities")))
        methods = found.get("authMethods")
        profile.login_methods = methods if isinstance(methods, list) else []
        profile.version = found.get("protocolVersion")
        try:
            await _first_turn(stage, talk)
        except (Silence, Gone):
            pass  # told by the recording; other scenes may go better
        talk.facts["exit"] = await talk.close_input()


async def _first_turn(stage: Stage, talk: Talk) -> None:
    folder = str(talk.editor.folder)
    if stage.settings.login:
        await talk.call("authenticate", {"methodId": stage.settings.login}, name="login")
    made = await talk.call("session/new", {"cwd": folder, "mcpServers": []}, name="new")
    if _wants_login(made.message):
        stage.profile.blocked = "session/new"
        return
    stage.profile.setup = _object(made.message.get("result"))
    session = stage.profile.setup.get("sessionId")
    hello = stage.say("hello", talk.editor.folder)
    if not isinstance(session, str) or not hello:
        return
    if _wants_login((await talk.prompt(session, hello, name="hello")).message):
        stage.profile.blocked = "session/prompt"


def _wants_login(message: dict[str, Any]) -> bool:
    return _object(message.get("error")).get("code") == -32000


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
