"""Breakouts: each gets through without a sandbox and none behind it, but for what no kernel can hold."""

from __future__ import annotations

import os
import sys

import pytest

from tests.sandbox import breakouts
from tests.sandbox.breakout_machine import person
from tests.sandbox.stage import STRANGER, need_wall

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")

USERS = [0, STRANGER] if os.getuid() == 0 else [os.getuid()]

NOT_HELD = {
    "a_lock_of_a_whole_file",
    "take_what_others_write_into_a_pipe",
    "git_a_rebase_that_the_person_goes_on_with",
}
"""The first section of `docs/sandbox.md` names each."""

PROFILES = {
    breakouts.WORKSPACE: "workspace",
    breakouts.HOME: "workspace",
    breakouts.NET: "workspace+net:allowed.dragoman.test:PORT/private",
}


@pytest.mark.bound(60)
@pytest.mark.parametrize("on", PROFILES)
@pytest.mark.parametrize("uid", USERS, ids=lambda uid: "root" if uid == 0 else "user")
def test_every_escape_works_without_the_wall_and_none_behind_it(uid: int, on: str) -> None:
    need_wall()
    behind = person(uid, on, PROFILES[on])
    assert behind["told"].keys() == set(breakouts.for_stage(on)), behind["output"]
    assert {name: how for name, how in behind["through"].items() if name not in NOT_HELD} == {}
    assert behind["strangers"] == []
    if on != breakouts.WORKSPACE and uid != USERS[0]:
        return  # what these attempts need is no matter of rights
    without = person(uid, on, "off")
    failed = without["told"].keys() - without["through"].keys()
    assert {name: without["told"][name] for name in failed if not breakouts.TABLE[name][2]} == {}
