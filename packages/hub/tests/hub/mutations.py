"""Lines of an agent that something happened to, and what a reader of JSON that is not ours says of each."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

SESSION = "storm-1"

_TEXTS = (
    *("twenty characters, as usual", "größer als vorher – größer", "😀 \u2028 and \u2029 and \x7f"),
    *('a "quoted" word, a \\ and a /', "tab\tnewline\nreturn\rbell\x07nul\x00", ""),
)

_TELLING = (
    rb'"\ud800"',  # half of a pair
    rb'"\udc00\ud800"',
    rb'"\ud83d\ude00"',  # a whole one
    rb'"\\ud800"',  # none at all
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-0", b"01", b"1.", b".5", b"0x1f", b"+1"),
    b"7" * 5000,
    b"[" * 200 + b"]" * 200,
    b"[" * 100_000 + b"]" * 100_000,
    *(b"[1,]", b'{"a":1,}', b'{"a":1,"a":2}', b"1,2", b"1 2", b"nul", b"'a'", b"/**/1", b"\x00", b'"\x00"'),
    *(
        b"\xef\xbb\xbf1",
        b"\r1\r",
        b"\x0c1",
        b"\xc2\xa01",
        b'"\xe2\x80\xa8"',
        b'"\xed\xa0\x80"',
        b'"\xc0\x80"',
    ),
    *(b'"\xff"', b'"\xe2\x80"', rb'"\q"', rb'"\u12g4"', rb'"\u"', b'"'),
)
"""Values that tell one reader from another."""


def update(number: int, chance: random.Random) -> bytes:
    """A good one, in one of the ways in which implementations write it."""
    text = f"{number} {chance.choice(_TEXTS)}"
    content = {"type": "text", "text": text}
    kinds: list[dict[str, Any]] = [
        {"sessionUpdate": "agent_message_chunk", "content": content},
        {"sessionUpdate": "agent_thought_chunk", "content": content, "_meta": {"x": [1, {"y": None}]}},
        {"sessionUpdate": "tool_call", "toolCallId": str(number), "title": text, "rawInput": {"n": 1.5e-7}},
        {"sessionUpdate": "plan", "entries": [{"content": text, "priority": "low", "status": "pending"}]},
    ]
    params = {"sessionId": SESSION, "update": chance.choice(kinds)}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    separators = chance.choice([(",", ":"), (",", ":"), (", ", ": ")])
    return json.dumps(message, separators=separators, ensure_ascii=chance.random() < 0.5).encode()


def _flip(line: bytes, chance: random.Random) -> bytes:
    changed = bytearray(line)
    for _ in range(chance.randint(1, 3)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(line: bytes, chance: random.Random) -> bytes:
    """A piece is missing: at the end, or between a good beginning and a good end."""
    start, end = sorted(chance.randrange(len(line) + 1) for _ in range(2))
    return line[:start] + chance.choice([b"", line[end:], b"}}", b"}}}"])


def _join(line: bytes, chance: random.Random) -> bytes:
    return line + chance.choice([b"", b" ", b",", b"\r", b"\t"]) + update(chance.randrange(1000), chance)


def _double(line: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(line) + 1) for _ in range(2))
    return line[:end] + line[start:]


def _insert(line: bytes, chance: random.Random) -> bytes:
    """A value that tells readers apart, as a member of the params: the beginning and the end stay good."""
    head, brace, rest = line.partition(b'"params":{' if b'"params":{' in line else b'"params": {')
    return head + brace + b'"odd":' + chance.choice(_TELLING) + b"," + rest


def _member(line: bytes, chance: random.Random) -> bytes:
    """One more member of the message, perhaps one that it has already."""
    more = chance.choice(
        [
            b',"method":"session/update"}',
            b',"params":{"sessionId":"somebody-else","update":{}}}',
            b',"jsonrpc":"1.0"}',
            b',"params":[]}',
            b',"extra":{"id":7}}',
            b',"result":null}',
        ]
    )
    return line[:-1] + more


def _space(line: bytes, chance: random.Random) -> bytes:
    return chance.choice(
        [line + b"\r", b" " + line, line + b" \t", line.replace(b",", b",\r", 2), b"", b" \r"]
    )


def _noise(line: bytes, chance: random.Random) -> bytes:
    raw = chance.randbytes(chance.randint(1, 80)).replace(b"\n", b"")
    return chance.choice([raw, b"Loading the model ...", b"[1,2]", b"true", b"{}", b"\xef\xbb\xbf" + line])


_MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    *(_flip, _cut, _join, _double, _insert, _member, _space, _noise),
]


def lines(mutated: int, *, seed: int) -> Iterator[bytes]:
    """So many that something happened to, and a good one after every fourth or so of them."""
    chance = random.Random(seed)
    number = 0
    while mutated:
        number += 1
        line = update(number, chance)
        if chance.random() < 0.2:
            yield line
            continue
        changed = chance.choice(_MUTATIONS)(line, chance)
        mutated -= changed != line
        yield changed


# The other reader.


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 100 else digits


def strictly(text: bytes) -> Any:
    """JSON in UTF-8 and nothing else; raises `ValueError`. Half of a surrogate pair is U+FFFD."""
    try:
        # Long numbers stay text: one of five thousand digits is legal, and Python refuses to convert it.
        value = json.loads(text.decode(), parse_constant=_no_constant, parse_int=_integer, parse_float=str)
    except RecursionError:
        raise ValueError("nested deeper than anybody reads") from None
    return _mended(value)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
    if isinstance(value, list):
        return [_mended(one) for one in value]
    if isinstance(value, dict):
        return {_mended(name): _mended(one) for name, one in value.items()}
    return value


def message_in(line: bytes) -> dict[str, Any] | None:
    """The notification that a line is; None for anything else. No line of a storm is another message."""
    try:
        value = strictly(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or "id" in value:
        return None
    return value if isinstance(value.get("method"), str) else None


def is_of_session(message: dict[str, Any]) -> bool:
    params = message.get("params")
    return isinstance(params, dict) and params.get("sessionId") == SESSION
