"""`tools/prove`: mistakes are drawn by a number, made one at a time, and noticed by a test that fails."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from prove.mutants import AREAS, OPERATORS, draw, every_mutant, mutants_of, mutated
from prove.reach import ReachMap
from prove.report import Kept, Key, explanations, key_of, shown, table
from prove.trial import NO_IMPORT, NOTICED, SURVIVED, Bench, Outcome
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


@dataclass(frozen=True)
class Book:
    def add(self, items: list[int]) -> None:
        log.info("adds %d", len(items))
        log.store()
        match [item for item in items if item > 1]:
            case [first, *_] if first not in self.known:
                self.known.append(first)
'''

MISTAKES = {
    "negate": [
        "if to:",
        "if not (amount > 0 and to != 'me'):",
        "'large' if not (limit",
        "if not first not in self",
        "not item > 1]",
    ],
    "drop-call": ["        pass\n", "len(items))\n        pass\n", "                pass"],
    "return-early": [
        "    return\n    if not to:",
        "    return\n    if amount > 0",
        "        return\n        log.info",
        "        return\n        log.store",
        "        return\n        match",
    ],
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
    places: dict[str, Counter[Key]] = {}
    for key, why in explanations(ROOT / "tests" / "prove_equivalents.toml").items():
        path, function, *_, before, _ = key
        if path not in places:
            text = (ROOT / path).read_text("utf-8")
            places[path] = Counter(key_of(mutant) for mutant in mutants_of(text, path, "any"))
        assert len(why) > 20
        assert places[path][key] == 1, f"{path} has this {places[path][key]} times in {function}: {before}"


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
    lines = {str(source): {line: ["test_pay.py::test_paid"] for line in "23"}}
    note.write_text(json.dumps({"seconds": {"test_pay.py::test_paid": 0.1}, "lines": lines}))
    bench = Bench(tmp_path, Path(sys.executable), ReachMap([note], tmp_path), {})
    before = source.read_text("utf-8")
    path = source.relative_to(tmp_path).as_posix()
    without_amount, without_price = (m for m in mutants_of(before, path, "shop") if m.operator == "widen")
    noticed = bench.try_mutant(without_amount)
    assert (noticed.kind, noticed.noticed_by) == (NOTICED, "test_pay.py::test_paid")
    assert bench.unsound([noticed]) == set()
    assert bench.try_mutant(without_price).kind == SURVIVED
    source.write_text(f"{before}assert is_paid(amount=1, price=1)\n")
    broken = next(
        m for m in mutants_of(source.read_text("utf-8"), path, "shop") if m.operator == "forget-field"
    )
    assert bench.try_mutant(broken).kind == NO_IMPORT
    source.write_text(before)
    (tmp_path / "test_pay.py").write_text(test.replace("not ", ""))
    assert bench.unsound([noticed]) == {"test_pay.py::test_paid"}
    assert source.read_text("utf-8") == before


def test_a_run_goes_on_with_what_was_found_out(tmp_path: Path) -> None:
    mutants = mutants_of(SOURCE, "pay.py", "money")[:3]
    file = tmp_path / "state.ndjson"
    kept = Kept(file)
    for mutant, kind in zip(mutants, (NOTICED, SURVIVED, NO_IMPORT), strict=True):
        kept.add(Outcome(mutant=mutant, kind=kind, noticed_by="", tried=1, seconds=3.0))
    with file.open("a") as stopped:
        stopped.write('{"mutant": {"ar')
    again = Kept(file)
    assert again.outcomes == kept.outcomes
    assert again.seconds_each() == 3.0
    rows = table([again.outcomes[mutant] for mutant in mutants], {})
    assert (
        rows["money"]
        == rows["all"]
        == {"drawn": 3, "no import": 1, "noticed": 1, "explained": 0, "survived": 1}
    )
    assert "1 of 2 that can be imported survived: 50.0 %" in shown(rows)
    assert table([again.outcomes[mutants[1]]], {key_of(mutants[1]): "because"})["all"]["explained"] == 1
