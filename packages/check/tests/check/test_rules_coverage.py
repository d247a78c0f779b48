"""Rules and reasons cover the catalogue: what is judged, what cannot be seen and why, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dragoman_check.manifest import requirements
from dragoman_check.rules import reasons, rules_by_requirement

LEAST = 400
"""How many requirements are judged by rules at the least."""


def test_rules_are_about_requirements_that_there_are() -> None:
    unknown = rules_by_requirement().keys() - requirements().keys()
    assert unknown == set(), "write them down in packages/check/src/dragoman_check/requirements.json"


def test_reasons_are_about_requirements_that_there_are() -> None:
    assert reasons().keys() - requirements().keys() == set()


def test_every_requirement_has_a_rule_or_a_reason() -> None:
    missing = requirements().keys() - rules_by_requirement().keys() - reasons().keys()
    assert missing == set(), (
        "each needs a rule in check/rules, or a reason in UNOBSERVED of its area's module"
    )


def test_no_requirement_has_a_rule_and_a_reason_why_there_is_none() -> None:
    assert rules_by_requirement().keys() & reasons().keys() == set()


def test_a_reason_is_a_sentence() -> None:
    assert [name for name, why in reasons().items() if len(why.split()) < 3] == []


def test_a_rule_judges_a_side_that_its_requirements_bind() -> None:
    wrong = {
        (rule.name, rule.side, name)
        for name, rules in rules_by_requirement().items()
        if name in requirements()
        for rule in rules
        if rule.side not in requirements()[name].sides
    }
    assert wrong == set()


def test_a_rule_has_a_name_of_its_own_and_says_what_to_change() -> None:
    rules = {id(rule): rule for found in rules_by_requirement().values() for rule in found}.values()
    names = [(rule.name, rule.side) for rule in rules]
    assert sorted(names) == sorted(set(names))
    assert [rule.name for rule in rules if not rule.fix.strip()] == []


def test_every_rule_names_the_pages_of_the_specification_that_it_follows() -> None:
    rules = {id(rule): rule for found in rules_by_requirement().values() for rule in found}.values()
    assert [rule.name for rule in rules if not rule.pages or not all(rule.pages)] == []


def test_every_requirement_has_the_address_of_a_page() -> None:
    starts = ("https://agentclientprotocol.com/", "https://www.jsonrpc.org/")
    homeless = [one.id for one in requirements().values() if not one.page.startswith(starts)]
    assert homeless == [], "`source` begins with a word that _PAGES of check/manifest.py does not have"


def test_a_requirement_whose_source_nobody_knows_has_no_page() -> None:
    unknown = msgspec.structs.replace(requirements()["TURN-05"], source="hearsay")
    assert unknown.page == ""


def test_a_requirement_has_the_page_of_its_source_before_the_page_of_its_area() -> None:
    site = "https://agentclientprotocol.com/"
    found = {name: requirements()[name].page.removeprefix(site) for name in ("INIT-07", "ADIR-05", "TURN-16")}
    assert found == {
        "INIT-07": "protocol/v1/initialization",
        "ADIR-05": "rfds/additional-directories",
        "TURN-16": "protocol/v1/prompt-turn",  # which is silent about it
    }


def test_most_of_the_catalogue_is_judged() -> None:
    assert len(rules_by_requirement()) >= LEAST


def test_the_page_says_how_many_requirements_there_are() -> None:
    page = Path(__file__).parents[4] / "docs" / "check.md"
    sentence = f"Of {len(requirements())} requirements at least {LEAST} are judged by rules"
    assert sentence in page.read_text(), f"write into {page}: {sentence}"
