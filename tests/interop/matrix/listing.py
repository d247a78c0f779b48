"""The list of agents that ships, brought to what was tried: `make interop` writes both.

An agent that started and answered has the package, version, hash and date of its trial in the list, and
comes in no other way than the one that was tried. Every other entry keeps its version and has no date. What
the table does not say (the name, the licence, arguments, variables) stays as it is in the list. Pure: the
same list and the same table give the same list.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

from dragoman.decoders import convert
from dragoman_local.known.installation.registry import RegistryEntry
from tests.interop.matrix.effects import Matrix, MatrixRow


def update_list(shipped: dict[str, Any], matrix: Matrix) -> dict[str, Any]:
    """The list with what the table knows. It is as old as the newest trial in it."""
    rows = {row.name: row for row in matrix.agents if row.is_usable}
    entries = [_update_entry(entry, rows.get(row_name(entry, rows))) for entry in shipped["agents"]]
    made = max([entry["tested"] for entry in entries if "tested" in entry], default=shipped["made"])
    return {**shipped, "made": made, "agents": entries}


def render_list(shipped: dict[str, Any]) -> str:
    return json.dumps(shipped, indent=2, ensure_ascii=False) + "\n"


def row_name(entry: dict[str, Any], rows: Container[str]) -> str:
    """The name that the table has for an entry of the list: our name of the agent, else its id."""
    known = convert(entry, RegistryEntry).agent_name
    return known if known in rows else str(entry["id"])


def _update_entry(entry: dict[str, Any], row: MatrixRow | None) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name != "tested"}
    if row is None:
        return kept
    kind, member = ("uvx", "sha256") if "==" in row.package else ("npx", "integrity")
    before = entry["distribution"].get(kind, {})
    source = {name: value for name, value in before.items() if name not in ("package", "integrity", "sha256")}
    hashes = {member: row.hash} if row.hash else {}
    distribution = {kind: {"package": row.package, **source, **hashes}}
    return {**kept, "version": row.version, "tested": row.date, "distribution": distribution}
