"""`dragoman inbox`: lists open questions of agents at a hub, and answers them from a terminal.

What expired because no rule covers it can be allowed: its next try, or by a rule. Both are shown first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from contextlib import suppress

import msgspec

from dragoman.decoders import convert
from dragoman.errors import CallFailed, LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, say
from dragoman_app.cli.hub_client import HubCaller, HubErrors, JsonObject, hub_and_token, open_hub
from dragoman_local.workspace.policy.act_view import ActView
from dragoman_local.workspace.policy.decision import option_name
from dragoman_local.workspace.policy.terminal import TerminalLines


def run(args: argparse.Namespace) -> int:
    with suppress(KeyboardInterrupt, EOFError), HubErrors():
        url, headers = hub_and_token(args.hub, args.token_file)
        return asyncio.run(_talk(args, url, headers))
    return 0


async def _talk(args: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    async with open_hub(url, headers) as hub:
        inbox = await hub.call("_dragoman/hub/inbox", {})
        waiting, denials = inbox["requests"], inbox.get("denials", [])
        if args.json:
            say(json.dumps({"requests": waiting, "denials": denials}, indent=2))
            return 0
        if args.answer:
            return await _answer_one(hub, waiting, *args.answer)
        if not waiting and not denials:
            print("No open questions. If an agent asks you something, it appears here.")
            return 0

        lines = TerminalLines(sys.stdin.fileno())
        for request in waiting:
            say(describe_request(request, now=time.time()))
            if not args.list and sys.stdin.isatty():
                await _ask(hub, request, lines)
        for denial in denials:
            say(describe_denial(denial))
            if not args.list and sys.stdin.isatty():
                await allow_denied(hub, denial, lines)
        return 0


async def _read_answer(lines: TerminalLines) -> str:
    print("Answer (number, or nothing to leave it): ", end="", flush=True)
    answer = await lines.read()
    if answer is None:
        raise EOFError  # whoever was asked is gone
    return answer.strip()


async def allow_denied(hub: HubCaller, denial: JsonObject, lines: TerminalLines) -> None:
    """Offer the next try of a denied action, and the rule for it."""
    named: JsonObject = {name: denial[name] for name in ("sessionId", "remedy")}
    try:
        shown = await hub.call("_dragoman/hub/policy/preview", named)
    except CallFailed:
        return  # this token may not allow it
    words, ways = ways_of(shown)
    if not ways:
        return
    say("\n".join(sanitize_line(line, exact=True) for line in words))
    answer = await _read_answer(lines)
    if answer in ways:
        result = await hub.call("_dragoman/hub/policy/allow", {**named, **ways[answer]})
        is_allowed = result.get("isOnce") or result.get("isKept")
        say(
            "Allowed. Nothing happens before the agent tries again."
            if is_allowed
            else "It has changed since."
        )
    elif answer:
        print("Not one of the options. It stays denied.")


def ways_of(shown: JsonObject) -> tuple[list[str], dict[str, JsonObject]]:
    """What to show of a denial, and what each number sends to the hub."""
    lines, ways = [], dict[str, JsonObject]()
    if shown.get("identity"):
        lines += [
            f"  │ {line}" for line in _subject_lines({"act": shown.get("act"), "params": {}, "method": ""})
        ]
        ways["1"] = {"once": True, "identity": shown["identity"]}
        lines.append("    1. Allow next try. The agent is told with your next prompt; ends with that turn")
    if shown.get("rule") and not shown.get("isKept"):
        number = str(len(ways) + 1)
        ways[number] = {"rule": shown["rule"]}
        lines.append(f"    {number}. Allow in this project, with this rule in {shown['file']}:")
        lines += [f"       │ {line}" for line in shown["rule"].strip().split("\n")]
    return lines, ways


def describe_denial(denial: JsonObject) -> str:
    """Describe what expired because no rule covers it."""
    lines = [
        f"{denial['sessionId'][:8]}  {denial['agent']}  {denial.get('title') or ''}",
        f"  │ {denial['what']}",
        f"  not allowed: {denial['why']}",
        f"  to allow it in this project: {denial['remedy']}",
    ]
    return "\n".join(sanitize_line(line, exact=True) for line in lines)


async def _ask(hub: HubCaller, request: JsonObject, lines: TerminalLines) -> None:
    answer = await _read_answer(lines)
    if answer:
        option = option_of(request, answer)
        if option is None:
            print("Not one of the options. The question stays open.")
        else:
            say("Answered." if await _settle(hub, request, option) else "Somebody else answered first.")


async def _answer_one(hub: HubCaller, waiting: list[JsonObject], name: str, answer: str) -> int:
    requests = [request for request in waiting if name_of(request) == name]
    if not requests:
        raise CommandFailed(f"no open question named {name}")
    option = option_of(requests[0], answer)
    if option is None:
        raise LocalMistake(f"{name} has no option {answer!r}")
    if not await _settle(hub, requests[0], option):
        raise CommandFailed("somebody else answered first")
    return 0


async def _settle(hub: HubCaller, request: JsonObject, option: str) -> bool:
    if request["method"] == "session/request_permission":
        result: JsonObject = {"outcome": {"outcome": "selected", "optionId": option}}
    else:
        result = {"action": option}
    params: JsonObject = {
        name: request[name] for name in ("sessionId", "request", "askedAt") if name in request
    }
    return (await hub.call("_dragoman/hub/answer", params | {"result": result}))["settled"] is True


def name_of(request: JsonObject) -> str:
    """Return a name that is short enough to type; the id of a session begins with other characters."""
    return f"{request['sessionId'][:8]}:{request['request']}"


def options_of(request: JsonObject) -> list[tuple[str, str, str]]:
    """Return id, kind and text of each option. A form can only be declined here."""
    if request["method"] != "session/request_permission":
        return [("decline", "reject", "Decline"), ("cancel", "cancel", "Cancel")]
    options = request["params"].get("options")
    return [
        (str(option.get("optionId")), str(option.get("kind")), str(option.get("name")))
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict)
    ]


def option_of(request: JsonObject, answer: str) -> str | None:
    options = options_of(request)
    if answer.isdigit() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1][0]
    for option, kind, _ in options:
        if answer in (option, kind):
            return option
    return next((option for option, kind, _ in options if kind.startswith(answer.lower())), None)


def risks_of(request: JsonObject) -> list[str]:
    """Return the risks that the reviewer's rules found, one per line."""
    risks = request.get("risks")
    lines = []
    for risk in risks if isinstance(risks, list) else []:
        if isinstance(risk, dict):
            place = ":".join(str(risk[key]) for key in ("path", "line") if risk.get(key))
            where = f" in {place}" if place else ""
            lines.append(f"{risk.get('severity')} risk: {risk.get('text')}{where} ({risk.get('rule')})")
    return lines + ([f"note: {request['risksNote']}"] if request.get("risksNote") else [])


def remaining(seconds: float) -> str:
    """Return the time left for a question, in the largest unit that fits."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"waits for {count} {unit}{'' if count == 1 else 's'} more, and is refused then"
    return "waits for less than a minute more, and is refused then"


def _subject_lines(request: JsonObject) -> list[str]:
    """What was judged; a hub that does not say it has judged the request as it stands."""
    requester = request.get("requester") or ""
    try:
        view = convert(request.get("act"), ActView)
        return msgspec.structs.replace(view, requester=requester).text.split("\n")
    except msgspec.ValidationError:
        call = request["params"].get("toolCall") or {}
        title = call.get("title") or request["params"].get("message") or request["method"]
        details = {key: call[key] for key in ("kind", "rawInput", "content", "locations") if call.get(key)}
        text = json.dumps(details, indent=2, ensure_ascii=False) if details else ""
        return [f"{requester}: {title}" if requester else title, *text.splitlines()]


def describe_request(request: JsonObject, *, now: float) -> str:
    """Describe a whole request: the user must see everything before deciding. Text from the agent has a bar
    in front, so that no line of it looks like ours.
    """
    lines = [f"{name_of(request)}  {request['agent']}  {request['title']}"]
    lines += [f"  │ {line}" for line in _subject_lines(request)]
    if isinstance(request.get("expiresAt"), int | float):
        lines.append(f"  {remaining(float(request['expiresAt']) - now)}")
    why = request.get("rule") or (request.get("act") or {}).get("why")
    if why:
        lines.append(f"  why you are asked: {why}")
    lines += [f"  {line}" for line in risks_of(request)]
    numbered_options = enumerate(options_of(request), 1)
    lines += [f"    {number}. {option_name(words)} ({kind})" for number, (_, kind, words) in numbered_options]
    return "\n".join(sanitize_line(line, exact=True) for line in lines)
