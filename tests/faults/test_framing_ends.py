"""The first bytes, the last bytes, and lines without end: each needs an agent of its own."""

from __future__ import annotations

import sys

import pytest

from tests.faults.cases import fault
from tests.faults.talk import INVALID, PARSE, UNKNOWN, code, line, opening, read, request, starting
from tests.faults.trial_agents import Command, forked
from tests.faults.watch import MEBIBYTE, forget_peak, memory, peak

pytestmark = pytest.mark.bound(60)

INITIALIZE = line(request("i", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
PIECE = b"x" * MEBIBYTE


@fault("FRM-07")
async def test_a_byte_order_mark_before_the_first_message_is_no_part_of_it(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        await talk.peer.send(b"\xef\xbb\xbf" + INITIALIZE)
        assert (await talk.answer_to("i"))["result"]["protocolVersion"] == 1


@fault("FRM-X16")
async def test_the_first_line_may_be_garbage(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        await talk.peer.send(b"npm warn config global\n\xff\xfe\n" + INITIALIZE)
        assert (await talk.answer_to("i"))["result"]["protocolVersion"] == 1
        assert [code(message) for message in talk.heard[:-1]] == [PARSE, PARSE]


@fault("FRM-X17")
async def test_the_last_message_needs_no_newline(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        await talk.peer.send(INITIALIZE + line(request(1, "_last"))[:-1])
        talk.peer.close_stdin()
        answers = [read(text) for text in await talk.peer.read_rest()]
        assert [(answer["id"], code(answer)) for answer in answers] == [("i", None), (1, UNKNOWN)]
        assert await talk.peer.wait() == 0


@fault("FRM-X18")
async def test_a_message_cut_by_the_end_of_input_is_not_run(agent: Command) -> None:
    async with starting(forked(agent)) as talk:
        await talk.peer.send(INITIALIZE + line(request(1, "_last"))[:-9])
        talk.peer.close_stdin()
        answers = [read(text) for text in await talk.peer.read_rest()]
        assert [(answer["id"], code(answer)) for answer in answers] == [("i", None), (None, PARSE)]
        assert await talk.peer.wait() == 0


@fault("FRM-16")
async def test_a_line_that_never_ends_is_not_kept(agent: Command) -> None:
    async with opening(agent) as talk:
        before = forget_peak(talk.peer.pid)
        for _ in range(256):
            await talk.peer.send(PIECE, seconds=20)
        assert peak(talk.peer.pid) - before <= 128


@fault("FRM-X19")
async def test_behind_a_line_above_the_limit_the_conversation_goes_on(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        for _ in range(120):
            await talk.peer.send(PIECE, seconds=20)
        replies = await talk.replies(b"\n")
        assert [(reply["id"], code(reply)) for reply in replies] == [(None, INVALID)]
        await talk.echoes()


@fault("FRM-X20")
async def test_a_line_that_never_ends_does_not_keep_the_agent_from_ending(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        await talk.peer.send(PIECE * 8)
        talk.peer.close_stdin()
        assert await talk.peer.wait() == 0


@fault("FRM-X21")
async def test_a_message_of_sixteen_mebibytes_comes_back_whole(agent: Command) -> None:
    async with opening(forked(agent)) as talk:
        await talk.echoes("0123456789abcde\n" * MEBIBYTE)


@fault("FRM-X23")
async def test_a_message_of_sixty_four_mebibytes_is_answered_and_then_forgotten(agent: Command) -> None:
    async with opening(agent) as talk:
        before = memory(talk.peer.pid)
        answer, said = await talk.turn("0123456789abcdef" * (4 * MEBIBYTE), seconds=40)
        assert code(answer) is None
        assert len(said) == len("You said: ") + 64 * MEBIBYTE
        await talk.echoes()
        assert memory(talk.peer.pid) - before <= 32


@fault("FRM-X24")
async def test_a_program_sent_by_mistake_is_only_garbage(agent: Command) -> None:
    with open(sys.executable, "rb") as file:
        noise = file.read(512 * 1024)
    async with opening(forked(agent)) as talk:
        replies = await talk.replies(noise + b"\n", seconds=20)
        assert {code(reply) for reply in replies} <= {PARSE, INVALID}
        assert len(replies) > 0
        await talk.echoes()


@fault("FRM-X22")
async def test_many_large_messages_leave_nothing_behind(agent: Command) -> None:
    async with opening(agent) as talk:
        frame = line(request("big", "_big", {"pad": "x" * (8 * MEBIBYTE)}))
        await talk.replies(frame)
        before = forget_peak(talk.peer.pid)
        for _ in range(10):
            assert len(await talk.replies(frame, seconds=20)) == 1
        assert peak(talk.peer.pid) - before <= 32
