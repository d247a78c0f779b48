"""When a write meets something that its agent does not know."""

from __future__ import annotations

from dragoman_local.workspace.refusals import CONFLICT
from dragoman_local.workspace.versions import ABSENT, KnownVersion
from dragoman_local.workspace.write_conflicts import (
    Kind,
    WriteClash,
    base_of,
    conflict_refused,
    kind_of_clash,
)
from tests.every import every

READ = KnownVersion("v1", "text")
MISSING = KnownVersion(ABSENT)


@every(
    ("known", "now", "strict", "has_forgotten", "kind"),
    [
        (READ, "v1", False, False, None),
        (READ, "v2", False, False, "changed"),
        (READ, ABSENT, False, False, "deleted"),
        (MISSING, ABSENT, False, False, None),
        (MISSING, "v1", False, False, "appeared"),
        (None, ABSENT, True, True, None),
        (None, "v1", False, False, None),
        (None, "v1", True, False, "not_read"),
        (None, "v1", True, True, "not_read"),
        (None, "v1", False, True, "forgotten"),
        (READ, "v1", True, True, None),
    ],
)
def test_what_is_there_is_held_against_what_is_known(
    known: KnownVersion | None, now: str, strict: bool, has_forgotten: bool, kind: Kind | None
) -> None:
    assert kind_of_clash(known, now, strict=strict, has_forgotten=has_forgotten) == kind


def test_a_missing_file_is_known_to_hold_nothing() -> None:
    assert [base_of(known) for known in (None, READ, MISSING, KnownVersion("v1"))] == [None, "text", "", None]


@every("kind", ["changed", "appeared", "deleted", "not_read", "forgotten"])
def test_a_refusal_says_what_happened_and_not_what_is_in_the_file(kind: Kind) -> None:
    error = conflict_refused(WriteClash(kind, "/path", "v2", "my secret", "their secret"))
    assert error.code == CONFLICT
    assert error.data["version"] == "v2"
    assert "secret" not in f"{error.message} {error.data}"
    assert (
        "merged" in conflict_refused(WriteClash(kind, "/path", "v2", None, None), merge_failed=True).message
    )
