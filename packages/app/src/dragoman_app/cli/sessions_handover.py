"""`dragoman sessions handover`: another agent continues a session, recorded here or at a hub.

Here, that is a run of its own, with the exit status of `dragoman run`. At a hub it is a request: 0 if it was
done, 1 if it was refused, 9 if there is no hub. What is not handed over is told in both cases.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import uuid
from pathlib import Path

from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.recorded_sessions import SessionMistake, find_session, read_brief
from dragoman_app.cli.hub_client import HubErrors, hub_and_token, open_hub
from dragoman_local.journal import StreamInfo, open_journal
from dragoman_local.journal.brief import ConversationBrief
from dragoman_local.journal.history import history_path

GO_ON = "Go on with the work from where the record ends."
"""The first prompt in a recorded session, if the user gives none: a run needs one."""


def run(args: argparse.Namespace) -> int:
    """Run it; returns the exit status."""
    with HubErrors(mistake=1, unreachable=1 if args.hub is None else 9):
        if not args.agent and not args.brief:
            raise SessionMistake("name the next agent with --agent, or read the brief with --brief")
        return _here(args) if args.hub is None else asyncio.run(_at_hub(args))


# Here.


def _here(args: argparse.Namespace) -> int:
    path = Path(args.journal) if args.journal else history_path()
    if not path.exists():
        raise SessionMistake('no sessions are recorded yet. Start one: dragoman run "Explain this folder"')
    if not args.brief and args.journal:
        raise SessionMistake(
            "only sessions in your own history can continue. To read the brief of another "
            "session, use --brief"
        )
    info, brief = asyncio.run(_read(path, args.id))
    if args.brief:
        _show(brief, as_json=args.json)
        return 0
    if not brief.text:
        raise SessionMistake(
            sanitize_line(f"nothing was said in {info.stream}, so there is nothing to hand over")
        )
    from dragoman_app.apps.run.command import run as run_turn
    from dragoman_app.cli.parser import make_parser

    words = ["run", "--session", info.stream, "--continue-with", args.agent]
    words += ["--cwd", info.cwd] if info.cwd and os.path.isdir(info.cwd) else []
    words += ["--format", "json"] if args.json else []
    return run_turn(make_parser().parse_args([*words, "--", args.prompt or GO_ON]))


async def _read(path: Path, name: str) -> tuple[StreamInfo, ConversationBrief]:
    async with open_journal(path) as journal:
        info = await find_session(journal, name)
        return info, await read_brief(journal, info)


def _show(brief: ConversationBrief, *, as_json: bool) -> None:
    if as_json:
        say_json({"brief": brief.text, "lost": brief.lost})
        return
    say(sanitize(brief.text))
    for loss in brief.lost:
        say(f"not handed over: {sanitize_line(loss)}", file=sys.stderr)


# At a hub.


async def _at_hub(args: argparse.Namespace) -> int:
    if args.brief:
        raise SessionMistake("a hub does not show its briefs; leave --hub or --brief out")
    url, headers = hub_and_token(args.hub or None, args.token_file)
    params = {"sessionId": args.id, "agent": args.agent, "force": args.force}
    if args.prompt:
        params["text"] = args.prompt
    # With a key, a request that is sent again by whatever is in between is carried out once.
    params["_meta"] = {"dragoman": {"key": str(uuid.uuid4())}}
    async with open_hub(url, headers) as hub:
        answer = await hub.call("_dragoman/hub/handover", params)
    if args.json:
        say_json(answer)
        return 0
    say(sanitize_line(str(answer.get("sessionId", ""))))
    lost = answer.get("lost")
    for loss in lost if isinstance(lost, list) else []:
        say(f"not handed over: {sanitize_line(str(loss))}", file=sys.stderr)
    return 0
