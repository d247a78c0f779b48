"""Agents that clients may have installed, and installed ones: the list of `dragoman agents install`, as plain
values.

Seldom asked for, and its imports would cost every start of a hub: `installation` imports it when it is used.
Looks at files and fetches nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Container
from typing import Any

from dragoman.errors import LocalMistake
from dragoman_local.known.installation.installer import InstallPlan, make_plan, uninstall
from dragoman_local.known.installation.registry import AgentRegistry, is_newer, read_registry
from dragoman_local.known.installation.store import find_installed, installed_agents

__all__ = ["checked_plan", "installed_version", "listed", "uninstall"]


def listed(offered: Container[str]) -> dict[str, Any]:
    """Return the agents of the list that are not installed, each with its install plan, and those that we
    installed. Reads files. Raises `LocalMistake` if the list can't be read.
    """
    registry = read_registry()
    installed = {agent.record.name: agent.record for agent in installed_agents()}
    entries = sorted(registry.entries.values(), key=lambda entry: entry.name.casefold())
    return {
        "made": registry.made.isoformat(),
        "origin": registry.origin,
        "agents": [
            {
                "name": entry.agent_name,
                "title": entry.name,
                "description": entry.description,
                "license": entry.license,
                "homepage": entry.homepage,
                "version": entry.version,
                "tested": entry.tested and entry.tested.isoformat(),
                **_described_plan(entry.agent_name, registry),
            }
            for entry in entries
            if entry.agent_name in installed or entry.agent_name not in offered
        ],
        "installed": [
            {
                "name": record.name,
                "title": record.title,
                "version": record.version,
                "source": record.source,
                "license": record.license,
            }
            for record in installed.values()
        ],
    }


def _described_plan(name: str, registry: AgentRegistry) -> dict[str, Any]:
    try:
        plan = _forward_plan(name, registry)
    except LocalMistake as mistake:
        return {"refusal": str(mistake)}
    if plan.kind == "npx" and shutil.which("npm") is None:
        return {"refusal": "npm is not on the hub's PATH; install Node.js, which brings it"}
    return {
        "kind": plan.kind,
        "source": plan.spec,
        "check": plan.check,
        "steps": plan.steps,
        "variables": sorted(plan.source.env),
        "plan": plan.identity,
    }


def _forward_plan(name: str, registry: AgentRegistry) -> InstallPlan:
    """The plan to add or update an agent. Raises `LocalMistake` if that would be a step back."""
    plan = make_plan(name, registry=registry)
    version = installed_version(plan.name)
    if version not in ("", plan.version) and not is_newer(plan.version, than=version):
        raise LocalMistake(f"{plan.name} {version} is installed, and the list's {plan.version} is not newer")
    return plan


def checked_plan(agent: str, identity: str) -> tuple[str, str]:
    """Return title and version of the plan. Raises `LocalMistake` if the plan has changed in the meantime."""
    plan = _forward_plan(agent, read_registry())
    if plan.name != agent or plan.identity != identity:
        raise LocalMistake(f"the plan to install {agent} has changed: look at the new plan")
    return plan.entry.name, plan.version


def installed_version(agent: str) -> str:
    installed = find_installed(agent)
    return "" if installed is None else installed.record.version
