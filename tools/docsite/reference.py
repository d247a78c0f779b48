"""Writes the pages of the API reference: a section for each public name, filled in from its docstring.

A page is a group of names that are used together. What belongs to no group raises, so that a new public name
cannot be forgotten.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import NamedTuple


class ReferencePage(NamedTuple):
    """Names of one module that are explained on one page."""

    file: str
    title: str
    introduction: str
    module: str
    names: tuple[str, ...] = ()
    """Empty: all public names of the module."""


PAGES = (
    ReferencePage(
        "agents.md",
        "Agents",
        "What an agent is written with; [Agents](../agents.md) tells how.",
        "dragoman",
        (
            "Agent",
            "serve",
            "serving",
            "Turn",
            "AgentSession",
            "ClientHandle",
            "Permission",
            "Terminal",
            "AgentTool",
        ),
    ),
    ReferencePage(
        "kit.md",
        "The agent kit",
        "Sessions that survive, modes, options and tools; [the kit](../kit.md) tells how.",
        "dragoman",
        ("Kit", "KitTurn", "KitSession", "StopTurn", "Modes", "Option", "Choice", "Switch", "MountedTool"),
    ),
    ReferencePage(
        "clients.md",
        "Clients",
        "What a client is written with; [Clients](../clients.md) tells how.",
        "dragoman",
        ("connect", "Client", "AgentHandle", "Session", "PromptTurn", "TurnResult", "ToolState", "Limits"),
    ),
    ReferencePage(
        "driving.md",
        "Driving agents",
        "Agents that fail, and many at once; [Driving agents](../driving.md) tells how.",
        "dragoman",
        ("supervised", "Pool"),
    ),
    ReferencePage(
        "proxies.md",
        "Proxies",
        "What stands between a client and an agent; [Proxies](../proxies.md) tells how.",
        "dragoman",
        ("Proxy", "Conductor"),
    ),
    ReferencePage(
        "blocking.md",
        "Without an event loop",
        "The same names for scripts and notebooks, without `await`: `from dragoman.blocking import connect`.",
        "dragoman.blocking",
    ),
    ReferencePage(
        "testing.md",
        "Testing",
        "Scripted peers, golden transcripts, contract checks; [Testing](../testing.md) tells how.",
        "dragoman.testing",
    ),
    ReferencePage(
        "errors.md",
        "Errors",
        "Every error that is raised on purpose, split by who is at fault.",
        "dragoman.errors",
    ),
)


def public_names(module: str) -> list[str]:
    """What a module offers: its `__all__`, or the classes that it defines."""
    value = importlib.import_module(module)
    names = getattr(value, "__all__", None)
    if names is not None:
        return sorted(names)
    classes = inspect.getmembers(value, inspect.isclass)
    return [name for name, member in classes if member.__module__ == module and not name.startswith("_")]


def reference_names() -> dict[str, set[str]]:
    """The names that each page explains, by module; names that no page explains raise."""
    explained: dict[str, set[str]] = {}
    for page in PAGES:
        explained.setdefault(page.module, set()).update(page.names or public_names(page.module))
    for module, names in explained.items():
        missing = set(public_names(module)) - names
        if missing:
            raise LookupError(f"no page of the reference explains {', '.join(sorted(missing))} of {module}")
    return explained


def write_reference(folder: Path) -> None:
    """Write each page of the reference into `folder`."""
    reference_names()
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        sections = [f"::: {page.module}.{name}" for name in page.names or public_names(page.module)]
        text = "\n\n".join([f"# {page.title}", page.introduction, *sections])
        (folder / page.file).write_text(f"{text}\n", "utf-8")
    (folder / "index.md").write_text(_index(), "utf-8")


INDEX = """# Reference

What is named here is public and stays; everything else may change with any version.

| page | module | names |
|---|---|---|
{rows}

Messages of the protocol are typed in `dragoman.schema.v1`, generated from the published schema. What a client
may say to a hub beyond the protocol is on [its page](../hub-protocol.md).
"""


def _index() -> str:
    rows = []
    for page in PAGES:
        names = ", ".join(f"`{name}`" for name in page.names or public_names(page.module))
        rows.append(f"| [{page.title}]({page.file}) | `{page.module}` | {names} |")
    return INDEX.format(rows="\n".join(rows))
