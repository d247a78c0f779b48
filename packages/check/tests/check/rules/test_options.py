"""CFG: options."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update

MODE: dict[str, Any] = {
    "id": "mode",
    "name": "Mode",
    "type": "select",
    "category": "mode",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
}
GROUPED: dict[str, Any] = {
    "id": "model",
    "name": "Model",
    "type": "select",
    "currentValue": "x",
    "options": [{"group": "g", "name": "G", "options": [{"value": "x", "name": "X"}]}],
}
BOOLEAN: dict[str, Any] = {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": True}
KNOWS: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}


def offered(*options: Any, wants: Any = None) -> Talk:
    return Talk(wants=wants).new("s", result={"configOptions": list(options)})


def set_to(value: Any, *after: Any, talk: Talk | None = None, code: int = 0, **more: Any) -> Talk:
    talk = offered(MODE, GROUPED) if talk is None else talk
    params = {"sessionId": "s", "configId": "mode", "value": value, **more}
    return talk.call("session/set_config_option", params, {"configOptions": list(after)}, code=code)


MODE_B = {**MODE, "currentValue": "b"}


@pytest.mark.parametrize("requirement", ["CFG-01", "CFG-05"])
def test_options_are_whole(requirement: str) -> None:
    keeps(requirement, offered(MODE, GROUPED, BOOLEAN))
    for wrong in (
        {"id": None},
        {"name": 5},
        {"type": None},
        {"options": None},
        {"options": [{"value": "a"}]},
        {"options": [{"name": "G", "options": []}]},
        {"currentValue": True},
    ):
        breaks(requirement, offered({**MODE, **wrong}))
    breaks(requirement, offered({**BOOLEAN, "currentValue": "yes"}))
    keeps(requirement, offered({"id": "x", "name": "X", "type": "slider"}))


def test_cfg_06_every_option_has_a_value() -> None:
    keeps("CFG-06", offered(MODE))
    breaks("CFG-06", offered({**MODE, "currentValue": None}))


def test_cfg_07_the_value_of_a_select_is_one_of_its_choices() -> None:
    keeps("CFG-07", offered(MODE, GROUPED))
    breaks("CFG-07", offered({**GROUPED, "currentValue": "y"}))


def test_cfg_08_booleans_are_for_clients_that_know_them() -> None:
    keeps("CFG-08", offered(BOOLEAN, wants=KNOWS))
    breaks("CFG-08", offered(BOOLEAN))
    keeps("CFG-08", offered(MODE))
    breaks("CFG-08", offered(MODE).add(update("s", "config_option_update", configOptions=[MODE, BOOLEAN])))


def test_cfg_11_categories_are_known_or_private() -> None:
    keeps("CFG-11", offered(MODE, {**GROUPED, "category": "_mine"}))
    breaks("CFG-11", offered({**MODE, "category": "mine"}))
    says_nothing("CFG-11", offered(GROUPED))


def test_cfg_14_an_option_is_set_with_a_value_of_its_kind() -> None:
    keeps("CFG-14", set_to("b", MODE_B), "client")
    keeps("CFG-14", set_to(True, MODE_B, type="boolean"), "client")
    breaks("CFG-14", set_to(True, MODE_B), "client")
    breaks("CFG-14", set_to("true", MODE_B, type="boolean"), "client")
    breaks("CFG-14", set_to("b", MODE_B, configId=None), "client")


def test_cfg_15_the_type_of_a_text_does_not_matter() -> None:
    kinds: list[dict[str, Any]] = [{}, {"type": "id"}, {"type": "_odd"}]
    for kind in kinds:
        keeps("CFG-15", set_to("b", MODE_B, GROUPED, **kind))
        breaks("CFG-15", set_to("b", MODE, GROUPED, **kind))
        breaks("CFG-15", set_to("b", code=-32602, **kind))


def test_cfg_16_the_answer_lists_all_options() -> None:
    keeps("CFG-16", set_to("b", MODE_B, GROUPED))
    breaks("CFG-16", set_to("a", MODE))
    breaks("CFG-16", set_to("b", MODE_B, GROUPED).call("session/set_config_option", {"sessionId": "s"}))


def test_cfg_16_who_offers_no_options_lists_none() -> None:
    says_nothing("CFG-16", set_to("b", talk=Talk().new("s")))


def test_cfg_16_options_may_go_with_the_value_of_another() -> None:
    keeps("CFG-16", set_to("b", MODE_B))


def test_cfg_17_an_update_lists_all_options() -> None:
    keeps("CFG-17", offered(MODE, GROUPED).add(update("s", "config_option_update", configOptions=[MODE_B])))
    part = update("s", "config_option_update", configOptions=[MODE])
    breaks("CFG-17", offered(MODE, GROUPED).add(part))
    breaks("UPD-04", offered(MODE, GROUPED).add(part))


def test_cfg_18_what_was_not_offered_is_refused() -> None:
    keeps("CFG-18", set_to("c", code=-32602))
    breaks("CFG-18", set_to("c", MODE, GROUPED))
    keeps("CFG-18", set_to("a", configId="none", code=-32602))
    says_nothing("CFG-18", set_to("b", MODE_B, GROUPED))


def test_cfg_19_an_option_can_be_set_at_any_time() -> None:
    keeps("CFG-19", set_to("b", MODE_B, talk=offered(MODE).begin_prompt("s", "go")))
    breaks("CFG-19", set_to("b", code=-32600))
