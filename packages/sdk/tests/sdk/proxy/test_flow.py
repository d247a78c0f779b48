"""What passes a running proxy, byte for byte, and what must not slip through where there are hooks."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman import Proxy
from dragoman.schema.v1 import (
    AgentThoughtChunk,
    PromptRequest,
    SessionNotification,
    TextContent,
)
from tests.sdk.proxy.ends import (
    MARK,
    Ends,
    answer,
    chunk,
    heard_before_the_mark,
    line,
    note,
    prompt,
    request,
    unchanged,
    unchanged_later,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)

odd_values = st.recursive(
    st.one_of(
        st.none(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def odd_frames(draw: st.DrawFn) -> bytes:
    """Good messages as no SDK writes them: unknown members, odd spacing, any order, escapes or unicode."""
    text = draw(
        st.sampled_from(["é", "\u2028", "😀", "a\nb", "\\", '"session/prompt"', "fs/write_text_file"])
    )
    members = [
        ("jsonrpc", "2.0"),
        ("method", draw(st.sampled_from(["session/update", "_ext", "session/prompt", "fs/read_text_file"]))),
        (
            "params",
            {
                "sessionId": "s",
                "x": draw(odd_values),
                "prompt": [{"type": "text", "text": text}],
                "update": {"sessionUpdate": "of the future", "x": draw(odd_values)},
            },
        ),
        ("_trace", draw(odd_values)),
    ]
    members += draw(
        st.sampled_from([[], [("id", draw(st.integers(0, 10**12)))], [("id", draw(st.uuids()).hex)]])
    )
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]))
    whole = json.dumps(
        dict(draw(st.permutations(members))),
        ensure_ascii=draw(st.booleans()),
        separators=separators,
    )
    blank = draw(st.sampled_from(["", " ", "\t", "\r"]))
    return f"{blank}{whole}{blank}\n".encode()


@given(sent=st.lists(odd_frames(), min_size=1, max_size=12), judged=st.booleans())
@settings(max_examples=max(25, settings().max_examples // 10))
async def test_every_byte_passes_as_it_came(sent: list[bytes], judged: bool) -> None:
    # A client may use an id once at a time; a proxy that judges holds it to that.
    by_id = {json.loads(frame).get("id", number + 0.5): frame for number, frame in enumerate(sent)}
    stream = b"".join(by_id.values())
    proxy = unchanged(Proxy(), "session/prompt", "session/update") if judged else Proxy()
    async with Ends(proxy) as ends:
        for speaker, listener in ((ends.client, ends.agent), (ends.agent, ends.client)):
            speaker.say(stream, MARK)
            while listener.stream[-len(line(MARK)) :] != line(MARK):
                await listener.hear()
            passed = listener.stream[: -len(line(MARK))]
            assert hashlib.sha256(passed).digest() == hashlib.sha256(stream).digest()


async def test_an_async_hook_that_returns_its_message_changes_no_byte() -> None:
    proxy = Proxy()
    proxy.on("session/prompt")(unchanged_later)
    odd = line(prompt(1, "é")).replace(b"session/", rb"session\/").replace(b'"id":', b'"zz" :0.10,\t"id":')
    async with Ends(proxy) as ends:
        ends.client.say(odd)
        assert await ends.agent.hear() == odd


async def test_what_a_hook_changes_keeps_its_id_its_meta_and_what_nobody_knows() -> None:
    proxy = Proxy()

    @proxy.on("session/prompt")
    def add(request: PromptRequest) -> PromptRequest:
        return replace(request, prompt=[*request.prompt, TextContent(text="more")])

    asked = prompt("id-1", "hi")
    asked["params"] |= {"_meta": {"trace": 1.5}, "future": [1, {"a": None}]}
    asked["envelope"] = "member"
    async with Ends(proxy) as ends:
        ends.client.say(asked)
        heard = await ends.agent.hear_json()
    asked["params"]["prompt"].append({"type": "text", "text": "more"})
    assert heard == asked


@pytest.mark.parametrize("name", [rb"session\/prompt", rb"\u0073ession/prompt", rb"session\u002fprompt"])
async def test_an_escaped_name_does_not_slip_past_its_hook(name: bytes) -> None:
    proxy = Proxy()
    proxy.on("session/prompt")(lambda request: None)
    frame = line(prompt(1, "hi")).replace(b"session/prompt", name)
    async with Ends(proxy) as ends:
        ends.client.say(frame)
        assert (await ends.client.hear_json())["error"]["message"] == "Refused by a proxy"


async def test_nor_does_an_escaped_name_in_a_block_without_ids() -> None:
    proxy = Proxy()
    proxy.on("session/update")(lambda update: None)
    async with Ends(proxy) as ends:
        ends.agent.say(line(chunk("x")).replace(b"session/update", rb"session\/update"))
        assert await heard_before_the_mark(ends.agent, ends.client) == []


async def test_frames_around_a_hooked_one_stay_in_their_order() -> None:
    proxy = Proxy()

    @proxy.on("session/update")
    def hide_thoughts(update: SessionNotification) -> SessionNotification | None:
        return None if isinstance(update.update, AgentThoughtChunk) else update

    first, second, third = chunk("one"), note("_other"), chunk("two")
    async with Ends(proxy) as ends:
        ends.agent.say(first, chunk("hm", kind="agent_thought_chunk"), second, third)
        assert [await ends.client.hear_json() for _ in range(3)] == [first, second, third]


# What must not slip through where there are hooks.

SLIPPERY = {
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file"}]',
    "an id of the wrong type": b'{"jsonrpc":"2.0","id":1.5,"method":"fs/write_text_file"}',
    "no version": b'{"id":1,"method":"fs/write_text_file"}',
    "a member twice": b'{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","method":"_x"}',
    "two on a line": b'{"jsonrpc":"2.0","method":"_x"}{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file"}',
    "another encoding": '{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file"}'.encode("utf-16-be"),
}


@pytest.mark.parametrize("frame", SLIPPERY.values(), ids=SLIPPERY)
async def test_what_cannot_be_judged_is_refused_where_there_are_hooks(frame: bytes) -> None:
    proxy = unchanged(Proxy(), "fs/write_text_file")
    async with Ends(proxy) as ends:
        ends.agent.say(frame)
        assert (await ends.agent.hear_json())["error"]["code"] in (-32700, -32600)
        assert await heard_before_the_mark(ends.agent, ends.client) == []


@pytest.mark.parametrize("frame", SLIPPERY.values(), ids=SLIPPERY)
async def test_without_hooks_even_that_passes_untouched(frame: bytes) -> None:
    async with Ends(Proxy()) as ends:
        ends.agent.say(frame)
        assert await ends.client.hear() == line(frame)


async def test_an_id_in_use_cannot_smuggle_a_second_answer_past_a_hook() -> None:
    proxy = Proxy()
    proxy.on_result("fs/read_text_file")(lambda result: replace(result, content="…"))
    async with Ends(proxy) as ends:
        ends.agent.say(request(7, "fs/read_text_file", sessionId="s", path="/a"))
        ends.agent.say(request(7, "terminal/output", sessionId="s", terminalId="t"))
        assert "still in use" in (await ends.agent.hear_json())["error"]["message"]
        await ends.client.hear()
        ends.client.say(answer(7, {"content": "secret"}), answer(7, {"content": "secret"}))
        assert await ends.agent.hear_json() == answer(7, {"content": "…"})
        assert await heard_before_the_mark(ends.client, ends.agent) == []


async def test_an_error_that_its_sender_could_not_place_passes_the_guard() -> None:
    proxy = unchanged(Proxy(), "session/update")
    odd = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    async with Ends(proxy) as ends:
        ends.agent.say(odd)
        assert await ends.client.hear_json() == odd
