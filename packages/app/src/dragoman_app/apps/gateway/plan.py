"""Turns a command line, such as that of `dragoman mcp`, into the settings of a gateway."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.folders import FolderRules, resolve_folder
from dragoman_app.apps.gateway.gateway import GatewayRules
from dragoman_app.apps.run.plan import check_policy, rules_of
from dragoman_app.apps.target import ChosenAgent, Overrides, confine, find_target


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPlan:
    """The command line, checked as far as possible without an agent."""

    target: ChosenAgent
    rules: GatewayRules
    folders: FolderRules


def make_gateway_plan(args: argparse.Namespace, *, roots: Sequence[str] = ()) -> GatewayPlan:
    """Return the plan. `roots` are the folders below which sessions may work. Raises `UsageMistake`."""
    if args.command and args.agent:
        raise UsageMistake("both --agent and a command were given", "give one of them")
    name = shlex.join(args.command) if args.command else args.agent
    folders = FolderRules(cwd=resolve_folder(args.cwd), roots=[resolve_folder(root) for root in roots])
    rules = GatewayRules(
        **msgspec.structs.asdict(rules_of(args, args.approve)),
        silence=args.silence or None,
        most_sessions=args.max_sessions,
        choices=frozenset(getattr(args, "allow_choice", ())),
    )
    check_policy(rules, [folders.cwd])
    target = find_target(name, Overrides(args.env, args.dialect))
    target = confine(target, rules.sandbox, [folders.cwd, *folders.roots])
    if target.launcher and not folders.roots:  # a client's own roots would be outside of the sandbox
        folders = FolderRules(cwd=folders.cwd, roots=[folders.cwd])
    return GatewayPlan(target=target, rules=rules, folders=folders)
