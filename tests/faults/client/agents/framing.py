"""Agents whose output is not cut into messages as it should be."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from tests.faults.client.agents.bare import Agent, Message, at, chunk, line, main, notification, update, usual

PROMPT = "session/prompt"
INITIALIZE = "initialize"
MEBIBYTE = 1024 * 1024


def _broken(text: bytes, broken: bytes) -> bytes:
    return line(chunk("MARK")).replace(text, broken, 1)


def _junk() -> dict[str, bytes]:
    """What these agents print between two updates."""
    good = line(chunk("MARK"))
    scalars = [b"1", b'"text"', b"true", b"null", b"[]", b"[1, 2]", b"{}", b"-0.5e3"]
    texts = [good[:-20], good[:-2] + b",}", good.replace(b'"', b"'")[:-1], b"{", b"}", b"[[", b"/* x */"]
    meta: dict[str, Any] = {"__proto__": {"a": 1}, "constructor": None, "__class__": "x"}
    numbers = _broken(b'"text": "MARK"', b'"text": "", "_meta": {"n": %s, "m": 1e400}' % (b"9" * 5000))
    return {
        "CFR-02": b"INFO starting\nDEBUG {'a': 1}\n[info] {\"level\": 3}\n\x1b[31mWARN\x1b[0m\n",
        "CFR-09": _broken(b"MARK", b"MA\xff\xfeRK") + _broken(b"MARK", b"\xc3") + b"\xff\xff\n",
        "CFR-11": _broken(b'"MARK"', b"NaN") + _broken(b'"MARK"', b"-Infinity") + b"NaN\n",
        "CFR-12": b"\n".join(scalars) + b"\n",
        "CFR-X03": good[:-1] + good,
        "CFR-X05": b"\0\n" + b"\0" + good + good[:-1] + b"\0\n" + b"\0" * 5000 + b"\n",
        "CFR-X06": good.decode().encode("utf-16-le") + b"\n",
        "CFR-X09": b"[" * 100_000 + b"]" * 100_000 + b"\n" + b'{"a":' * 100_000 + b"\n",
        "CFR-X10": b"\n".join(texts) + b"\n",
        "CFR-X15": b"\x1b[32m" + good + b"data: " + good + b"\x1e" + good,
        "CFR-X16": numbers,
        "CFR-X17": _broken(b'"jsonrpc": "2.0"', b'"jsonrpc": "2.0", "jsonrpc": "1.0"'),
        "CFR-X18": line(notification("session/update", {**meta, "sessionId": "s-1"})),
        "CFR-X20": b"\xef\xbb\xbf" + line(chunk("")),
        "CFR-X21": good.replace(b"{", b"{\n"),
        "CFR-X22": b"Content-Length: 77\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n",
    }


JUNK = _junk()


@at(PROMPT, "CFR-02", "CFR-09", "CFR-11", "CFR-12")
def junk_between_updates(agent: Agent, request: Message) -> None:
    junk = JUNK[sys.argv[1]]
    agent.say("all ")
    agent.raw(junk)
    agent.say("is ")
    agent.raw(junk)
    agent.say("well")
    agent.end_turn()


@at(PROMPT, "CFR-noise")
def junk_of_all_kinds(agent: Agent, request: Message) -> None:
    for fault, junk in JUNK.items():
        agent.raw(junk)
        agent.say(f"[{fault}]")
    agent.end_turn()


@at(INITIALIZE, "CFR-01")
def banner(agent: Agent, request: Message) -> None:
    agent.raw(b"Welcome to the agent v1.2.3\n=====\n\nLoading {models}... done\n")
    usual(agent, request)


@at(INITIALIZE, "CFR-05")
def byte_order_mark(agent: Agent, request: Message) -> None:
    agent.raw(b"\xef\xbb\xbf")
    usual(agent, request)


@at(INITIALIZE, "CFR-04")
def carriage_returns(agent: Agent, request: Message) -> None:
    usual_raw = agent.raw

    def raw(data: bytes) -> None:
        usual_raw(b"\r\n \t\n\n" + data.replace(b"\n", b"\r\n") + b"\r\n")

    agent.raw = raw  # type: ignore[method-assign]
    usual(agent, request)


@at(PROMPT, "CFR-07", "CFR-X14")
def large_update(agent: Agent, request: Message) -> None:
    size = {"CFR-07": 8, "CFR-X14": 24}[sys.argv[1]] * MEBIBYTE
    agent.note_memory("before")
    agent.say("x" * size)
    agent.end_turn()


@at(PROMPT, "CFR-08")
def endless_line(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    agent.raw(line(chunk("MARK"))[:-20])
    block = b"x" * MEBIBYTE
    for _ in range(256):
        agent.raw(block)
    agent.note(sent=256)
    agent.raw(b"\n")
    usual(agent, request)


@at(INITIALIZE, "CFR-X23")
def endless_line_before_anything(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    block = b"\xff" * MEBIBYTE
    for _ in range(192):
        agent.raw(block)
    time.sleep(60)


@at(PROMPT, "CFR-15")
def lone_surrogate(agent: Agent, request: Message) -> None:
    agent.say("all \ud83d is ", "\udc00well")
    agent.end_turn()


@at(PROMPT, "CFR-X01")
def half_a_frame(agent: Agent, request: Message) -> None:
    agent.say("all ")
    agent.raw(line(chunk("MARK"))[:-30])
    os._exit(0)


@at(PROMPT, "CFR-X02")
def byte_by_byte(agent: Agent, request: Message) -> None:
    for byte in line(chunk("all is well")) + line(
        {"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn"}}
    ):
        os.write(1, bytes([byte]))


@at(PROMPT, "CFR-X04")
def cut_characters(agent: Agent, request: Message) -> None:
    data = json.dumps(chunk("é😀漢"), ensure_ascii=False).encode() + b"\n"
    for byte in data:
        os.write(1, bytes([byte]))
    agent.end_turn()


@at(PROMPT, "CFR-X07")
def random_bytes(agent: Agent, request: Message) -> None:
    import random  # for this one alone

    agent.raw(random.Random(7).randbytes(64 * 1024) + b"\n")
    usual(agent, request)


@at(PROMPT, "CFR-X08")
def odd_line_breaks(agent: Agent, request: Message) -> None:
    text = "all\u2028is\u2029well\u0085\u000b\u000c!"
    agent.raw(json.dumps(chunk(text), ensure_ascii=False).encode() + b"\n")
    agent.end_turn()


@at(PROMPT, "CFR-X11")
def blank_lines(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    for _ in range(4):
        agent.raw(b"\n" * (MEBIBYTE // 2) + b" " * (MEBIBYTE // 2) + b"\n")
    usual(agent, request)


@at(PROMPT, "CFR-X12")
def no_newline_behind_the_answer(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    agent.raw(line({"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn"}})[:-1])
    os._exit(0)


@at(PROMPT, "CFR-X19")
def garbage_and_deaf(agent: Agent, request: Message) -> None:
    """It does not read either, so whoever complains about each line is soon stuck."""
    agent.note_memory("before")
    agent.raw(b"garbage\n" * 20_000)
    usual(agent, request)


@at(PROMPT, "CFR-X24")
def pause_in_a_frame(agent: Agent, request: Message) -> None:
    frame = line(chunk("all is well"))
    agent.raw(frame[:40])
    time.sleep(0.7)
    agent.raw(frame[40:])
    agent.end_turn()


@at(PROMPT, "CFR-X25")
def empty_texts(agent: Agent, request: Message) -> None:
    agent.send(*(chunk("") for _ in range(500)))
    agent.send(update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": None}}))
    usual(agent, request)


if __name__ == "__main__":
    main()
