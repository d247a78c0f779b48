"""Small makers that tests of the policy share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dragoman.schema import v1
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, act_of_file
from dragoman_local.workspace.policy.audit import AuditEntry, audit_entry
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.policy import Approve, Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_parser import read_policy
from dragoman_local.workspace.policy.shell import read_line

ROOT = "/home/somebody/project"
HOME = "/home/somebody"
SETTING = ActContext(agent="claude", roots=(ROOT,), home=HOME)


def policy(
    text: str = "", *, approve: Approve | None = None, project: str | None = None, remembered: str = ""
) -> Policy:
    """A policy of a user's file, and of a project that is not trusted."""
    layers = [_layer(text, "user.toml")]
    if project is not None:
        layers.append(_layer(project, "project.toml", only_stricter=True))
    return Policy(
        layers=tuple(layers),
        remembered_rules=read_policy(remembered, "remembered.toml").rules,
        approve=approve,
    )


def _layer(text: str, name: str, *, only_stricter: bool = False) -> PolicyLayer:
    book = read_policy(text, name)
    return PolicyLayer(name=name, rules=book.rules, default=book.default, only_stricter=only_stricter)


def command(line: str, **more: Any) -> Act:
    return Act(
        method="permission",
        agent="claude",
        session_id="s",
        kind="execute",
        title=line,
        script=read_line(line),
        roots=(ROOT,),
        home=HOME,
        **more,
    )


def audit_line(text: str = "git push") -> AuditEntry:
    """A command that a person has denied, at noon."""
    denied = PolicyDecision(outcome="deny", rule="p.toml:3", why="because")
    noon = datetime(2025, 6, 1, 12, tzinfo=UTC)
    return audit_entry(command(text), denied, by="person", option="no", time=noon)


def tool(kind: str = "other", *paths: str, name: str | None = None, **more: Any) -> Act:
    call = v1.ToolCallUpdate(
        tool_call_id="t",
        kind=kind,  # type: ignore[arg-type]
        name=name,
        locations=[v1.ToolCallLocation(path=path) for path in paths],
        **more,
    )
    return act_of_call(call, SETTING, session_id="s")


def write(path: str, *, text: str | None = None) -> Act:
    return act_of_file("write", path, SETTING, session_id="s", text=text)


def option(option_id: str, kind: str, name: str = "") -> v1.PermissionOption:
    return v1.PermissionOption(option_id=option_id, name=name or option_id, kind=kind)  # type: ignore[arg-type]


OFFERED = [
    option("always", "allow_always"),
    option("once", "allow_once"),
    option("no", "reject_once"),
    option("never", "reject_always"),
]
