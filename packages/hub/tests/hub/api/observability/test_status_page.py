"""docs/operations.md tells of every metric and of every member of the status, and of no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman_hub.api.observability.hub_meters import HubMeters
from dragoman_hub.api.observability.status import (
    AgentStatus,
    JournalStatus,
    SeenConnection,
    SessionStatus,
    Status,
    Totals,
    Use,
)
from dragoman_hub.api.observability.usage import Tokens

PAGE = (Path(__file__).parents[6] / "docs" / "operations.md").read_text("utf-8")


def table(after: str) -> str:
    """The first table behind a place."""
    lines = PAGE[PAGE.index(after) :].splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append(line)
    return "\n".join(rows)


def named(text: str) -> set[str]:
    return set(re.findall(r"`([A-Za-z0-9_]+)`", text))


def members(struct: Any) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def test_every_metric_is_on_the_page() -> None:
    families = {family.name: family for family in HubMeters().meters}
    listed: dict[str, set[str]] = {}
    for row in table("## Metrics").splitlines()[2:]:
        names, labels, _ = row.strip("|").split("|", 2)
        listed |= {name: named(labels) for name in named(names)}
    assert listed == {name: set(family.labels) for name, family in families.items()}


def test_alerts_are_about_metrics_that_there_are() -> None:
    told = set(re.findall(r"dragoman_[a-z_]+", table("## What to alert on")))
    names = {family.name for family in HubMeters().meters}
    assert told
    assert {re.sub(r"_bucket$", "", name) for name in told} <= names


@pytest.mark.parametrize(
    ("after", "structs"),
    [
        ("## Status", [Status, Use, JournalStatus, Totals]),
        ("| of an agent", [AgentStatus, Tokens]),
        ("| of a session", [SessionStatus]),
        ("| of a connection", [SeenConnection]),
    ],
)
def test_every_member_of_the_status_is_on_the_page(after: str, structs: list[Any]) -> None:
    wanted = set().union(*map(members, structs))
    assert wanted <= named(table(after))
