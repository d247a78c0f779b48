"""How messages are cut out of the stream: one agent takes all of it."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import PARSE, UNKNOWN, Talk, code, line, notification, prompt, request, same_id

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

ONE = b'{"jsonrpc":"2.0","id":1,"method":"_one"}'
TWO = b'{"jsonrpc":"2.0","id":2,"method":"_two"}'


@cases(
    {
        "FRM-01": ONE + b"\r\n" + TWO + b"\r\n",
        "FRM-02": b"\n\r\n  \n\t\t \r\n" + ONE + b"\n\n \n" + TWO + b"\n\n\n",
        "FRM-X1": b" \t " + ONE + b"  \t\n\r" + TWO + b" \r \n",
        "FRM-X2": b"\n" * 1_000_000 + ONE + b"\n" + b" " * 1_000_000 + TWO + b"\n",
    }
)
async def test_white_space_around_messages_means_nothing(shared: Talk, case: bytes) -> None:
    replies = await shared.replies(case)
    assert [(reply["id"], code(reply)) for reply in replies] == [(1, UNKNOWN), (2, UNKNOWN)]


@cases(
    {
        "FRM-08": [b"\0\0\0\0", b"\0" + ONE, ONE + b"\0"],
        "FRM-11": [
            b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/\xff","mcpServers":[]}}'
        ],
        "FRM-13": [ONE.decode().encode("utf-16"), ONE.decode().encode("utf-16-be")],
        "FRM-19": [ONE + TWO, ONE + b" " + TWO, ONE + b"," + TWO],
        "FRM-X3": [b"\xef\xbb\xbf" + ONE],
        "FRM-X4": [
            b'{"jsonrpc":"2.0","id":1,"method":"%b","params":"%b"}' % place
            for text in (b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"caf\xe9", b"\x80")
            for place in ((text, b""), (b"_x", text))
        ],
        "FRM-X5": [ONE.decode().encode("utf-32"), ONE.decode().encode("utf-16-le")],
        "FRM-X6": [ONE + b"\r" + TWO],
        "FRM-X7": [b"\x1e" + ONE, b"data: " + ONE, b"\x1b[32m" + ONE, b")]}'," + ONE],
    }
)
async def test_a_line_that_is_no_text_is_refused_and_nothing_of_it_runs(
    shared: Talk, case: list[bytes]
) -> None:
    for text in case:
        replies = await shared.replies(text + b"\n")
        assert [(reply["id"], code(reply)) for reply in replies] == [(None, PARSE)], text


@fault("FRM-04")
async def test_a_message_in_one_byte_writes_is_answered_once(shared: Talk) -> None:
    for byte in ONE:
        await shared.peer.send(bytes([byte]))
    assert [(reply["id"], code(reply)) for reply in await shared.replies(b"\n")] == [(1, UNKNOWN)]


@fault("FRM-05")
async def test_a_thousand_requests_in_one_write_have_a_thousand_answers(shared: Talk) -> None:
    replies = await shared.replies(b"".join(line(request(n, "_many")) for n in range(1000)))
    assert [reply["id"] for reply in replies] == list(range(1000))


@fault("FRM-10")
async def test_random_bytes_are_refused_line_by_line(shared: Talk) -> None:
    noise = random.Random(10).randbytes(64 * 1024) + b"\n"
    replies = await shared.replies(noise)
    assert len(replies) == sum(1 for text in noise.split(b"\n") if text.strip())
    assert {(reply["id"], code(reply)) for reply in replies} == {(None, PARSE)}


@fault("FRM-14")
async def test_a_message_of_one_mebibyte_comes_back_whole(shared: Talk) -> None:
    await shared.echoes("0123456789abcdef" * 65536)


@fault("FRM-17")
async def test_a_message_may_be_held_open_for_a_while(shared: Talk) -> None:
    await shared.peer.send(ONE[:20])
    await asyncio.sleep(0.7)  # this is the fault: nothing comes for a while
    assert [reply["id"] for reply in await shared.replies(ONE[20:] + b"\n")] == [1]


@fault("FRM-20")
async def test_line_breaks_of_other_worlds_are_text(shared: Talk) -> None:
    # JSON forbids raw VT and FF inside strings, so these two come escaped; the others come as they are.
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1eh"
    assert b"\xe2\x80\xa8" in line(text)
    await shared.echoes(text)


@fault("FRM-X8")
async def test_raw_vertical_tab_and_form_feed_break_no_line(shared: Talk) -> None:
    replies = await shared.replies(b'{"jsonrpc":"2.0","id":1,"method":"_\x0b\x0c"}\n')
    assert [(reply["id"], code(reply)) for reply in replies] == [(None, PARSE)]


@fault("FRM-X9")
async def test_a_character_may_be_cut_between_two_writes(shared: Talk) -> None:
    text = line(prompt("cut", shared.session, "aé€😀z"))
    since = len(shared.heard)
    for at in range(0, len(text), 3):
        await shared.peer.send(text[at : at + 3])
    await shared.answer_to("cut", since=since)
    assert shared.words(since=since) == "You said: aé€😀z"


@fault("FRM-X10")
async def test_a_message_spread_over_lines_is_refused_line_by_line(shared: Talk) -> None:
    replies = await shared.replies(b'{\n"jsonrpc":"2.0",\n"id":1,\n"method":"_one"\n}\n')
    assert [(reply["id"], code(reply)) for reply in replies] == [(None, PARSE)] * 5


@fault("FRM-X11")
async def test_headers_of_another_framing_are_refused_and_their_message_is_not(shared: Talk) -> None:
    replies = await shared.replies(b"Content-Length: %d\r\n\r\n" % len(ONE) + ONE + b"\n")
    assert [(reply["id"], code(reply)) for reply in replies] == [(None, PARSE), (1, UNKNOWN)]


@fault("FRM-X12")
async def test_bad_lines_between_good_ones_cost_only_themselves(shared: Talk) -> None:
    block = b"".join(line(request(n, "_good")) + b"bad line\n" for n in range(200))
    replies = await shared.replies(block)
    expected = [pair for n in range(200) for pair in ((n, UNKNOWN), (None, PARSE))]
    assert [(reply["id"], code(reply)) for reply in replies] == expected


@fault("FRM-X13")
async def test_no_size_around_a_pipe_or_a_read_is_special(shared: Talk) -> None:
    for size in (4095, 4096, 4097, 65535, 65536, 65537, 131072, 262143):
        frame = line(request(size, "_size", {"pad": ""}))
        frame = frame.replace(b'""', b'"%b"' % (b"x" * (size - len(frame))))
        assert len(frame) == size
        assert [reply["id"] for reply in await shared.replies(frame)] == [size]


@fault("FRM-X14")
async def test_notifications_in_one_write_are_taken_in_silence(shared: Talk) -> None:
    assert await shared.replies(line(notification("_note", {"n": 1})) * 2000) == []


@fault("FRM-X15")
async def test_answers_keep_their_ids_however_the_stream_is_cut(shared: Talk) -> None:
    stream = b"".join(line(request(f"é{n}", "_cut")) for n in range(50))
    since, cut = len(shared.heard), random.Random(15)
    while stream:
        size = cut.randint(1, 300)
        await shared.peer.send(stream[:size])
        stream = stream[size:]
    for n in range(50):
        assert same_id((await shared.answer_to(f"é{n}", since=since))["id"], f"é{n}")
