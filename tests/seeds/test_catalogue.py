"""The promises of the seed documents are all proven by tests that run, and their page is current."""

from __future__ import annotations

from collections.abc import Callable

from tests.house import COUNTED
from tests.seeds.catalogue import ROOT, documents, has_test
from tests.seeds.page import page, summary


def test_every_promise_names_a_test_that_runs(record_property: Callable[[str, object], None]) -> None:
    promises = [promise for document in documents() for promise in document.promises]
    without = [f"{promise.id}: {promise.proof}" for promise in promises if not has_test(promise.proof)]
    assert not without, "\n".join(["no such test, or a slow one:", *without])
    counts = ", ".join(f"{len(document.promises)} of {document.number}" for document in documents())
    record_property(COUNTED, f"seed documents: {len(promises)} promises, each with its test ({counts})")


def test_a_test_that_does_not_exist_or_is_slow_proves_nothing() -> None:
    assert has_test("tests/seeds/test_catalogue.py::test_every_promise_names_a_test_that_runs")
    assert not has_test("tests/seeds/test_catalogue.py::test_nothing")
    assert not has_test("tests/seeds/catalogue.py::documents")
    assert not has_test("tests/nowhere/test_nothing.py::test_nothing")


def test_ids_are_numbered_and_places_are_lines_of_the_document_in_order() -> None:
    for document in documents():
        ids = [promise.id for promise in document.promises]
        assert ids == [f"{document.number}.{number}" for number in range(1, len(ids) + 1)]
        assert all(1 <= promise.place <= document.lines for promise in document.promises)
        assert {promise.command for promise in document.promises} == set(document.commands)


def test_the_list_is_what_the_data_say() -> None:
    told = "run: python -m tests.seeds.page > tests/seeds/PROMISES.md"
    assert (ROOT / "tests/seeds/PROMISES.md").read_text("utf-8") == page(), told


def test_the_page_counts_the_promises_and_names_the_commands() -> None:
    told = f"put this table into docs/seeds.md:\n{summary()}"
    assert summary() in (ROOT / "docs/seeds.md").read_text("utf-8"), told


def test_the_page_of_whoever_comes_from_a_document_exists() -> None:
    assert all((ROOT / "docs" / document.page).is_file() for document in documents())
