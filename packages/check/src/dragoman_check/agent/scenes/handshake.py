"""Scenes about the handshake: requests before it, other versions, and a client that sends nonsense."""

from __future__ import annotations

from dragoman.wire.envelope import JsonObject, as_object
from dragoman_check.agent.connection import AgentGone, Silence
from dragoman_check.agent.driver import AgentDriver, RequestRefused, initialize_params
from dragoman_check.agent.stage import SceneStep, Stage

BAD_VERSIONS: JsonObject = {
    "version missing": {},
    "version as a string": {"protocolVersion": "1"},
    "version with a fraction": {"protocolVersion": 1.5},
    "version below zero": {"protocolVersion": -1},
    "version too large": {"protocolVersion": 65536},
}
UNSUPPORTED_VERSION = -32022
MALFORMED = {"fs": [], "terminal": "yes", "session": 7, "auth": None}


def before_the_handshake(stage: Stage) -> list[SceneStep]:
    """Send requests on a connection without `initialize`."""

    def early(name: str, method: str, params: object) -> SceneStep:
        async def play(talk: AgentDriver) -> None:
            await talk.call(method, params, name=name, seconds=talk.brief)

        return SceneStep(name, play)

    new = {"cwd": str(stage.folder), "mcpServers": []}
    return [
        early("too early", "session/new", new),
        *(early(name, "initialize", params) for name, params in BAD_VERSIONS.items()),
    ]


async def versions(stage: Stage) -> None:
    """Try other versions, each on its own connection; and a client with invalid capabilities."""
    for version in (0, 2, 65535):
        # With the words of both versions, as a client that speaks both has to.
        both = {**initialize_params(1, {}), **initialize_params(2, {}), "protocolVersion": version}
        await _introduce(stage, f"version {version}", both)
    if stage.profile.version == 1:
        await _introduce(stage, "malformed", initialize_params(1, MALFORMED))


async def _introduce(stage: Stage, scene: str, params: JsonObject) -> None:
    try:
        async with stage.talk(scene) as talk:
            await talk.call("initialize", params, name="initialize")
            await talk.call("session/list", {}, name="list", seconds=talk.brief)
    except (Silence, AgentGone):
        pass  # told by the recording


async def first_meeting(stage: Stage) -> None:
    """Play the handshake, a session and one turn: learn who the agent is, and whether it can be tested at
    all.

    Raises `AgentGone` or `Silence` if there is no handshake.
    """
    stage.profile.version = stage.settings.protocol or 1
    try:
        await _meet(stage)
    except RequestRefused as refusal:
        if refusal.code != UNSUPPORTED_VERSION or stage.settings.protocol:
            raise
        stage.profile.version = 2
    if stage.profile.version == 2 and not stage.settings.protocol:
        stage.recordings.clear()  # of a language that it does not speak
        await _meet(stage)


async def _meet(stage: Stage) -> None:
    """Connect again in version 2 if the agent answers with it."""
    profile, folder = stage.profile, stage.project("hello")
    requested_version = profile.version
    async with stage.talk("hello", folder=folder) as talk:
        result = await talk.open({}, name="initialize")
        profile.info = as_object(result.get("agentInfo", result.get("info")))
        profile.can = as_object(result.get("agentCapabilities", result.get("capabilities")))
        methods = result.get("authMethods")
        profile.login_methods = methods if isinstance(methods, list) else []
        profile.version = result.get("protocolVersion")
        if profile.version == 2 and requested_version == 1:
            return
        try:
            await _first_turn(stage, talk)
        except (Silence, AgentGone):
            pass  # told by the recording; other scenes may go better
        talk.facts["exit"] = await talk.close_input()


async def _first_turn(stage: Stage, talk: AgentDriver) -> None:
    folder = str(talk.editor.folder)
    if stage.settings.login:
        await talk.login(stage.settings.login)
    answer = await talk.call("session/new", {"cwd": folder, "mcpServers": []}, name="new")
    if _wants_login(answer.message):
        stage.profile.blocked_by = "session/new"
        return
    stage.profile.setup = as_object(answer.message.get("result"))
    session = stage.profile.setup.get("sessionId")
    hello = stage.say("hello", talk.editor.folder)
    if not isinstance(session, str) or not hello:
        return
    try:
        turn_end = await talk.prompt(session, hello, name="hello")
    except Silence:
        return
    if _wants_login(turn_end.message):
        stage.profile.blocked_by = "session/prompt"


def _wants_login(message: JsonObject) -> bool:
    return as_object(message.get("error")).get("code") == -32000
