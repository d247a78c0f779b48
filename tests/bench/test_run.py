"""What a whole run of the benchmark writes."""

from __future__ import annotations

from pathlib import Path

from harness.processes import BENCH
from run import BY_HAND, notes_below

TABLE = "# Results\n\n| what | so much |\n\nFailures:\n\n- somebody\n"


def test_what_people_wrote_below_the_table_stays(tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    results.write_text(TABLE + notes_below(results))
    assert results.read_text() == TABLE + BY_HAND, "nobody has written anything"
    words = "\nNot reached, and why: because.\n\nMore.\n\n## And then\n\nNothing.\n"
    results.write_text(results.read_text() + words)
    for _ in range(2):
        results.write_text(TABLE + notes_below(results))
        assert results.read_text() == TABLE + BY_HAND + words


def test_the_results_say_where_the_table_ends() -> None:
    table, mark, _ = (BENCH / "results.md").read_text().partition(BY_HAND)
    assert mark
    assert table.endswith("|\n")
    assert "\n| " in table
