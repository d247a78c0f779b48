"""What a proxy's author declares, and what is refused before anything runs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dragoman import Agent, Proxy, Turn, connect, serving
from dragoman.errors import LocalMistake
from dragoman.schema.v1 import AgentMessageChunk, PromptRequest, SessionNotification, TextContent
from dragoman.transport.memory import memory_pair
from tests.every import every
from tests.sdk.proxy.ends import Ends, prompt


def echo() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


async def said(proxy: Proxy, text: str) -> list[str]:
    """What a client hears through a proxy that stands before its own agent."""
    ours, theirs = memory_pair()
    async with serving(proxy, theirs), connect(ours) as handle:
        session = await handle.new_session(cwd="/tmp")
        return [
            update.content.text
            async for update in session.prompt(text)
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]


async def test_a_proxy_without_hooks_is_not_noticed() -> None:
    assert await said(Proxy(echo()), "hi") == ["You said: hi"]


async def test_hooks_change_what_passes_in_both_directions() -> None:
    proxy = Proxy(echo())

    @proxy.on("session/prompt")
    def add_rules(request: PromptRequest) -> PromptRequest:
        return replace(request, prompt=[TextContent(text="Be kind. "), *request.prompt])

    @proxy.on("session/update")
    async def shout(note: SessionNotification) -> SessionNotification:
        assert isinstance(note.update, AgentMessageChunk)
        assert isinstance(note.update.content, TextContent)
        louder = TextContent(text=note.update.content.text.upper())
        return replace(note, update=replace(note.update, content=louder))

    assert await said(proxy, "hi") == ["YOU SAID: BE KIND. HI"]


async def test_one_proxy_serves_many_conversations() -> None:
    proxy = Proxy(echo())
    assert await said(proxy, "one") == ["You said: one"]
    assert await said(proxy, "two") == ["You said: two"]
    assert proxy.running == []


async def test_a_proxy_may_stand_before_a_proxy() -> None:
    inner, outer = Proxy(echo()), None
    outer = Proxy(inner)
    for proxy, word in ((inner, "in "), (outer, "out ")):

        @proxy.on("session/prompt")
        def add(request: PromptRequest, word: str = word) -> PromptRequest:
            return replace(request, prompt=[TextContent(text=word), *request.prompt])

    assert await said(outer, "hi") == ["You said: in out hi"]


@every(
    ("method", "why"),
    [
        ("mcp/message", "goes both ways"),
        ("session/promt", "is not in the protocol"),
        ("_mine/own", "is not in the protocol"),
        ("$/cancel_request", "goes both ways"),
    ],
)
def test_a_name_that_does_not_tell_its_direction_needs_one(method: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Proxy().on(method)


def test_a_direction_that_a_method_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="does not go to the client"):
        Proxy().on("session/prompt", direction="to_client")


@pytest.mark.parametrize("method", ["$/cancel_request", "proxy/successor", "proxy/initialize"])
def test_what_is_the_proxys_own_business_has_no_hooks(method: str) -> None:
    with pytest.raises(ValueError, match="own business"):
        Proxy().on(method, direction="to_agent")


def test_a_method_has_one_hook() -> None:
    proxy = Proxy()
    proxy.on("session/prompt")(lambda request: request)
    with pytest.raises(ValueError, match="already has a hook"):
        proxy.on("session/prompt")(lambda request: request)
    proxy.on_result("session/prompt")(lambda result: result)


def test_a_notification_has_no_result_to_look_at() -> None:
    with pytest.raises(ValueError, match="has no result"):
        Proxy().on_result("session/update")


async def test_outside_of_hooks_a_proxy_speaks_only_when_one_conversation_runs() -> None:
    proxy = Proxy()
    with pytest.raises(LocalMistake, match="0 conversations"):
        _ = proxy.to_agent
    async with Ends(proxy) as ends:
        proxy.to_client.notify("_hello")
        assert (await ends.client.hear_json())["method"] == "_hello"
        async with Ends(proxy):
            with pytest.raises(LocalMistake, match="2 conversations"):
                _ = proxy.to_client


async def test_inside_a_hook_a_proxy_speaks_in_the_conversation_of_its_message() -> None:
    proxy = Proxy()

    @proxy.on("session/prompt")
    async def tell(request: PromptRequest) -> PromptRequest:
        proxy.to_client.notify("_seen", {"session": request.session_id})
        return request

    async with Ends(proxy) as one, Ends(proxy) as two:
        two.client.say(prompt(1, "hi", session="second"))
        one.client.say(prompt(1, "hi", session="first"))
        assert (await one.client.hear_json())["params"] == {"session": "first"}
        assert (await two.client.hear_json())["params"] == {"session": "second"}
