"""Agents that answer what was not asked, twice, wrongly, or in the name of somebody else."""

from __future__ import annotations

import sys
from typing import Any

from tests.faults.client.agents.bare import Agent, Message, at, chunk, line, main, notification, update, usual

PROMPT = "session/prompt"
NEW = "session/new"
INITIALIZE = "initialize"
ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\x90q\x1b\\\u202eback"


def response(id_: Any, result: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def failure(id_: Any, error: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "error": error}


@at(PROMPT, "CEN-01")
def responses_to_nothing(agent: Agent, request: Message) -> None:
    agent.send(*(response(n, {"stopReason": "refusal"}) for n in (99, "x", -1, 2**70, None)))
    agent.send(failure(98, {"code": 1, "message": "no"}), failure("y", "no"), failure(None, None))
    usual(agent, request)


@at(PROMPT, "CEN-02", "CEN-X04")
def three_responses(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    agent.end_turn()
    agent.end_turn("refusal")
    agent.refuse(request, {"code": -32603, "message": "no"})


@at(NEW, "CEN-04")
def boolean_id(agent: Agent, request: Message) -> None:
    for id_ in (True, False):
        agent.send(response(id_, {"sessionId": "wrong"}))
    usual(agent, request)


@at(NEW, "CEN-05")
def odd_ids(agent: Agent, request: Message) -> None:
    id_ = request["id"]
    odd = [[id_], {"id": id_}, float(id_) + 0.5, str(id_)] if isinstance(id_, int) else [[id_], {"id": id_}]
    agent.send(*(response(one, {"sessionId": "wrong"}) for one in odd))
    agent.raw(line(response(0, {"sessionId": "wrong"})).replace(b'"id": 0', b'"id": %d.0' % id_))
    usual(agent, request)


@at(PROMPT, "CEN-07")
def unknown_notifications(agent: Agent, request: Message) -> None:
    agent.send(notification("_vendor/thing", {"a": 1}), notification("craft/unknown", [1]))
    agent.send({"jsonrpc": "2.0", "method": "session/nothing"}, notification("rpc.x", None))
    agent.note(answered=agent.call("_ping", {}))
    agent.note(heard=agent.heard)
    usual(agent, request)


@at(PROMPT, "CEN-08")
def unknown_kinds(agent: Agent, request: Message) -> None:
    agent.send(update({"sessionUpdate": "dance", "steps": [1, 2]}))
    hologram = {"type": "hologram", "rays": 3}
    agent.send(update({"sessionUpdate": "agent_message_chunk", "content": hologram}))
    agent.send(update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "fly"}))
    agent.send(update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [hologram]}))
    usual(agent, request)


@at(PROMPT, "CEN-10")
def other_sessions(agent: Agent, request: Message) -> None:
    agent.send(*(chunk("STRANGER", session) for session in ("s-2", "", "s-1 ", "S-1", "s-1\n")))
    usual(agent, request)


@at(PROMPT, "CEN-X20")
def ten_thousand_sessions(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    for start in range(0, 20_000, 500):
        agent.send(*(chunk("STRANGER" * 40, f"other-{n}") for n in range(start, start + 500)))
    usual(agent, request)


ERRORS: dict[str, Any] = {
    "CEN-11": "it went wrong",
    "CEN-X09": None,
    "CEN-X10": {"code": "E1", "message": 5},
    "CEN-X11": {"code": -32603, "message": f"bad {ESCAPES}"},
    "CEN-X29": {"code": -32000, "message": "log in first"},
}


@at(PROMPT, *ERRORS)
def strange_error(agent: Agent, request: Message) -> None:
    agent.refuse(request, ERRORS[sys.argv[1]])


INTRODUCTIONS: dict[str, Any] = {
    "CEN-13": {"protocolVersion": 999},
    "CEN-15": None,
    "CEN-X22": {"protocolVersion": "1"},
    "CEN-X23": {},
    "CEN-X24": {"protocolVersion": 0},
    "CEN-X26": [1],
}


@at(INITIALIZE, *INTRODUCTIONS)
def strange_introduction(agent: Agent, request: Message) -> None:
    agent.answer(request, INTRODUCTIONS[sys.argv[1]])


@at(INITIALIZE, "CEN-14")
def login_before_everything(agent: Agent, request: Message) -> None:
    agent.refuse(request, {"code": -32000, "message": "authentication required"})


@at(NEW, *INTRODUCTIONS, "CEN-14")
def must_not_come(agent: Agent, request: Message) -> None:
    agent.note(session_opened=True)


SESSIONS: dict[str, Any] = {
    "CEN-X07": {},
    "CEN-X08": {"sessionId": 7},
    "CEN-X30": None,
}


@at(NEW, *SESSIONS)
def strange_session(agent: Agent, request: Message) -> None:
    agent.answer(request, SESSIONS[sys.argv[1]])


ENDS: dict[str, Any] = {
    "CEN-X05": None,
    "CEN-X06": {"stopReason": "bored"},
    "CEN-X27": {"stopReason": "cancelled"},
    "CEN-X28": {"stopReason": "refusal"},
    "CEN-X31": {"stopReason": "max_tokens"},
    "CEN-X32": {"stopReason": "max_turn_requests"},
    "CEN-X33": {"stopReason": "end_turn", "usage": "much", "_meta": 5},
}


@at(PROMPT, *ENDS)
def strange_end(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    agent.answer(request, ENDS[sys.argv[1]])


@at(PROMPT, "CEN-17")
def batch(agent: Agent, request: Message) -> None:
    agent.send([chunk("BATCHED"), response(request["id"], {"stopReason": "refusal"})])
    usual(agent, request)


@at(PROMPT, "CEN-19")
def request_ids(agent: Agent, request: Message) -> None:
    for id_ in ("text", 0, -5, "", "x" * 100_000):
        answer = agent.call("_ping", {}, id_=id_)
        agent.note(ids=[type(id_).__name__, id_ == answer["id"], type(answer["id"]).__name__])
    usual(agent, request)


@at(PROMPT, "CEN-X16")
def huge_ids(agent: Agent, request: Message) -> None:
    for id_ in ("i" * 1_000_000, 2**53 + 1, -(2**63), "\u0000\ud800é", 2**64, 10**400):
        agent.send({"jsonrpc": "2.0", "id": id_, "method": "_ping", "params": {}})
    usual(agent, request)


@at(PROMPT, "CEN-X12")
def requests_of_all_kinds(agent: Agent, request: Message) -> None:
    """Each is sent by itself, so that the next answer belongs to it."""
    params = {"sessionId": "s-1", "prompt": []}
    tried: dict[str, tuple[str, Any]] = {
        "CEN-X12": ("no/such_method", {}),
        "CEN-X13": ("fs/read_text_file", [1, 2]),
        "CEN-X18": ("session/prompt", params),
        "CEN-X34": ("initialize", {"protocolVersion": 1}),
        "CEN-X35": ("session/request_permission", None),
        "CEN-X36": ("session/update", {}),
    }
    for fault, (method, content) in tried.items():
        agent.note(**{fault: agent.call(method, content).get("error", {}).get("code")})
    # The ids that the client has used are not its own in this direction.
    agent.note(**{"CEN-X15": agent.call("_ping", {}, id_=request["id"])["id"] == request["id"]})
    agent.send(
        {"jsonrpc": "2.0", "id": "d", "method": "_ping"}, {"jsonrpc": "2.0", "id": "d", "method": "_a"}
    )
    agent.note(**{"CEN-X14": [answer["id"] for answer in agent.answers(2)]})
    agent.send(*(notification("$/cancel_request", {"requestId": id_}) for id_ in (request["id"], "?", None)))
    agent.note(**{"CEN-X17": agent.call("_ping", {}, id_="behind")["id"]})
    usual(agent, request)


@at(PROMPT, "CEN-20")
def late_updates(agent: Agent, request: Message) -> None:
    usual(agent, request)
    agent.say(*(f" late{n}" for n in range(20)))


@at(PROMPT, "CEN-X25")
def endless_late_updates(agent: Agent, request: Message) -> None:
    import time

    usual(agent, request)
    while True:
        agent.say(".")
        time.sleep(0.005)


@at(PROMPT, "CEN-22")
def escapes(agent: Agent, request: Message) -> None:
    agent.say(f"before {ESCAPES} ", *ESCAPES, " behind")
    call = {"toolCallId": f"t{ESCAPES}", "title": f"T{ESCAPES}", "kind": "edit", "status": "completed"}
    diff = {"type": "diff", "path": f"/p{ESCAPES}", "oldText": ESCAPES, "newText": f"x{ESCAPES}"}
    agent.send(update({"sessionUpdate": "tool_call", **call, "content": [diff]}))
    entry = {"content": ESCAPES, "priority": "high", "status": "pending"}
    agent.send(update({"sessionUpdate": "plan", "entries": [entry]}))
    agent.send(update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": ESCAPES}}))
    link = {"type": "resource_link", "uri": f"file:///{ESCAPES}", "name": ESCAPES}
    agent.send(update({"sessionUpdate": "agent_message_chunk", "content": link}))
    sys.stderr.write(ESCAPES + "\n")
    sys.stderr.flush()
    agent.end_turn()


@at(INITIALIZE, "CEN-22")
def escaped_name(agent: Agent, request: Message) -> None:
    info = {"name": f"n{ESCAPES}", "version": ESCAPES, "title": ESCAPES}
    agent.answer(request, {"protocolVersion": 1, "agentInfo": info})


@at(NEW, "CEN-X01")
def updates_before_the_session(agent: Agent, request: Message) -> None:
    agent.say("early ")
    usual(agent, request)


@at(INITIALIZE, "CEN-X02")
def updates_before_the_introduction(agent: Agent, request: Message) -> None:
    agent.say("STRANGER", session="s-2")
    agent.send(notification("session/update", None), notification("session/update", {"sessionId": 5}))
    usual(agent, request)


@at(INITIALIZE, "CEN-X03")
def answers_before_requests(agent: Agent, request: Message) -> None:
    """It guesses the ids that will be used."""
    first = request["id"]
    agent.send(*(response(first + n, {"sessionId": "wrong"}) for n in range(1, 50)))
    agent.send(*(response(first + n, {"stopReason": "refusal"}) for n in range(1, 50)))
    usual(agent, request)


@at(PROMPT, "CEN-X19")
def wrong_updates(agent: Agent, request: Message) -> None:
    text = {"type": "text", "text": "MARK"}
    wrong: list[Any] = [
        *(None, 5, [], "text", {}, {"sessionUpdate": None}, {"sessionUpdate": "agent_message_chunk"}),
        {"sessionUpdate": "agent_message_chunk", "content": [text]},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": {"MARK": 1}}},
        {"sessionUpdate": "tool_call", "toolCallId": 5, "title": None},
        {"sessionUpdate": "plan", "entries": "many"},
        {"sessionUpdate": "usage_update", "used": -1, "size": "large"},
        {"sessionUpdate": "available_commands_update", "availableCommands": {"a": 1}},
        {"sessionUpdate": "current_mode_update"},
    ]
    agent.send(*map(update, wrong), update({"sessionUpdate": "agent_message_chunk", "content": text}, 5))
    agent.send(notification("session/update", [1]), {"jsonrpc": "2.0", "method": "session/update"})
    usual(agent, request)


@at(PROMPT, "CEN-X21")
def calls_out_of_order(agent: Agent, request: Message) -> None:
    update_ = {"sessionUpdate": "tool_call_update", "toolCallId": "never"}
    agent.send(update({**update_, "status": "completed"}), update({**update_, "status": "dreaming"}))
    call = {"sessionUpdate": "tool_call", "toolCallId": "twice", "title": "T"}
    agent.send(update(call), update({**call, "title": "U"}), update({**call, "status": "failed"}))
    usual(agent, request)


@at(PROMPT, "CEN-X37")
def no_version(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    agent.send({"id": request["id"], "result": {"stopReason": "end_turn"}})


@at(PROMPT, "CEN-X38")
def result_and_error(agent: Agent, request: Message) -> None:
    both = {"result": {"stopReason": "refusal"}, "error": {"code": 1, "message": "no"}}
    agent.say("all is well")
    agent.send({"jsonrpc": "2.0", "id": request["id"], **both})


@at(PROMPT, "CEN-X41")
def neither_result_nor_error(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    agent.send({"jsonrpc": "2.0", "id": request["id"]})


if __name__ == "__main__":
    main()
