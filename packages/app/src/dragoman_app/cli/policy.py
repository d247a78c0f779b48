"""`dragoman policy`: permissions of agents; explains, lists, keeps and forgets rules.

Exit status 1 means that something cannot be read or found, 2 a mistaken command line.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import CommandFailed, ErrorStatus, UsageMistake, confirm, say, say_json
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, act_of_file
from dragoman_local.workspace.policy.commands import pattern_text
from dragoman_local.workspace.policy.judge import resolve, with_real_paths
from dragoman_local.workspace.policy.policy import Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_files import (
    HEAD,
    RememberedRules,
    cover_text,
    load_policy,
    rule_text,
)
from dragoman_local.workspace.policy.policy_parser import PolicyError, read_policy
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.rules import PolicyRule
from dragoman_local.workspace.policy.shell import read_line

MEND = "fix that file; see `dragoman help policy`"
SEE_HELP = "dragoman policy explain --help"


def run_explain(args: argparse.Namespace) -> int:
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        policy, setting = _policy(args)
        act = resolve(_act(args, setting))
    explanation = policy.explain(act)
    decision = policy.decide(act)
    if args.json:
        parts = [{"command": c, "decision": d, "rules": list(steps)} for c, steps, d in explanation]
        return _print_json({"decision": decision, "parts": parts})
    say(f"{decision.outcome}: {sanitize_line(act_text(act))}")
    say(f"  rule: {sanitize_line(decision.rule)}\n  why:  {sanitize_line(decision.why)}")
    for command, steps, part_decision in explanation:
        if len(explanation) > 1:
            say(
                f"\n{part_decision.outcome}: {sanitize_line(command)}\n"
                f"  rule: {sanitize_line(part_decision.rule)}"
            )
        for step in steps:
            why = sanitize_line(step.objection or "this rule matches")
            say(f"  {sanitize_line(step.rule)}: {step.decision}: {why}")
    return 0


def run_list(args: argparse.Namespace) -> int:
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        policy, _ = _policy(args)
    remembered_layer = PolicyLayer(name=policy_paths().remembered_file, rules=policy.remembered_rules)
    if args.json:
        layers = [_layer_fields(layer) for layer in policy.layers]
        return _print_json(
            {"layers": layers, "remembered": _layer_fields(remembered_layer), "approve": policy.approve}
        )
    for layer in policy.layers:
        limits = " (not trusted: can only make things stricter)" if layer.only_stricter else ""
        _print_layer(layer, limits)
    if remembered_layer.rules:
        _print_layer(remembered_layer, " (remembered answers; they apply where you would be asked)")
    if not policy.layers:
        say(f"No rules yet. Write them into {policy_paths().policy}")
    defaults = [layer.default for layer in policy.layers if layer.default and not layer.only_stricter]
    say(f"If no rule matches: {defaults[0] if defaults else 'ask'}")
    if policy.approve is not None:
        say(f"If nobody can answer: approve {policy.approve}")
    return 0


def run_allow(args: argparse.Namespace) -> int:
    """Remember a yes, as `always` at a question does. It needs a user at a terminal: agents see this command
    line too.
    """
    root = os.path.abspath(args.cwd)
    home = policy_paths().home
    setting = ActContext(agent=args.agent, roots=with_real_paths([root]), home=home)
    with ErrorStatus(LocalMistake, status=1, next_step=MEND):
        policy = load_policy(roots=[root])
        act = resolve(_act(args, setting))
        rule = rule_text(act, "allow", now=datetime.now(UTC))
        if rule is None:
            raise CommandFailed(
                "this request is too vague for a rule", "write a rule yourself: dragoman help policy"
            )
        rules = (*policy.remembered_rules, *read_policy(rule, "this answer").rules)
        decision = msgspec.structs.replace(policy, remembered_rules=rules).decide(act)
    if decision.outcome != "allow":
        why = f"{decision.rule} says {decision.outcome}: {decision.why}"
        raise CommandFailed(sanitize_line(why), "dragoman policy list")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandFailed("only a person at a terminal may allow this", "type this line there yourself")
    confirm(sanitize_line(f"{cover_text(act)} Allow this?"), is_agreed=False)
    path = policy_paths().remembered_file
    with ErrorStatus(OSError, PolicyError, status=1, next_step=f"look at {path}"):
        RememberedRules(path).add(rule, head=HEAD)
    say(f"Allowed from now on. `dragoman policy list` shows it. ({path})")
    return 0


def run_forget(args: argparse.Namespace) -> int:
    line, path = args.line, policy_paths().remembered_file
    with ErrorStatus(OSError, PolicyError, status=1, next_step=f"look at {path}"):
        was_forgotten = RememberedRules(path).forget(line)
    if not was_forgotten:
        raise CommandFailed(
            f"no rule begins at line {line} of {path}", "dragoman policy list shows the lines"
        )
    say(f"Forgotten. You will be asked again. ({path})")
    return 0


def _policy(args: argparse.Namespace) -> tuple[Policy, ActContext]:
    root = os.path.realpath(args.cwd)
    policy = load_policy(roots=[root], file=args.policy, approve=args.approve)
    return policy, ActContext(agent=getattr(args, "agent", ""), roots=(root,), home=policy_paths().home)


def _act(args: argparse.Namespace, setting: ActContext) -> Act:
    if args.request is not None:
        return _from_request(args.request, setting)
    kind = args.kind or (args.tool if args.tool in TOOL_KINDS else None)
    if kind is not None and kind not in TOOL_KINDS:
        raise UsageMistake(
            f"unknown kind of tool {kind!r}. Choose from {', '.join(sorted(TOOL_KINDS))}", SEE_HELP
        )
    if args.command is None and args.tool is None and not args.path:
        raise UsageMistake("nothing to explain. Add --command, --tool, --path or --request", SEE_HELP)
    if args.method in ("fs/read", "fs/write"):
        if len(args.path) != 1:
            raise UsageMistake(f"{args.method} needs exactly one --path", SEE_HELP)
        path = os.path.join(setting.roots[0], args.path[0])
        return act_of_file("write" if args.method == "fs/write" else "read", os.path.realpath(path), setting)
    call = v1.ToolCallUpdate(
        tool_call_id="explained",
        kind=kind or "other",
        name=args.tool if args.tool != kind else None,
        locations=[v1.ToolCallLocation(path=path) for path in args.path],
    )
    act = act_of_call(call, setting)
    script = read_line(args.command) if args.command is not None else act.script
    method = "terminal" if args.method == "terminal" else "permission"
    return msgspec.structs.replace(act, script=script, method=method)


def _from_request(path: str, setting: ActContext) -> Act:
    try:
        if path == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                text = file.read()
    except OSError as error:
        raise PolicyError(path, 0, f"cannot be read: {error.strerror}") from None
    try:
        frame = msgspec.json.decode(text)
        params = frame.get("params", frame) if isinstance(frame, dict) else frame
        request = read(msgspec.json.encode(params), v1.RequestPermissionRequest)
    except (msgspec.DecodeError, SchemaError) as error:
        raise PolicyError(path, 0, f"is not a permission request: {error}") from None
    return act_of_call(request.tool_call, setting, session_id=request.session_id)


def act_text(act: Act) -> str:
    if act.script is not None:
        return act.script.text or f"execute {act.title}"
    return " ".join([*sorted(act.kinds), *filter(None, [act.tool]), *act.paths])


def _print_layer(layer: PolicyLayer, limits: str) -> None:
    say(f"{sanitize_line(layer.name)}{limits}")
    for rule in layer.rules:
        name = f"  # {sanitize_line(rule.name)}" if rule.name else ""
        say(f"  {rule.line:>4}  {rule.decision:<5} {sanitize_line(_conditions(rule))}{name}")
    print()


def _conditions(rule: PolicyRule) -> str:
    conditions: list[tuple[str, Sequence[str]]] = [
        *(("agent", rule.agent), ("method", rule.method), ("kind", rule.kind), ("tool", rule.tool)),
        *(("project", rule.project), ("folder", rule.folder), ("path", rule.path)),
        *(("command", [pattern_text(words) for words in rule.command]), ("line", rule.command_line)),
    ]
    words = [f"{key} {' | '.join(values)}" for key, values in conditions if values]
    if rule.unreadable:
        words.append("also commands that cannot be read")
    return "; ".join(words) or "everything"


def _layer_fields(layer: PolicyLayer) -> dict[str, object]:
    return {
        "file": layer.name,
        "onlyStricter": layer.only_stricter,
        "default": layer.default,
        "rules": [
            {"line": rule.line, "decision": rule.decision, "name": rule.name, "conditions": _conditions(rule)}
            for rule in layer.rules
        ],
    }


def _print_json(data: object) -> int:
    say_json(data)
    return 0
