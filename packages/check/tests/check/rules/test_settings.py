"""CFG: options and modes side by side."""

from __future__ import annotations

from typing import Any

from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.check.rules.test_modes import MODES
from tests.check.rules.test_options import GROUPED, MODE, MODE_B, set_to


def both(**changes: Any) -> Talk:
    return Talk().new("s", result={"modes": MODES, "configOptions": [{**MODE, **changes}]})


def only_modes() -> Talk:
    return Talk().new("s", result={"modes": MODES})


def set_mode(talk: Talk, mode: str = "b") -> Talk:
    return talk.call("session/set_mode", {"sessionId": "s", "modeId": mode})


def test_cfg_02_options_are_used_instead_of_modes() -> None:
    keeps("CFG-02", set_to("b", MODE_B, talk=both()), "client")
    breaks("CFG-02", set_mode(both()), "client")
    says_nothing("CFG-02", set_mode(only_modes()), "client")


def test_cfg_03_without_options_modes_are_used() -> None:
    keeps("CFG-03", set_mode(only_modes()), "client")
    breaks("CFG-03", set_to("b", talk=only_modes(), code=-32602), "client")


def test_cfg_04_modes_and_the_option_say_the_same() -> None:
    keeps("CFG-04", both())
    breaks("CFG-04", both(currentValue="b"))
    breaks("CFG-04", both(category="other"))
    says_nothing("CFG-04", only_modes())


def test_cfg_04_a_mode_that_is_set_is_the_value_of_its_option() -> None:
    def changed(option: Any) -> Talk:
        return set_mode(both()).add(update("s", "config_option_update", configOptions=[option]))

    keeps("CFG-04", changed(MODE_B))
    breaks("CFG-04", changed(MODE))


SLIDER: dict[str, Any] = {"id": "mode", "name": "X", "type": "slider", "currentValue": 5}


def test_cfg_09_options_of_unknown_types_are_left_out() -> None:
    odd = Talk().new("s", result={"configOptions": [SLIDER]})
    keeps("CFG-09", odd.prompt("s"), "client")
    breaks("CFG-09", set_to("b", talk=odd, code=-32602), "client")
    says_nothing("CFG-09", both().prompt("s"), "client")


def test_cfg_10_a_client_lives_with_unknown_categories() -> None:
    keeps("CFG-10", both(category="_mine").prompt("s"), "client")
    breaks("CFG-10", Talk().new("s", result={"configOptions": [GROUPED]}).died(), "client")
    says_nothing("CFG-10", both().prompt("s"), "client")


def test_cfg_20_each_list_replaces_the_one_before() -> None:
    def shrunk() -> Talk:
        talk = Talk().new("s", result={"configOptions": [MODE, GROUPED]})
        return talk.add(update("s", "config_option_update", configOptions=[GROUPED]))

    keeps("CFG-20", set_to("x", talk=shrunk(), configId="model"), "client")
    breaks("CFG-20", set_to("b", talk=shrunk()), "client")
    says_nothing("CFG-20", set_to("b", talk=both()), "client")
