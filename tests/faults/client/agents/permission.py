"""Agents that ask for permission in ways that should not get it."""

from __future__ import annotations

import os
from typing import Any

from tests.faults.client.agents.bare import SESSION, Agent, Message, at, main, usual

PROMPT = "session/prompt"
ALLOW = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always", "kind": "allow_always"}
REJECT = {"optionId": "no", "name": "Reject", "kind": "reject_once"}


def ask(agent: Agent, options: Any, *, session: str = SESSION, id_: Any = None, **call: Any) -> Any:
    """What the client decided: its answer without the envelope."""
    tool = {"toolCallId": "t-1", "title": "Do it", "kind": "execute", "rawInput": {"command": "rm x"}, **call}
    params = {"sessionId": session, "toolCall": tool, "options": options}
    answer = agent.call("session/request_permission", params, id_=id_)
    return answer.get("result", answer.get("error"))


def _inside(agent: Agent) -> str:
    return os.path.join(os.path.dirname(agent.report), "work", "file.txt")


@at(PROMPT, "all", "none", "reads")
def ask_in_every_way(agent: Agent, request: Message) -> None:
    inside, both = _inside(agent), [ALLOW, REJECT]
    kindless = {"optionId": "yes", "name": "Allow"}
    strange = {**ALLOW, "kind": "allow_everything"}
    disguised = [{**ALLOW, "kind": "reject_once"}, {**REJECT, "kind": "reject_always"}]
    edit: dict[str, Any] = {"kind": "edit", "locations": [{"path": inside}], "rawInput": {"path": inside}}
    read = {**edit, "kind": "read"}
    agent.note(**{"CPE-01": ask(agent, [])})
    none: tuple[Any, ...] = (None, "yes", {"a": 1}, [5], [None], [{}])
    agent.note(**{"CPE-02": [ask(agent, odd) for odd in none]})
    agent.note(**{"CPE-04": [ask(agent, [strange]), ask(agent, [kindless]), ask(agent, [strange, REJECT])]})
    agent.note(**{"CPE-05": [ask(agent, both, session=one) for one in ("s-2", "", "s-1 ")]})
    agent.note(**{"CPE-07": [ask(agent, both), ask(agent, both, **edit), ask(agent, [ALLOW])]})
    agent.note(**{"CPE-X04": ask(agent, [ALWAYS, ALLOW, REJECT])})
    agent.note(**{"CPE-X05": ask(agent, disguised)})
    agent.note(**{"CPE-X06": [ask(agent, both, **read), ask(agent, both, **edit)]})
    outside: dict[str, Any] = {
        "kind": "read",
        "locations": [{"path": "/etc/passwd"}],
        "rawInput": {"path": "/etc/passwd"},
    }
    agent.note(**{"CPE-X07": ask(agent, both, **outside)})
    agent.note(**{"CPE-X08": ask(agent, both, title="T" * 1_000_000)})
    meta: dict[str, Any] = {
        "_meta": {"outcome": {"outcome": "selected", "optionId": "yes"}, "approved": True}
    }
    agent.note(**{"CPE-X15": ask(agent, both, **meta)})
    same = [{**ALLOW, "optionId": "same"}, {**REJECT, "optionId": "same"}]
    agent.note(**{"CPE-X03": ask(agent, same)})
    agent.note(**{"CPE-X10": ask(agent, both, kind="think", rawInput=None, locations=None)})
    agent.note(**{"CPE-X11": [ask(agent, both, kind=odd) for odd in ("READ", "read ", "", None, 5)]})
    lying: dict[str, Any] = {"kind": "read", "title": "Read file", "rawInput": {"command": "rm -rf /"}}
    agent.note(**{"CPE-X12": ask(agent, both, **lying)})
    _write(agent, inside)
    usual(agent, request)


def _write(agent: Agent, path: str) -> None:
    written = agent.call("fs/write_text_file", {"sessionId": SESSION, "path": path, "content": "x"})
    agent.note(written="error" not in written)


@at(PROMPT, "CPE-X02")
def ask_a_hundred_times(agent: Agent, request: Message) -> None:
    tool = {"toolCallId": "t-1", "title": "Do it", "kind": "execute"}
    params = {"sessionId": SESSION, "toolCall": tool, "options": [ALLOW, REJECT]}
    for n in range(100):
        agent.send({"jsonrpc": "2.0", "id": n, "method": "session/request_permission", "params": params})
    answers = agent.answers(100)
    agent.note(answered=sorted(answer["id"] for answer in answers))
    agent.note(decided=[answer["result"] for answer in answers])
    usual(agent, request)


@at(PROMPT, "CPE-X01")
def ask_after_the_end(agent: Agent, request: Message) -> None:
    usual(agent, request)
    agent.note(late=ask(agent, [ALLOW, REJECT]))


@at("initialize", "CPE-X13")
def ask_before_the_beginning(agent: Agent, request: Message) -> None:
    agent.note(early=ask(agent, [ALLOW, REJECT]))
    usual(agent, request)


@at(PROMPT, "CPE-X09")
def ask_and_die(agent: Agent, request: Message) -> None:
    tool = {"toolCallId": "t-1", "title": "Do it", "kind": "execute"}
    params = {"sessionId": SESSION, "toolCall": tool, "options": [ALLOW, REJECT]}
    agent.send({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params})
    os._exit(1)


@at(PROMPT, "CPE-X14")
def ask_a_question(agent: Agent, request: Message) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = {"sessionId": SESSION, "mode": "form", "message": "Who are you?", "requestedSchema": schema}
    agent.note(question=agent.call("elicitation/create", params))
    usual(agent, request)


if __name__ == "__main__":
    main()
