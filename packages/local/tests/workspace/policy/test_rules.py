"""Whether an act names a path, or might: each way to name one, for rules and for what nobody but a person may
allow.
"""

from __future__ import annotations

from typing import Any

from dragoman_local.workspace.policy.act import TOO_LARGE, Act
from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.globs import ANY
from dragoman_local.workspace.policy.rules import ActPart, touches
from tests.every import every

NO, PERHAPS, YES = Certainty.NO, Certainty.PERHAPS, Certainty.YES


@every(
    ("act", "part", "found", "for_sure"),
    [
        ({}, {}, NO, NO),
        ({}, {"paths": ("/p/secret",)}, YES, YES),
        ({}, {"paths": ("/p/other",)}, NO, NO),
        ({}, {"paths": (f"/p/{ANY}",)}, PERHAPS, NO),
        ({}, {"trees": ("/p",)}, PERHAPS, PERHAPS),
        ({}, {"trees": ("/q",)}, NO, NO),
        ({"possible_places": ("/p/secret",)}, {}, PERHAPS, PERHAPS),
        ({"possible_places": ("/p/other",)}, {}, NO, NO),
        ({"possible_places": (f"/p/{ANY}",)}, {}, PERHAPS, NO),
        ({"doubts": (TOO_LARGE,)}, {}, PERHAPS, NO),
        ({"variables": ("LD_PRELOAD=x",)}, {}, PERHAPS, NO),
    ],
)
def test_what_may_be_anything_might_be_a_path_and_is_none_for_sure(
    act: dict[str, Any], part: dict[str, Any], found: Certainty, for_sure: Certainty
) -> None:
    whole = Act(method="permission", roots=("/p",), home="/h", **act)
    asked = ActPart(act=whole, **part)
    assert touches(("/p/secret",), asked) is found
    assert touches(("/p/secret",), asked, is_sure=True) is for_sure
