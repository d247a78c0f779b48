"""Whether what an agent says of a call goes on from what it has said before."""

from __future__ import annotations

from typing import Any

from dragoman_local.workspace.policy.tool_inputs import _continues
from tests.every import every


@every(
    ("before", "after", "expected"),
    [
        ("rm", "rm -rf", True),
        ("rm", "ls", False),
        ("rm", ["rm"], False),
        ("", "anything", True),
        ({"a": "x"}, {"a": "xy", "b": 1}, True),
        ({"a": "x"}, {"b": "x"}, False),
        ({"a": "x"}, {"a": "y"}, False),
        ({"a": "x"}, "x", False),
        (["a"], ["ab", "c"], True),
        (["a", "b"], ["a"], False),
        (["a"], ["b"], False),
        (["a"], "a", False),
        ([{"a": ["x"]}], [{"a": ["xy"]}], True),
        (7, 8, True),
        (None, "x", True),
    ],
)
def test_a_value_goes_on_if_nothing_of_it_is_taken_back(before: Any, after: Any, expected: bool) -> None:
    assert _continues(before, after) is expected
