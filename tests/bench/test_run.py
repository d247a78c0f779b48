"""What a whole run of the benchmark writes."""

from __future__ import annotations

from pathlib import Path

from run import notes_below


def test_what_people_wrote_below_the_table_stays(tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    assert notes_below(results) == ""
    results.write_text("# Results\n\n| what | so much |\n\n## Why\n\nBecause.\n\n## And then\n\nNothing.\n")
    assert notes_below(results) == "\n## Why\n\nBecause.\n\n## And then\n\nNothing.\n"
