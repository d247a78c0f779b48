"""One example of the dialect, whatever it is, from a threads peer through v1 to a threads peer.

Each function gives what arrived, to be compared with what was sent.
"""

from __future__ import annotations

from typing import Any

from tests.dialect.threads.stage import Between, user


def carry(between: Between, example: Any) -> Any:
    """By its shape."""
    if "method" in example:
        return request(between, example)
    if "result" in example or "error" in example:
        return answer(between, example)
    if "modifiedAt" in example:
        return answer(between, {"id": 0, "result": {"threads": [example]}})["result"]["threads"][0]
    if example.get("type") in ("message", "readFile"):
        return entries(between, [example])[0]
    if "role" in example:
        (entry,) = entries(between, [{"type": "message", **example}])
        return {"role": entry["role"], "chunks": entry["chunks"]}
    assert example["type"] == "text", f"what is {example}?"
    return streamed(between, example)


def request(between: Between, example: Any) -> Any:
    """The agent hears it under an id of the interpreter's."""
    between.client_says(example)
    return {**between.to_agent[-1], "id": example["id"]}


def answer(between: Between, example: Any) -> Any:
    """As the answer to a request for threads, with which it has its id in common."""
    between.client_says({"id": example["id"], "method": "getThreads", "params": None})
    between.agent_says({**example, "id": between.to_agent[-1]["id"]})
    return between.to_client[-1]


def entries(between: Between, listed: list[Any]) -> Any:
    """As the entries of a thread that is opened and asked for."""
    between.client_says({"id": 1, "method": "openThread", "params": {"threadId": "th-old"}})
    between.agent_says({"id": between.to_agent[-1]["id"], "result": None})
    assert between.to_agent[-1]["method"] == "getThreadEntries"
    between.agent_says({"id": between.to_agent[-1]["id"], "result": {"entries": listed}})
    assert between.to_client[-1] == {"id": 1, "result": None}
    between.client_says({"id": 2, "method": "getThreadEntries", "params": {"threadId": "th-old"}})
    return between.to_client[-1]["result"]["entries"]


def created(between: Between, thread: str) -> None:
    between.client_says({"id": 3, "method": "createThread", "params": None})
    between.agent_says({"id": between.to_agent[-1]["id"], "result": {"threadId": thread}})
    assert between.to_client[-1] == {"id": 3, "result": {"threadId": thread}}


def streamed(between: Between, example: Any) -> Any:
    """As a part of what the agent says in a turn."""
    created(between, "th-new")
    between.client_says({"id": 4, "method": "sendMessage", "params": user("th-new", "go")})
    sent = between.to_agent[-1]
    params = {"threadId": "th-new", "chunk": example}
    between.agent_says({"id": 50, "method": "streamMessageChunk", "params": params})
    assert between.to_agent[-1] == {"id": 50, "result": None}
    asked = between.to_client[-1]
    between.client_says({"id": asked["id"], "result": None})
    between.agent_says({"id": sent["id"], "result": None})
    assert between.to_client[-1] == {"id": 4, "result": None}
    return asked["params"]["chunk"]
