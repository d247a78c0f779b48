"""`tools/prove`: mistakes are drawn by a number, made one at a time, and noticed by a test that fails."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from pathlib import Path

import pytest

from prove.mutants import AREAS, OPERATORS, draw, every_mutant, mutants_of, mutated
from prove.reach import ReachMap
from prove.trial import Bench
from tests.boxes import ROOT
from tests.every import every

SOURCE = '''
def pay(amount: int, *, to: str, limit: int | None = None) -> str:
    """Pays."""
    if not to:
        return "nobody"
    if amount > 0 and to != "me":
        note(amount)
        return "large" if limit is not None and amount > limit else "small"
    else:
        return book(amount, to=to)
'''

MISTAKES = {
    "negate": ["if to:", "if not (amount > 0 and to != 'me'):", "'large' if not (limit"],
    "drop-call": ["        pass\n"],
    "return-early": ["    return\n    if not to:", "    return\n    if amount > 0"],
    "swap": ["    if amount > 0 and to != 'me':\n        return book", "'small' if limit"],
    "widen": [
        "if to != 'me' and True:",
        "if amount > 0 and True:",
        "if amount > limit and True",
        "None and True",
    ],
    "forget-field": ["book(amount)"],
}


@every("operator", OPERATORS)
def test_an_operator_makes_each_of_its_mistakes(operator: str) -> None:
    found = [mutant for mutant in mutants_of(SOURCE, "pay.py", "money") if mutant.operator == operator]
    texts = [mutated(SOURCE, mutant) for mutant in found]
    assert len(texts) == len(MISTAKES[operator])
    for text, mistake in zip(texts, MISTAKES[operator], strict=True):
        assert mistake in text
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE))


def test_a_number_draws_the_same_mistakes_of_every_area() -> None:
    everything = every_mutant(ROOT, ["gate", "judge"])
    drawn = draw(everything, 30, 7)
    assert drawn == draw(every_mutant(ROOT, ["gate", "judge"]), 30, 7)
    assert drawn != draw(everything, 30, 8)
    assert len({mutant.name for mutant in drawn}) == 30
    assert {mutant.area for mutant in drawn} == {"gate", "judge"}
    assert {mutant.operator for mutant in drawn} == set(OPERATORS)


def test_every_area_has_its_files() -> None:
    assert [place for places in AREAS.values() for place in places if not (ROOT / place).exists()] == []


def test_an_explained_mistake_can_still_be_made_and_has_its_reason() -> None:
    explained = tomllib.loads((ROOT / "tests" / "prove_equivalents.toml").read_text("utf-8"))["equivalent"]
    for entry in explained:
        text = (ROOT / entry["path"]).read_text("utf-8")
        assert len(entry["why"]) > 20
        assert any(
            (mutant.operator, mutant.before, mutant.after)
            == (entry["operator"], entry["before"], entry["after"])
            for mutant in mutants_of(text, entry["path"], "any")
        ), f"{entry['path']} has no such place any more: {entry['before']}"


@pytest.mark.bound(60)
def test_a_mistake_is_noticed_by_a_test_that_reaches_it_and_undone(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "shop" / "src" / "shop_of_tests"
    package.mkdir(parents=True)
    source = package / "pay.py"
    source.write_text(
        "def is_paid(amount: int, price: int) -> bool:\n    return amount >= price and price > 0\n"
    )
    (tmp_path / "conftest.py").write_text(f"import sys; sys.path.insert(0, {str(package.parent)!r})\n")
    test = "from shop_of_tests.pay import is_paid\n\ndef test_paid():\n    assert not is_paid(1, 2)\n"
    (tmp_path / "test_pay.py").write_text(test)
    note = tmp_path / "reach.json"
    lines = {str(source): {"2": ["test_pay.py::test_paid"]}}
    note.write_text(json.dumps({"seconds": {"test_pay.py::test_paid": 0.1}, "lines": lines}))
    bench = Bench(tmp_path, Path(sys.executable), ReachMap([note], tmp_path), {})
    before = source.read_text("utf-8")
    path = source.relative_to(tmp_path).as_posix()
    without_amount, without_price = (m for m in mutants_of(before, path, "shop") if m.operator == "widen")
    assert bench.try_mutant(without_amount).noticed_by == "test_pay.py::test_paid"
    assert bench.try_mutant(without_price).noticed_by == ""
    assert source.read_text("utf-8") == before
