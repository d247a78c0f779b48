"""What an agent is told when the system says no."""

from __future__ import annotations

import errno

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.refusals import from_system, reason_of
from tests.every import every


@every(
    ("number", "code", "reason"),
    [
        (errno.ENOENT, -32002, "missing"),
        (errno.EACCES, 403, "no_permission"),
        (errno.ENOSPC, -32603, "no_space"),
        (errno.EIO, -32603, "system"),
        (0, -32603, "system"),
    ],
)
def test_a_systems_error_becomes_a_refusal_without_its_text(number: int, code: int, reason: str) -> None:
    refusal = from_system(OSError(number, "text", "/secret/path"))
    assert (refusal.code, reason_of(refusal)) == (code, reason)
    assert "secret" not in f"{refusal.message} {refusal.data}"


def test_an_error_of_somebody_else_has_no_reason() -> None:
    assert reason_of(ErrorAnswer(1, "x")) == reason_of(ErrorAnswer(1, "x", ["reason"])) == ""
