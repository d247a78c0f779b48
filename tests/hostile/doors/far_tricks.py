"""Agents on another machine that want files and terminals of this one.

`dragoman ssh` lends an agent the files of its own side. What reaches the editor must never ask for the
editor's, however the line is written that the far side sends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.agent_steps import Step
from tests.hostile.doors.tricks import Trick

READ, WRITE, CREATE = "fs/read_text_file", "fs/write_text_file", "terminal/create"

PARAMS: dict[str, dict[str, Any]] = {
    READ: {"sessionId": "$SESSION", "path": "$CWD/notes"},
    WRITE: {"sessionId": "$SESSION", "path": "$CWD/other", "content": "evil"},
    CREATE: {"sessionId": "$SESSION", "command": "touch", "args": ["$CWD/evil"]},
}


@dataclass(frozen=True, kw_only=True)
class FarTrick(Trick):
    steps: Sequence[Step]
    has_other_host: bool = False
    """Whether the far side's copy of ours was changed, so that it lends nothing and passes on everything."""


def far(name: str, does: str, *lines: str, **more: Any) -> FarTrick:
    return FarTrick(
        name=f"a far side: {name}",
        axis="far sides",
        said="the person lends the files of the far side, and none of this one",
        does=does,
        effect="the editor is asked for a file or a terminal of this machine",
        steps=[{"raw": line} for line in lines],
        **more,
    )


def line(method: str, *, number: object = "f", head: str = "", tail: str = "") -> str:
    """One request as JSON, with more text before and behind its members."""
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "METHOD", "params": PARAMS[method]})
    return "{" + head + body[1:-1].replace("METHOD", method) + tail + "}"


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


FAR_TRICKS = [
    *(
        far(
            f"{method} in escaped letters",
            "writes every letter of the method as an escape",
            line(method).replace(method, escaped(method)),
        )
        for method in (READ, WRITE, CREATE)
    ),
    *(
        far(
            f"{method} in capital letters",
            "writes the method in capitals",
            line(method).replace(method, method.upper()),
        )
        for method in (READ, WRITE)
    ),
    far(
        "a method twice, the file last",
        "has a harmless method before",
        line(READ, head='"method": "session/update", '),
    ),
    far(
        "a method twice, the file first",
        "has a harmless method behind",
        line(READ, tail=', "method": "session/update"'),
    ),
    far(
        "a method in an escaped key",
        "has a second method under an escaped key",
        line(READ, head='"method": "_x/y", ').replace('"method": "fs', '"\\u006dethod": "fs'),
    ),
    far(
        "a batch",
        "sends an array of requests",
        f"[{line(READ)}, {line(WRITE, number='g')}]",
        at_first="succeeded",
    ),
    far("an array with one request", "sends an array", f"[{line(WRITE)}]", at_first="succeeded"),
    far("an id that is a fraction", "asks with the id 1.5", line(WRITE, number=1.5), at_first="succeeded"),
    far("an id that is null", "asks with the id null", line(WRITE, number=None)),
    far(
        "an id that is an object",
        "asks with an object as its id",
        line(WRITE, number={"a": 1}),
        at_first="succeeded",
    ),
    far("an id that is true", "asks with true as its id", line(WRITE, number=True), at_first="succeeded"),
    far("an id twice", "asks with two ids", line(WRITE, tail=', "id": "other"')),
    far("no id", "notifies of a write", line(WRITE).replace('"id": "f", ', ""), at_first="succeeded"),
    far("blanks around the method", "has a blank behind the method", line(WRITE).replace(WRITE, f"{WRITE} ")),
    far(
        "params that are a list",
        "asks with a list",
        line(WRITE).replace('"params": {', '"params": [{')[:-1].replace("}", "}]") + "}",
    ),
    far(
        "two requests on a line",
        "has two objects on one line",
        line(READ) + line(WRITE, number="g"),
        at_first="succeeded",
    ),
    far(
        "blanks before the line",
        "begins with blanks and a mark of byte order",
        " \t" + line(WRITE),
        "\ufeff" + line(WRITE, number="g"),
        at_first="succeeded",
    ),
    far("an answer that is a request", "has a result beside the method", line(WRITE, tail=', "result": {}')),
    far(
        "an error that is a request",
        "has an error beside the method",
        line(CREATE, tail=', "error": {"code": 1, "message": "x"}'),
    ),
    far("no version", "leaves out jsonrpc", line(WRITE).replace('"jsonrpc": "2.0", ', "")),
    far("another version", "says jsonrpc 1.0", line(WRITE).replace("2.0", "1.0")),
    far("another session", "names a session that nobody opened", line(WRITE).replace("$SESSION", "nobody-1")),
    far("no session", "names none", line(WRITE).replace('"sessionId": "$SESSION", ', "")),
    far(
        "a carriage return between two requests",
        "has two requests with a carriage return between",
        line("fs/read_text_file") + "\r" + line(WRITE, number="g"),
        at_first="succeeded",
    ),
]

OTHER_HOST_TRICKS = [
    far(
        "a changed copy of ours that passes on a read",
        "lends nothing and passes the request on",
        line(READ),
        has_other_host=True,
        at_first="succeeded",
    ),
    far(
        "a changed copy of ours that passes on a write",
        "lends nothing and passes the request on",
        line(WRITE),
        has_other_host=True,
        at_first="succeeded",
    ),
    far(
        "a changed copy of ours that passes on a terminal",
        "lends nothing and passes the request on",
        line(CREATE),
        has_other_host=True,
        at_first="succeeded",
    ),
]
