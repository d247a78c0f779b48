"""Where the official material says two things: what the catalogue names is told."""

from __future__ import annotations

import re

from dragoman_check.manifest import CONTRADICTIONS, contradictions_of, requirements


def test_every_contradiction_that_the_catalogue_names_is_told() -> None:
    named = {
        name
        for one in requirements().values()
        for name in re.findall(r"CONF-\d\d", f"{one.requirement} {one.observe} {one.source}")
    }
    assert named == CONTRADICTIONS.keys()


def test_a_requirement_tells_its_own() -> None:
    assert contradictions_of(requirements()["INIT-08"]) == [CONTRADICTIONS["CONF-08"]]
    assert contradictions_of(requirements()["INIT-01"]) == []
