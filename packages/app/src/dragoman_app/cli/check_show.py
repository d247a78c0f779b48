"""`dragoman check list` and `dragoman check explain`: the requirements, and how each is judged."""

from __future__ import annotations

import argparse
import re

from dragoman.errors import LocalMistake
from dragoman_app.apps.console import say
from dragoman_check.manifest import Requirement, areas, contradictions_of, requirements
from dragoman_check.official_kit import JUDGED_OTHERWISE, kit_ids
from dragoman_check.packs import PACKS, selection
from dragoman_check.rules import reasons, rules_by_requirement

_WHOM = {"agent": "agents", "client": "clients", "server": "remote servers"}
_SOURCES = {
    "schema": "the published JSON schema",
    "init": "the page on initialization",
    "auth": "the page on authentication",
    "setup": "the page on session setup",
    "list": "the page on listing sessions",
    "delete": "the page on deleting sessions",
    "turn": "the page on prompt turns",
    "content": "the page on content",
    "tool": "the page on tool calls",
    "plan": "the page on plans",
    "modes": "the page on session modes",
    "cfg": "the page on config options",
    "slash": "the page on slash commands",
    "fs": "the page on the file system",
    "term": "the page on terminals",
    "elic": "the page on elicitation",
    "cancel": "the page on cancellation",
    "ext": "the page on extensibility",
    "over": "the overview",
    "trans": "the page on transports",
    "err": "the page on errors",
    "jsonrpc": "JSON-RPC 2.0",
    "rfd": "a proposal (RFD)",
    "sdk": "the published SDK",
    "silent": "nothing says it",
    "security": "our reading, for safety",
}
_WORTH = {"fail": "a failure", "warn": "a warning", "record": "recorded only; no failure"}


def run_list(args: argparse.Namespace) -> int:
    if args.packs:
        return _list_packs()
    selected_ids = selection(args.only, (), ())
    rules, why = rules_by_requirement(), reasons()
    total = judged_count = 0
    for requirement in requirements().values():
        if (selected_ids is not None and requirement.id not in selected_ids) or (
            args.side and args.side not in requirement.sides
        ):
            continue
        is_judged = any(args.side in (None, rule.side) for rule in rules.get(requirement.id, ()))
        total, judged_count = total + 1, judged_count + is_judged
        heading = f"{requirement.id:<8} {requirement.side} {requirement.level:<10}"
        if is_judged and not args.unjudged:
            say(f"{heading} judged      {requirement.requirement}")
        elif not is_judged:
            missing = "only the other side is judged" if requirement.id in rules else "no rule yet"
            say(f"{heading} not judged  {requirement.requirement}")
            say(f"{'':32}  why: {why.get(requirement.id, missing)}")
    say(f"{judged_count} of {total} requirements are judged")
    return 0


def _list_packs() -> int:
    for name, pack in PACKS.items():
        say(f"{name}: {pack.about}")
        for item in pack.items:
            whom = "" if item.side == "agent" else f" ({item.side or 'both'})"
            say(f"  {item.says}{whom}: {item.ids or item.unseen}")
    return 0


def run_explain(args: argparse.Namespace) -> int:
    for number, name in enumerate(args.requirement):
        requirement = requirements().get(name.upper())
        if requirement is None:
            raise LocalMistake(f"unknown requirement {name!r}")
        say("\n" * bool(number), end="")
        _explain_one(requirement)
    return 0


def _explain_one(requirement: Requirement) -> None:
    rules = rules_by_requirement().get(requirement.id, [])
    worth = requirement.tier(unavoidable=any(rule.unavoidable for rule in rules))
    say(f"{requirement.id}: {requirement.requirement}")
    say(f"  area     {areas().get(requirement.area, requirement.area)}")
    say(f"  binds    {' and '.join(_WHOM[side] for side in requirement.sides)}")
    say(f"  level    {requirement.level}: breaking it is {_WORTH[worth]}")
    for text in contradictions_of(requirement):
        say(f"           {text}")
    say(f"  source   {requirement.source}{_pages(requirement.source)}")
    say(f"  page     {requirement.page}")
    say(f"  shows    {requirement.observe}")
    for ident in (*kit_ids(requirement.id), *kit_ids(requirement.id, version=2)):
        note = JUDGED_OTHERWISE.get(ident)
        say(f"  kit      {ident} of the official test kit{f': {note}' if note else ''}")
    for name in dict.fromkeys(rule.name for rule in rules):
        same = [rule for rule in rules if rule.name == name]
        say(f"  judged   {name.replace('_', ' ')} ({', '.join(rule.side for rule in same)})")
        say(f"  change   {same[0].fix}")
    if not rules:
        say(f"  not judged: {reasons().get(requirement.id, 'no rule for it yet')}")


def _pages(source: str) -> str:
    """What the short names in a source stand for."""
    page_names = [_SOURCES[word] for word in dict.fromkeys(re.findall(r"[a-z]+", source)) if word in _SOURCES]
    return f" ({', '.join(page_names)})" if page_names else ""
