"""`dragoman inbox`: what agents at a hub are waiting for, and answers to it from a terminal."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from dragoman.cli.console import say

EPILOG = """examples:
  dragoman inbox                          what is waiting, oldest first; asks for answers in a terminal
  dragoman inbox --list                   only shows it
  dragoman inbox --json                   the same as one JSON object
  dragoman inbox --answer 3f0c:17 allow   answers one, by the name that the list shows

The hub is this user's own, or the one at --hub URL. The token is read from DRAGOMAN_TOKEN or --token-file,
and needs the scopes observe and approve. An answer is the id of an option, its number, or the beginning of
its kind: allow, reject. The first answer counts, from wherever it comes.

exit status:
    0  nothing is waiting any more, or it was shown
    1  the hub did not want to, or somebody else was faster
    2  the command line makes no sense
    9  the hub cannot be reached
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    inbox = commands.add_parser(
        "inbox",
        help="what agents at a hub are waiting for",
        description="What agents at a hub are waiting for, and answers to it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inbox.fill = _fill


def _fill(inbox: argparse.ArgumentParser) -> None:
    inbox.add_argument("--hub", metavar="URL", help="ws://… of the hub (this user's own)")
    inbox.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    inbox.add_argument("--list", action="store_true", help="show what is waiting, and ask nothing")
    inbox.add_argument("--json", action="store_true", help="the same, as one JSON object")
    inbox.add_argument("--answer", metavar=("NAME", "OPTION"), nargs=2, help="answer one of them")
    inbox.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio
    import os

    from dragoman.cli.hub_talk import hub_of
    from dragoman.errors import CallFailed, DragomanError, LocalMistake

    try:
        url, headers = hub_of(chosen.hub, chosen.token_file)
        return asyncio.run(_talk(chosen, url, headers))
    except LocalMistake as error:
        return _complain(error, 2)
    except CallFailed as error:
        return _complain(error.message, 1)
    except BrokenPipeError:
        # Whoever read has read enough; Python would complain about it once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DragomanError, OSError) as error:
        return _complain(error, 9)
    except (KeyboardInterrupt, EOFError):
        return 0


def _complain(error: BaseException | str, status: int) -> int:
    from dragoman.text.sanitize import sanitize_line

    say(f"dragoman inbox: {sanitize_line(str(error) or type(error).__name__)}", file=sys.stderr)
    return status


async def _talk(chosen: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    from dragoman.cli.hub_talk import talking

    async with talking(url, headers) as hub:
        waiting = (await hub.call("_dragoman/hub/inbox", {}))["requests"]
        if chosen.json:
            import json

            say(json.dumps({"requests": waiting}, indent=2))
            return 0
        if chosen.answer:
            return await _answer_one(hub, waiting, *chosen.answer)
        if not waiting:
            print("Nothing is waiting.")
            return 0
        from dragoman.workspace.policy.terminal_lines import TerminalLines

        lines = TerminalLines(sys.stdin.fileno())
        for one in waiting:
            say(shown(one, now=time.time()))
            if not chosen.list and sys.stdin.isatty():
                await _ask(hub, one, lines)
        return 0


async def _ask(hub: Any, one: dict[str, Any], lines: Any) -> None:
    print("Answer (number, or nothing to leave it): ", end="", flush=True)
    said = await lines.read()
    if said is None:
        raise EOFError  # whoever was asked is gone
    if said.strip():
        option = option_of(one, said.strip())
        if option is None:
            print("There is no such option; it is left open.")
        else:
            say("Answered." if await _settle(hub, one, option) else "Somebody else was faster.")


async def _answer_one(hub: Any, waiting: list[dict[str, Any]], name: str, said: str) -> int:
    found = [one for one in waiting if name_of(one) == name]
    if not found:
        say(f"dragoman inbox: nothing called {name} is waiting", file=sys.stderr)
        return 1
    option = option_of(found[0], said)
    if option is None:
        say(f"dragoman inbox: {name} has no option {said!r}", file=sys.stderr)
        return 2
    if await _settle(hub, found[0], option):
        return 0
    print("dragoman inbox: somebody else was faster", file=sys.stderr)
    return 1


async def _settle(hub: Any, one: dict[str, Any], option: str) -> bool:
    if one["method"] == "session/request_permission":
        result: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": option}}
    else:
        result = {"action": option}
    params = {"sessionId": one["sessionId"], "request": one["request"], "result": result}
    return (await hub.call("_dragoman/hub/answer", params))["settled"] is True


def name_of(one: dict[str, Any]) -> str:
    """Short enough to be typed; a session's id begins unlike any other's."""
    return f"{one['sessionId'][:8]}:{one['request']}"


def options_of(one: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Id, kind and words of what can be chosen. A form is answered elsewhere; here it can be declined."""
    if one["method"] != "session/request_permission":
        return [("decline", "reject", "Decline"), ("cancel", "cancel", "Cancel")]
    options = one["params"].get("options")
    return [
        (str(option.get("optionId")), str(option.get("kind")), str(option.get("name")))
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict)
    ]


def option_of(one: dict[str, Any], said: str) -> str | None:
    options = options_of(one)
    if said.isdigit() and 0 < int(said) <= len(options):
        return options[int(said) - 1][0]
    for option, kind, _ in options:
        if said in (option, kind):
            return option
    return next((option for option, kind, _ in options if kind.startswith(said.lower())), None)


def risks_of(one: dict[str, Any]) -> list[str]:
    """What the reviewer's rules found, a line each."""
    found = one.get("risks")
    lines = []
    for risk in found if isinstance(found, list) else []:
        if isinstance(risk, dict):
            place = ":".join(str(risk[key]) for key in ("path", "line") if risk.get(key))
            where = f" in {place}" if place else ""
            lines.append(f"{risk.get('severity')} risk: {risk.get('text')}{where} ({risk.get('rule')})")
    return lines + ([f"note: {one['risksNote']}"] if one.get("risksNote") else [])


def remaining(seconds: float) -> str:
    """How long a question still waits, in the largest unit that fits."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"waits for {count} {unit}{'' if count == 1 else 's'} more, and is refused then"
    return "waits for less than a minute more, and is refused then"


def shown(one: dict[str, Any], *, now: float) -> str:
    """One request, whole: whoever decides must see what is decided about."""
    import json

    from dragoman.text.sanitize import sanitize_line

    call = one["params"].get("toolCall") or {}
    title = call.get("title") or one["params"].get("message") or one["method"]
    lines = [f"{name_of(one)}  {one['agent']}  {one['title']}", f"  {title}"]
    details = {key: call[key] for key in ("kind", "rawInput", "content", "locations") if call.get(key)}
    if details:
        lines += ["  " + line for line in json.dumps(details, indent=2, ensure_ascii=False).split("\n")]
    if isinstance(one.get("expiresAt"), int | float):
        lines.append(f"  {remaining(float(one['expiresAt']) - now)}")
    if one.get("rule"):
        lines.append(f"  asked because: {one['rule']}")
    lines += [f"  {line}" for line in risks_of(one)]
    numbered = enumerate(options_of(one), 1)
    lines += [f"    {number}. {words} ({kind})" for number, (_, kind, words) in numbered]
    return "\n".join(sanitize_line(line, exact=True) for line in lines)
