"""Every answer on the page about security is shown by tests that exist; `tests/threats.toml` names them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
SHOWN: dict[str, list[str]] = tomllib.loads((ROOT / "tests" / "threats.toml").read_text("utf-8"))
PLACES = (
    "packages/app/tests/cli",
    "tests/hostile",
    "packages/hub/tests/hub",
    "packages/local/tests/journal",
    "packages/hub/tests/remote",
    "tests/seeds",
    "packages/hub/tests/web",
    "packages/local/tests/workspace",
)


DEFINED = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)


def rows() -> list[list[str]]:
    table = PAGE.partition("## Threats and answers")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def known_tests() -> set[str]:
    return {
        name
        for place in PLACES
        for path in (ROOT / place).rglob("test_*.py")
        for name in DEFINED.findall(path.read_text("utf-8"))
    }


def test_every_threat_has_an_answer_and_something_that_shows_it() -> None:
    known = known_tests()
    faults = set(
        re.findall(r"^\| ([A-Z]{3}-X?\d+) \|", (ROOT / "tests/faults/FAULTS.md").read_text("utf-8"), re.M)
    )
    assert len(rows()) > 20
    assert [threat for threat, _ in rows()] == list(SHOWN)
    for threat, answer in rows():
        assert answer
        named = set(SHOWN[threat])
        assert named, f"nothing shows the answer to {threat}"
        assert named <= known | faults, f"{threat}: there are no tests {named - known - faults}"


def test_the_bounds_that_the_page_tells_are_those_of_the_code() -> None:
    from dragoman_hub.gate.admission import TICKET_SECONDS
    from dragoman_hub.gate.rates import WRONG_TOKENS, Rate
    from dragoman_local.journal.sealed_search import SCANNED

    assert Rate(10, 60.0) == WRONG_TOKENS
    assert f"for {TICKET_SECONDS:g} seconds" in PAGE
    assert f"up to {SCANNED:,} of them" in PAGE
