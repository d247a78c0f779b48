"""Findings that are kept for the next review."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.review import ReviewSettings, ReviewSource, own_rules, parse_rules
from dragoman.review.finding_cache import LARGEST_SHARD, FindingCache
from tests.review.samples import reviewed
from tests.review.secret_examples import TEXTS, python_with_secrets, secrets_in

pytestmark = pytest.mark.usefixtures("rules_in_this_process")

TEXT = "import os\nx = eval(y)  # noqa: F821\n"
RULE = '[[rule]]\nid = "team/eval"\ntitle = "t"\nwhy = "w"\nseverity = "low"\npattern = "eval"\n'


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_a_second_review_of_the_same_text_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    settings = ReviewSettings(cache=str(tmp_path))
    sources = [ReviewSource("a.py", TEXT), ReviewSource("b.js", "eval(x);\n")]
    first = await reviewed(*sources, settings=settings)
    kept = {path: path.stat().st_mtime_ns for path in entries(tmp_path)}
    second = await reviewed(*sources, settings=settings)
    assert {"python/eval", "python/unused-import", "javascript/no-eval"} <= {found.rule for found in first}
    assert sorted(second, key=repr) == sorted(first, key=repr)
    assert {path: path.stat().st_mtime_ns for path in entries(tmp_path)} == kept
    assert len(kept) == 2


async def test_what_is_kept_holds_no_secret(tmp_path: Path) -> None:
    settings = ReviewSettings(cache=str(tmp_path), use_oxlint=False)
    found = await reviewed(
        ReviewSource("a.py", python_with_secrets()),
        ReviewSource("b.txt", "\n".join(TEXTS)),
        settings=settings,
    )
    assert {"python/none-comparison", "secrets/aws-key"} <= {finding.rule for finding in found}
    assert secrets_in(b"".join(path.read_bytes() for path in entries(tmp_path))) == []


async def test_what_is_kept_is_believed(tmp_path: Path) -> None:
    settings = ReviewSettings(cache=str(tmp_path), use_oxlint=False)
    await reviewed(ReviewSource("a.py", TEXT), settings=settings)
    (entry,) = entries(tmp_path)
    entry.write_bytes(b"\x90")  # an empty list
    assert await reviewed(ReviewSource("a.py", TEXT), settings=settings) == []
    entry.write_bytes(b"half of it")
    assert await reviewed(ReviewSource("a.py", TEXT), settings=settings) != []


async def test_another_text_another_name_or_another_rule_is_looked_at_anew(tmp_path: Path) -> None:
    settings = ReviewSettings(cache=str(tmp_path))
    await reviewed(ReviewSource("a.py", TEXT), settings=settings)
    await reviewed(ReviewSource("a.py", TEXT + "\n"), settings=settings)
    await reviewed(ReviewSource("b.py", TEXT), settings=settings)
    more = ReviewSettings(cache=str(tmp_path), rules=parse_rules(RULE, "x.toml"))
    assert "team/eval" in {found.rule for found in await reviewed(ReviewSource("a.py", TEXT), settings=more)}
    assert len(entries(tmp_path)) == 4


async def test_settings_choose_among_what_is_kept(tmp_path: Path) -> None:
    await reviewed(ReviewSource("a.py", TEXT), settings=ReviewSettings(cache=str(tmp_path)))
    chosen = ReviewSettings(cache=str(tmp_path), only=("python/eval",))
    assert {found.rule for found in await reviewed(ReviewSource("a.py", TEXT), settings=chosen)} == {
        "python/eval"
    }
    lines = ReviewSource("a.py", TEXT, frozenset({1}))
    found = await reviewed(lines, settings=ReviewSettings(cache=str(tmp_path)))
    assert {finding.line for finding in found} == {1}


async def test_a_folder_that_cannot_be_used_is_an_empty_cache(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = await reviewed(ReviewSource("a.py", TEXT), settings=ReviewSettings(cache=str(blocked)))
    assert "python/eval" in {finding.rule for finding in found}


def test_a_shard_that_is_full_loses_its_oldest_entries(tmp_path: Path) -> None:
    cache = FindingCache(tmp_path, own_rules(), ())
    keys = [f"ab{number:062x}" for number in range(LARGEST_SHARD + 1)]
    for age, key in enumerate(keys):
        cache.write(key, [])
        if (place := tmp_path / "ab" / key[2:]).exists():
            os.utime(place, ns=(age, age))
    assert len(entries(tmp_path)) <= LARGEST_SHARD // 2 + 1
    assert cache.read(keys[-1]) is not None
    assert cache.read(keys[0]) is None


_REVIEWS = """
import asyncio, sys
from dragoman.review import ReviewSettings, ReviewSource, review

async def main():
    settings = ReviewSettings(cache=sys.argv[1], use_ruff=False, use_oxlint=False)
    return [finding async for finding in review([ReviewSource("a.py", "x = eval(y)\\n")], settings)]

print(len(asyncio.run(main())), "dragoman.review.judges" in sys.modules)
"""


def test_what_judges_texts_is_loaded_only_for_a_text_that_is_not_known(tmp_path: Path) -> None:
    def outcome() -> list[str]:
        command = [sys.executable, "-c", _REVIEWS, str(tmp_path)]
        return subprocess.run(command, capture_output=True, check=True, text=True, timeout=60).stdout.split()

    assert outcome() == ["1", "True"]
    assert outcome() == ["1", "False"]
