"""Every example of the dialect's document in its shape, with values of our own, and each method besides."""

from __future__ import annotations

from typing import Any

REQUEST: Any = {"id": 7, "method": "getThreads", "params": None}
SUCCESS: Any = {"id": 7, "result": {"threads": []}}
FAILURE: Any = {"id": 8, "error": {"code": -32601, "message": "Method not found - 'flyToTheMoon'"}}
METADATA: Any = {"id": "th-beans", "title": "Beans in rows", "modifiedAt": "2025-06-27T08:15:30Z"}
SAID: Any = {"type": "message", "role": "user", "chunks": [{"type": "text", "chunk": "Where do beans grow?"}]}
READ: Any = {"type": "readFile", "path": "/field/rows.txt", "content": "Two rows, one fence.\n"}
MESSAGE: Any = {"role": "assistant", "chunks": [{"type": "text", "chunk": "Along the fence."}]}
CHUNK: Any = {"type": "text", "chunk": "Along "}

EXAMPLES = [REQUEST, SUCCESS, FAILURE, METADATA, SAID, READ, MESSAGE, CHUNK]
"""In the order of the document."""

ANSWERED = {"type": "message", **MESSAGE}

# What a client asks of an agent: method, params, result.
TO_AGENT: list[tuple[str, Any, Any]] = [
    ("getThreads", None, {"threads": [METADATA]}),
    ("createThread", None, {"threadId": "th-peas"}),
    ("openThread", {"threadId": "th-beans"}, None),
    ("getThreadEntries", {"threadId": "th-beans"}, {"entries": [SAID, READ, ANSWERED]}),
    (
        "sendMessage",
        {
            "threadId": "th-peas",
            "message": {"role": "user", "chunks": [CHUNK, {"type": "text", "chunk": "what?"}]},
        },
        None,
    ),
]

# What an agent asks of a client.
TO_CLIENT: list[tuple[str, Any, Any]] = [
    ("streamMessageChunk", {"threadId": "th-peas", "chunk": CHUNK}, None),
    (
        "readTextFile",
        {"threadId": "th-peas", "path": "/field/rows.txt", "lineOffset": 4, "lineLimit": 2},
        {"version": 18446744073709551615, "content": "peas\nbeans\n"},
    ),
    ("readTextFile", {"threadId": "th-peas", "path": "/field/rows.txt"}, {"version": 0, "content": ""}),
    (
        "readBinaryFile",
        {"threadId": "th-peas", "path": "/field/seed.bin", "byteOffset": 2, "byteLimit": 3},
        {"version": 41, "content": "AAEC"},
    ),
    ("stat", {"threadId": "th-peas", "path": "/field"}, {"exists": True, "isDirectory": True}),
    ("globSearch", {"threadId": "th-peas", "pattern": "**/*.txt"}, {"matches": ["/field/rows.txt"]}),
]
