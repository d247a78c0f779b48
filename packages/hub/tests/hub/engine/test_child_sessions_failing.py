"""A journal that fails while an agent speaks of a child: it is asked again, and nothing is guessed."""

from __future__ import annotations

import pytest

from dragoman.errors import JournalBusy, JournalDamaged, JournalError
from dragoman_hub.engine import child_sessions
from dragoman_hub.engine.child_sessions import FIND_TRIES, _with_retries


@pytest.mark.parametrize(
    ("failures", "tries", "is_read"),
    [
        ([], 1, True),
        ([JournalBusy("later")] * 3, 4, True),
        ([JournalBusy("later")] * FIND_TRIES, FIND_TRIES + 1, True),
        ([JournalBusy("later")] * (FIND_TRIES + 1), FIND_TRIES + 1, False),
        ([JournalDamaged("a hole")], 1, False),
        ([JournalBusy("later"), JournalDamaged("a hole")], 2, False),
    ],
)
async def test_a_journal_that_fails_is_asked_again_and_a_damaged_one_is_not(
    failures: list[JournalError], tries: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_sessions, "FIND_SECONDS", 0.0)
    left, tried = list(failures), 0

    async def read() -> str:
        nonlocal tried
        tried += 1
        if left:
            raise left.pop(0)
        return "read"

    if is_read:
        assert await _with_retries("s", read) == "read"
    else:
        with pytest.raises(JournalError):
            await _with_retries("s", read)
    assert tried == tries
