"""From a command line, such as that of `dragoman mcp`, to what a gateway is to do."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.folders import FolderRules, resolve_folder
from dragoman_app.apps.gateway.gateway import GatewayRules
from dragoman_app.apps.run.plan import load_chosen_policy
from dragoman_app.apps.target import ChosenAgent, find_target


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPlan:
    """What the command line says, checked as far as that is possible without an agent."""

    target: ChosenAgent
    rules: GatewayRules
    folders: FolderRules


def make_gateway_plan(args: argparse.Namespace, *, roots: Sequence[str] = ()) -> GatewayPlan:
    """`roots` are the folders below which sessions may be. Raises `UsageMistake`."""
    if args.command and args.agent:
        raise UsageMistake("both --agent and a command were given", "give one of them")
    name = shlex.join(args.command) if args.command else args.agent
    folders = FolderRules(cwd=resolve_folder(args.cwd), roots=[resolve_folder(root) for root in roots])
    policy = os.path.abspath(args.policy) if args.policy else None
    rules = GatewayRules(
        policy=policy,
        approve=args.approve,
        shell_lines=args.shell_lines,
        silence=args.silence or None,
        most_sessions=args.max_sessions,
        choices=frozenset(getattr(args, "allow_choice", ())),
    )
    load_chosen_policy([folders.cwd], file=policy, approve=args.approve)
    target = find_target(name, args.env, dialect=args.dialect)
    return GatewayPlan(target=target, rules=rules, folders=folders)
