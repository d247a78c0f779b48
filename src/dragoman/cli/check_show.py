"""`dragoman check list` and `dragoman check explain`: the requirements, and how each is judged."""

from __future__ import annotations

import argparse
import sys
from typing import Any

_WHOM = {"agent": "agents", "client": "clients", "server": "remote servers"}
_WORTH = {"fail": "a failure", "warn": "a warning", "record": "recorded, and held against nobody"}


def add_parsers(parts: argparse._SubParsersAction[Any]) -> None:
    shown = parts.add_parser(
        "list", help="all requirements, and which of them are judged", description="All requirements."
    )
    shown.add_argument("--side", choices=("agent", "client", "server"), help="only those that bind this side")
    shown.add_argument(
        "--unjudged", action="store_true", help="only those that no rule judges, with the reason"
    )
    shown.add_argument("--packs", action="store_true", help="the packs instead")
    shown.add_argument("only", metavar="IDS", nargs="*", help="ids, areas, patterns: TURN-06 TERM SES-1*")
    shown.set_defaults(run=_list)
    explained = parts.add_parser(
        "explain",
        help="what a requirement is, how it is judged, how to keep it",
        description="One requirement.",
    )
    explained.add_argument("requirement", metavar="ID", nargs="+", help="its id, like TURN-06")
    explained.set_defaults(run=_explain)


def _list(chosen: argparse.Namespace) -> int:
    from dragoman.check.manifest import requirements
    from dragoman.check.packs import NoSuchCheck, selection
    from dragoman.check.unobserved import judged_by, reasons

    if chosen.packs:
        return _list_packs()
    try:
        wanted = selection(chosen.only, (), ())
    except NoSuchCheck as error:
        print(f"dragoman check list: {error}", file=sys.stderr)
        return 2
    rules, why = judged_by(), reasons()
    total = judged = 0
    for one in requirements().values():
        if (wanted is not None and one.id not in wanted) or (chosen.side and chosen.side not in one.sides):
            continue
        total, judged = total + 1, judged + (one.id in rules)
        if one.id in rules and not chosen.unjudged:
            print(f"{one.id:<8} {one.side} {one.level:<10} judged      {one.requirement}")
        elif one.id not in rules:
            print(f"{one.id:<8} {one.side} {one.level:<10} not judged  {one.requirement}")
            print(f"{'':32}  why: {why.get(one.id, 'no rule yet')}")
    print(f"{judged} of {total} requirements are judged")
    return 0


def _list_packs() -> int:
    from dragoman.check.packs import PACKS

    for name, pack in PACKS.items():
        print(f"{name}: {pack.about}")
        for item in pack.items:
            whom = "" if item.side == "agent" else f" ({item.side or 'both'})"
            print(f"  {item.says}{whom}: {item.ids or item.unseen}")
    return 0


def _explain(chosen: argparse.Namespace) -> int:
    from dragoman.check.manifest import requirements

    for number, name in enumerate(chosen.requirement):
        one = requirements().get(name.upper())
        if one is None:
            print(f"dragoman check explain: no requirement is called {name!r}", file=sys.stderr)
            return 2
        print("\n" * bool(number), end="")
        _explain_one(one)
    return 0


def _explain_one(one: Any) -> None:
    from dragoman.check.manifest import areas
    from dragoman.check.unobserved import judged_by, reasons

    rules = judged_by().get(one.id, [])
    worth = one.tier(unavoidable=any(rule.unavoidable for rule in rules))
    print(f"{one.id}: {one.requirement}")
    print(f"  area     {areas().get(one.area, one.area)}")
    print(f"  binds    {' and '.join(_WHOM[side] for side in one.sides)}")
    print(f"  level    {one.level}: breaking it is {_WORTH[worth]}")
    if one.is_contradicted:
        print("           the official material says two things about it")
    print(f"  source   {one.source}")
    print(f"  shows    {one.observe}")
    for rule in rules:
        print(f"  judged   {rule.name.replace('_', ' ')} ({rule.side})")
        print(f"  change   {rule.fix}")
    if not rules:
        print(f"  judged   by no rule: {reasons().get(one.id, 'there is none yet')}")
