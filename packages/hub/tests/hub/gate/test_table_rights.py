"""Rights never grow: what a narrow token is shown, and what comes of what it does, is within its rights.

Every method of the gate's table is said by every narrower token, as raw JSON, to a hub in which somebody else
works. What is secret to the token is marked; none of it may be in anything that its client is told.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.engine.session_reach import reaches
from dragoman_hub.gate.admission import Admission, Grant, Scope
from dragoman_hub.gate.grants import grants_of
from dragoman_hub.gate.grants_store import Token, TokenStore
from dragoman_hub.gate.pairing import DeviceToken, Pairings
from dragoman_hub.gate.table import HUB, REQUESTS
from tests.hub.sessions.raw_agents import RawStage, eventually, raw_stage
from tests.hub.sessions.stage import Talker, text

SECRETS = ("title-secret", "folder-secret", "key-secret", "words-secret")
QUESTION = "may-i-edit"
HOUR = 3600.0


def narrow_tokens(elsewhere: str) -> dict[str, Grant]:
    """None of them may know of the session in which the test's secrets are."""

    def grant(*scopes: Scope, agents: tuple[str, ...] = (), roots: tuple[str, ...] = ()) -> Grant:
        return Grant("narrow", frozenset(scopes), agents, roots)

    every: tuple[Scope, ...] = ("observe", "prompt", "approve", "admin")
    return {
        "approve": grant("approve"),
        "nothing": grant(),
        "observes another agent": grant("observe", agents=("two",)),
        "observes another folder": grant("observe", roots=(elsewhere,)),
        "approves for another agent": grant("approve", agents=("two",)),
        "prompts in another folder": grant("prompt", roots=(elsewhere,)),
        "all for another agent": grant(*every, agents=("two",)),
        "all in another folder": grant(*every, roots=(elsewhere,)),
    }


@dataclass
class Scene:
    stage: RawStage
    store: TokenStore
    session: str
    question: str
    elsewhere: str


async def begun(stage: RawStage, owner: Talker, folder: Path) -> Scene:
    """The owner's session, in the middle of a turn, with a question, a title and a prompt that waits."""
    secret, elsewhere = folder / SECRETS[1], folder / "elsewhere"
    secret.mkdir()
    elsewhere.mkdir()
    session = await owner.new(str(secret))
    await owner.call("session/set_title", {"sessionId": session, "title": SECRETS[0]})
    owner.prompt(session, "go", key=SECRETS[2])
    owner.prompt(session, "later", key=f"{SECRETS[2]}-2")
    agent = stage.agents["me"]
    await eventually(lambda: agent.prompts)
    agent.tell(session, SECRETS[3])
    call = {"toolCallId": "t", "title": QUESTION}
    options = [{"optionId": "no", "name": "No", "kind": "reject_once"}]
    agent.ask("q", "session/request_permission", session, toolCall=call, options=options)
    await owner.asked()
    (asked,) = (await owner.call(f"{HUB}inbox"))["requests"]
    return Scene(stage, TokenStore(folder / "tokens.json"), session, asked["request"], str(elsewhere))


def params_of(method: str, scene: Scene) -> dict[str, Any]:
    """What a curious client says, which knows no more than the id of the session."""
    chosen = {"outcome": {"outcome": "selected", "optionId": "no"}}
    return {
        "sessionId": scene.session,
        "sessionIds": [scene.session],
        "cwd": scene.elsewhere,
        "mcpServers": [],
        "prompt": text("hello"),
        "key": "unknown",
        "request": scene.question,
        "result": chosen,
        "text": "secret",
        "title": "mine",
        "path": "/" if method.endswith("folders") else "a",
        "paths": ["a"],
        "message": "m",
        "identity": "i",
        "terminalId": "t",
        "pattern": "",
        "on": True,
        "agent": "two",
        "plan": "p",
        "id": "none",
        "modeId": "m",
        "configId": "c",
        "value": "v",
        "methodId": "m",
        "providerId": "p",
        "endpoint": "https://push.example/x",
        "keys": {"p256dh": "", "auth": ""},
    }


ALONE = {"initialize", f"{HUB}pair", f"{HUB}push/subscribe", f"{HUB}answer"}
"""What is said first or last, or of which more is asked below."""


@pytest.mark.bound(30)
@pytest.mark.parametrize("name", narrow_tokens(""))
async def test_no_method_shows_or_does_more_than_its_token_may(name: str, tmp_path: Path) -> None:
    async with raw_stage("me", "two") as (stage, owner):
        scene = await begun(stage, owner, tmp_path)
        grant = narrow_tokens(scene.elsewhere)[name]
        client = stage.client(grant, events=True, cursors=True, agent="two")
        answer = await client.answer(client.ask("initialize", {"protocolVersion": 1}, agent="two"))
        assert "result" in answer
        for method in REQUESTS:
            if method not in ALONE:
                await answered(scene, client, client.ask(method, params_of(method, scene)))
        await owner.call("session/set_title", {"sessionId": scene.session, "title": f"{SECRETS[0]}-2"})
        settled = await client.answer(client.ask(f"{HUB}answer", params_of(f"{HUB}answer", scene)))
        shown = "\n".join(line.decode() for line in client.raw)
        assert not [secret for secret in SECRETS if secret in shown], shown
        may_answer = name == "approve"
        assert (settled.get("result") == {"settled": True}) is may_answer
        assert (QUESTION in shown) is may_answer, "who answers sees the question, and nobody else does"
        theirs = [session for session in stage.hub.sessions.values() if session.id != scene.session]
        assert all(reaches(grant, session.state) for session in theirs)
        assert len(stage.agents["me"].prompts) == 1
        assert not stage.agents["me"].calls


async def answered(scene: Scene, client: Talker, request: int) -> None:
    """The agent that the token may use does what it is told meanwhile."""
    agent = scene.stage.agents["two"]

    def is_answered() -> bool:
        for call in agent.calls:
            agent.say(id=call["id"], result={})
        agent.calls.clear()
        if agent.prompts:
            agent.end_turn()
            agent.prompts.clear()
        return any(message.get("id") == request and "method" not in message for message in client.heard)

    await eventually(is_answered)


@pytest.mark.parametrize("asked_seconds", [None, 60.0, 10 * HOUR])
@pytest.mark.parametrize("name", narrow_tokens(""))
async def test_a_device_gets_no_more_than_the_token_that_paired_it_and_for_no_longer(
    name: str, asked_seconds: float | None, tmp_path: Path
) -> None:
    async with raw_stage("me", "two") as (stage, owner):
        scene = await begun(stage, owner, tmp_path)
        wanted, end = narrow_tokens(scene.elsewhere)[name], time.time() + HOUR
        rights: Any = {"scopes": wanted.scopes, "agents": wanted.agents, "roots": wanted.roots}
        scene.store.add("narrow", **rights, expires=end)
        grants = grants_of(scene.store.read(), time.time())
        (grant,) = grants.values()
        admission = Admission(grants, hosts=["here"])
        stage.hub.pairings = pairings = Pairings(admission, scene.store)
        client = stage.client(grant)
        await client.call("initialize", {"protocolVersion": 1}, agent="two")
        wishes: dict[str, Any] = {"tokenSeconds": asked_seconds} if asked_seconds else {}
        for scopes in (["observe"], ["approve"], ["prompt"], ["admin"], None):
            wishes |= {"scopes": scopes} if scopes else {}
            answer = await client.answer(client.ask(f"{HUB}pair", wishes))
            if "result" in answer:
                given = await pairings.exchange(answer["result"]["code"], device="phone", address="")
                assert isinstance(given, DeviceToken)
        devices = scene.store.read()[1:]
        assert bool(devices) is grant.may("admin")
        assert all(is_within(device, grant, end=end) for device in devices)


def is_within(token: Token, grant: Grant, *, end: float) -> bool:
    return (
        all(grant.may(scope) for scope in token.scopes)
        and (not grant.agents or token.agents == grant.agents)
        and (not grant.roots or token.roots == grant.roots)
        and token.expires is not None
        and token.expires <= end
    )


def test_a_rotated_token_pairs_for_no_longer_than_its_grace(tmp_path: Path) -> None:
    now = 1000.0
    store = TokenStore(tmp_path / "tokens.json", clock=lambda: now)
    store.add("owner")
    store.add("other", expires=now + 1)
    (before,) = store.read()[0].grants(now).values()
    store.rotate("owner", grace=60.0)
    (after,) = (grant for grant in store.read()[0].grants(now).values() if grant.token != before.token)
    for giver in (before, after):
        store.add_device(giver.token, device="phone", scopes=giver.scopes, giver=giver.token)
    ends = {token.name: token.expires for token in store.read()}
    assert (ends[before.token], ends[after.token]) == (now + 60.0, None)
