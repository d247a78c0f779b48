"""A small storm in which everything went well, made by hand: faults are planted into it.

One session, two clients, two agents' processes. The first turn runs on the first process, with an approval,
until that is killed; the second one is honest about it, and runs the next turn to its end.
"""

from __future__ import annotations

import json
from typing import Any

from dragoman_local.journal import Direction, StoredEntry
from tests.cluster.records import (
    AgentLine,
    Answered,
    Asked,
    Beat,
    Begun,
    Blow,
    ClientLine,
    Ended,
    Finished,
    Heard,
    Joined,
    Prompted,
    Sent,
    Started,
    Storm,
    Told,
)

SESSION = "s"
WALL = 1_000_000.0
KILLED = 20.0
ALLOW = {"outcome": {"outcome": "selected", "optionId": "allow"}}


class Stream:
    """Entries of a session, one after the other."""

    def __init__(self) -> None:
        self.entries: list[StoredEntry] = []

    def add(self, when: float, direction: Direction, **said: Any) -> int:
        frame = json.dumps(said).encode()
        self.entries.append(StoredEntry(len(self.entries) + 1, direction, frame, when + WALL))
        return len(self.entries)

    def prompt(self, when: float, key: str, number: int) -> None:
        params = {"sessionId": SESSION, "_meta": {"dragoman": {"key": key}}}
        self.add(when, "note", hub="taken", key=key)
        self.add(when, "to_agent", id=number, method="session/prompt", params=params)

    def update(self, when: float, text: str) -> int:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        return self.add(
            when, "to_client", method="session/update", params={"sessionId": SESSION, "update": update}
        )

    def ask(self, when: float, name: str) -> int:
        params = {"sessionId": SESSION, "toolCall": {"toolCallId": name}}
        return self.add(when, "to_client", id=7, method="session/request_permission", params=params)

    def settle(self, when: float, request: int, option: Any = ALLOW) -> int:
        self.add(when, "to_agent", id=7, result=option)
        return self.add(
            when, "note", hub="settled", request=str(request), outcome="answered", by="x", result=option
        )


def made_stream() -> Stream:
    """The entries of the session; `telling` below depends on their places."""
    stream = Stream()
    stream.add(1, "note", hub="made")
    stream.prompt(10, "k1", 1)
    stream.update(11, "k1#0")  # 4
    stream.ask(12, "k1?1")  # 5
    stream.settle(13, 5)
    stream.update(14, "k1#1")  # 8
    error = {"code": -32603, "message": "the turn was cut short: its node was lost"}
    stream.add(26, "note", hub="turn_ended", key="k1", error=error)  # 9
    stream.prompt(27, "k2", 1)
    stream.update(28, "k2#0")  # 12
    stream.update(29, "k2#1")  # 13
    stream.add(30, "to_client", id=1, result={"stopReason": "end_turn"})
    stream.add(30, "note", hub="turn_ended", key="k2", result={"stopReason": "end_turn"})  # 15
    stream.prompt(41, "k3", 2)
    stream.update(42, "k3#0")  # 18
    stream.add(43, "to_client", id=2, result={"stopReason": "end_turn"})
    stream.add(43, "note", hub="turn_ended", key="k3", result={"stopReason": "end_turn"})  # 20
    return stream


def telling(stream: Stream, late: float) -> list[ClientLine]:
    """What a client that follows from the beginning is told, `late` seconds after it was stored."""
    told: list[ClientLine] = []
    for one in stream.entries:
        said = json.loads(one.frame)
        when, cursor = one.time - WALL + late, str(one.sequence)
        if said.get("method") == "session/update":
            text = said["params"]["update"]["content"]["text"]
            told.append(Told(t=when, session=SESSION, cursor=cursor, kind="update", text=text))
        elif said.get("hub") in ("turn_ended", "settled"):
            told.append(Told(t=when, session=SESSION, cursor=cursor, kind=said["hub"]))
    return told


def working(key: str, times: tuple[float, ...], *, updates: int) -> list[AgentLine]:
    """A turn in a process, without its end."""
    sent = [Sent(t=times[1 + number], session=SESSION, key=key, n=number) for number in range(updates)]
    return [Begun(t=times[0], session=SESSION, key=key), *sent]


def beating(begin: float, end: float) -> list[AgentLine]:
    return [Beat(t=begin + 0.1 * step) for step in range(int((end - begin) * 10))]


def calm_storm() -> Storm:
    """Nothing is wrong with it."""
    stream = made_stream()
    first: list[AgentLine] = [Started(t=2, pid=1, node="a"), *working("k1", (10, 11, 14), updates=2)]
    first += [Asked(t=12, session=SESSION, key="k1", name="k1?1")]
    first += [Heard(t=13, session=SESSION, key="k1", name="k1?1", option="allow"), *beating(10, KILLED)]
    second: list[AgentLine] = [Started(t=25, pid=2, node="b"), *working("k2", (27, 28, 29), updates=2)]
    second += [Finished(t=30, session=SESSION, key="k2", outcome="end_turn")]
    second += working("k3", (41, 42), updates=1)
    second += [Finished(t=43, session=SESSION, key="k3", outcome="end_turn"), *beating(27, 43)]
    prompts = [("k1", 9.9, 26.1, "error: the turn was cut short: its node was lost")]
    prompts += [("k2", 26.5, 30.1, "end_turn"), ("k3", 40.9, 43.1, "end_turn")]
    one: list[ClientLine] = [Joined(t=2, session=SESSION, after=""), *telling(stream, 0.01)]
    for key, begin, end, outcome in prompts:
        one += [Prompted(t=begin, session=SESSION, key=key)]
        one += [Ended(t=end, session=SESSION, key=key, outcome=outcome)]
    one.append(Answered(t=12.9, session=SESSION, request="5", option="allow", settled=True))
    other: list[ClientLine] = [Joined(t=2, session=SESSION, after=""), *telling(stream, 0.02)]
    other.append(Answered(t=13.5, session=SESSION, request="5", option="reject"))
    return Storm(
        sessions={SESSION: stream.entries},
        clients={"one": _in_order(one), "other": _in_order(other)},
        agents={"a-1": _in_order(first), "b-2": _in_order(second)},
        blows=[Blow(t=KILLED, how="kill", target="hub-a", over=24.0)],
        wall=WALL,
        calm=41.0,
    )


def _in_order(lines: list[Any]) -> list[Any]:
    return sorted(lines, key=lambda line: line.t)
