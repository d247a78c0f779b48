"""The gate's table through real doors: a listening hub, real tokens, every dialect, and an agent that tells
what it got.

Each row is once allowed and once refused for every reason that it can be refused for; all other combinations
of method, scopes, place, door and dialect are covered pair by pair. Refused means that nothing of it reached
the agent, and that the client was told why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from dragoman.dialect.names import DIALECTS
from dragoman_hub.gate.table import (
    AGENT_EXTENSION,
    HISTORY,
    NOTIFICATIONS,
    REQUESTS,
    SESSION_EXTENSION,
    GateRow,
)
from tests.house import COUNTED
from tests.hub.outside.gate_stage import (
    ACTS,
    DOORS,
    FOR_OTHERS,
    PLACES,
    SCOPE_SETS,
    Cell,
    GateStage,
    Outcome,
    running_stage,
)
from tests.pairwise import pairwise

pytestmark = [
    pytest.mark.bound(120),
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("patient_looks"),
]

ROWS: dict[tuple[str, bool], GateRow] = {
    **{(name, True): row for name, row in (REQUESTS | HISTORY).items()},
    **{(name, False): row for name, row in NOTIFICATIONS.items()},
    ("_vendor/session", True): SESSION_EXTENSION,
    ("vendor/unknown", True): SESSION_EXTENSION,
    ("_vendor/session", False): SESSION_EXTENSION,
    ("_vendor/agent", True): AGENT_EXTENSION,
}

UNKNOWN_TO_ACPEX = frozenset(
    {
        *("logout", "session/resume", "session/fork", "session/list", "session/close", "session/delete"),
        *("session/set_config_option", "vendor/unknown"),
        *("auth/status", "providers/list", "providers/set", "providers/disable"),
        *("session/status", "session/archive", "session/unarchive", "session/set_title"),
    }
)
UNSAYABLE: dict[str, frozenset[str]] = {
    "acpex": UNKNOWN_TO_ACPEX,
    "acpex-wire": UNKNOWN_TO_ACPEX,
    "crow": UNKNOWN_TO_ACPEX | {"authenticate", "session/set_mode"},
    "threads": frozenset(
        {method for method, _ in ROWS}
        - {"session/new", "session/load", "session/resume", "session/list", "session/prompt"}
        - HISTORY.keys()
    ),
    "v2": frozenset({"session/set_mode"}),  # a mode is an option there
}
"""What clients of a dialect have no words for, or say to nobody."""

PLACELESS = {
    ("threads", method)
    for method in ("session/new", "session/load", "session/resume", "session/list", "session/prompt")
}
"""Where a dialect has no words for the folder, and says a link as text."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateStage]:
    with running_stage(tmp_path_factory.mktemp("cells")) as stage:
        yield stage


def has_place(method: str, is_request: bool) -> bool:
    act, row = ACTS[method, is_request], ROWS[method, is_request]
    return bool(row.places) or act.about_session


def is_allowed(cell: Cell) -> bool:
    row = ROWS[cell.method, cell.is_request]
    scopes = set(SCOPE_SETS[cell.scopes])
    if scopes & {"prompt", "admin"}:
        scopes.add("observe")
    needed = set(row.scopes)
    if cell.method == "$/cancel_request":  # it means prompts of one's own, and who has none cancels nothing
        needed = {"prompt"}
    is_enough = row.besides is None or row.besides in scopes
    return (not needed or bool(scopes & needed)) and is_enough and PLACES[cell.place]


def fault_of(cell: Cell, outcome: Outcome, *, allowed: bool) -> str:
    """What is wrong with what came of a cell; empty if nothing is."""
    act = ACTS[cell.method, cell.is_request]
    error = outcome.answer.get("error")
    if not outcome.was_said:
        return "nothing was put on the wire"
    if allowed:
        if error is not None and cell.is_request:
            return f"it is allowed, and answered with {error}"
        if act.hides and not outcome.is_shown:
            return f"it is not shown in {outcome.answer}"
        missing = act.reaches and act.reaches not in outcome.received
        return f"the agent did not get {act.reaches}" if missing else ""
    if outcome.received:
        return f"it is refused, and the agent got {outcome.received}"
    if not cell.is_request:
        return ""
    if act.hides and not PLACES[cell.place] and (error is None or error["message"] == NO_THREAD):
        return "it is shown" if outcome.is_shown else ""
    if cell.dialect == "crow" and cell.method == "session/prompt":  # which has one word for a turn that fails
        return (
            "" if error is not None and error["data"] == {"stop_reason": "error"} else f"refused with {error}"
        )
    is_clear = error is not None and "Forbidden: this token may not" in error["message"]
    return "" if is_clear else f"it is refused with {error}"


NO_THREAD = "there is no such thread"


async def tried(stage: GateStage, cells: list[tuple[Cell, str]], verdict: Callable[[Cell], bool]) -> None:
    """Every cell is tried, also behind one that fails."""
    faults = []
    for cell, named in cells:
        row = ROWS[cell.method, cell.is_request]
        fault = fault_of(cell, await stage.perform(cell, row, named=named), allowed=verdict(cell))
        if fault:
            faults.append(f"{cell} {named}: {fault}")
    assert not faults, f"{len(faults)} of {len(cells)} cells:\n" + "\n".join(faults)


def test_every_row_has_an_act_and_every_act_a_row() -> None:
    assert ACTS.keys() == ROWS.keys(), "ACTS of gate_stage.py and the gate's table differ"


def allowed_once() -> list[tuple[Cell, str]]:
    return [
        (Cell(method, is_request, "all", "inside", "websocket", dialect_for(method)), "")
        for method, is_request in ROWS
    ]


def refused_once() -> list[tuple[Cell, str]]:
    """For each row: without its scope, with each of its places outside, and for an agent of others."""
    cells: list[tuple[Cell, str]] = []
    for (method, is_request), row in ROWS.items():
        cell = Cell(method, is_request, "all", "inside", "websocket", dialect_for(method))
        if row.scopes or method == "$/cancel_request":
            cells.append((cell._replace(scopes="nothing"), ""))
        if row.places:
            cells += [(cell._replace(place="outside"), name) for name, _ in row.places]
        elif has_place(method, is_request):
            cells.append((cell._replace(place="outside"), ""))
        if row.names_agent:
            cells.append((cell._replace(scopes=FOR_OTHERS), ""))
    return cells


def dialect_for(method: str) -> str:
    return "threads" if method in HISTORY else "v1"


async def test_each_row_is_once_allowed_and_refused_for_each_reason_through_a_real_door(
    stage: GateStage, record_property: Callable[[str, object], None]
) -> None:
    allowed, refused = allowed_once(), refused_once()
    assert {(cell.method, cell.is_request) for cell, _ in refused} == ROWS.keys()
    async with stage:
        await tried(stage, allowed, lambda cell: True)
        await tried(stage, refused, lambda cell: False)
    counts = f"{len(allowed)} cells allowed and {len(refused)} refused"
    record_property(COUNTED, f"gate through real doors: {len(ROWS)} rows, {counts}")


def can_be(values: dict[str, Any]) -> bool:
    """Whether there is such a cell."""
    (method, is_request), dialect = values["row"], values["dialect"]
    if method in UNSAYABLE.get(dialect, ()) or (method in HISTORY) > (dialect == "threads"):
        return False
    if dialect == "threads" and values["door"] == "http":  # which begins with `initialize`
        return False
    can_name_place = has_place(method, is_request) and (dialect, method) not in PLACELESS
    return can_name_place or values["place"] == "inside"


def cover() -> list[tuple[Cell, str]]:
    parameters: dict[str, list[Any]] = {
        "row": list(ROWS),
        "scopes": list(SCOPE_SETS),
        "place": list(PLACES),
        "door": list(DOORS),
        "dialect": list(DIALECTS),
    }
    rows = pairwise(parameters, can_be)
    return [(Cell(*values.pop("row"), **values), "") for values in rows]


@pytest.mark.parametrize("dialect", UNSAYABLE)
async def test_what_a_dialect_has_no_words_for_is_never_said(stage: GateStage, dialect: str) -> None:
    async with stage:
        for method, is_request in ROWS:
            if method in UNSAYABLE[dialect] and is_request:
                cell = Cell(method, is_request, "all", "inside", "websocket", dialect)
                outcome = await stage.perform(cell, ROWS[method, is_request])
                assert not outcome.was_said, cell


PARTS = 6
"""`make test` tries one part of the pairs, with every scope, place, door and dialect; `make test-all` all."""


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))]
)
async def test_all_else_holds_pair_by_pair(
    stage: GateStage, part: int, record_property: Callable[[str, object], None]
) -> None:
    cells = cover()
    some = Random(7).sample(cells, len(cells))[part::PARTS]
    for name in ("scopes", "place", "door", "dialect"):
        assert {getattr(cell, name) for cell, _ in some} == {getattr(cell, name) for cell, _ in cells}
    async with stage:
        await tried(stage, some, is_allowed)
    names = "method × scopes × place × door × dialect"
    record_property(
        COUNTED, f"gate through real doors: {len(some)} of {len(cells)} cells that cover all pairs of {names}"
    )
