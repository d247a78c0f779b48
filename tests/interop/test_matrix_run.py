"""A run of `make interop`: what it finds otherwise than the one before, and how it is stopped and resumed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tests.interop.matrix import __main__ as matrix_command
from tests.interop.matrix.catalogue import Catalogue, CatalogueRow
from tests.interop.matrix.effects import Matrix, MatrixRow, no, yes
from tests.interop.matrix.run import MatrixRun
from tests.interop.matrix.table import render_page
from tests.interop.test_matrix import result, row


def test_what_the_last_run_found_otherwise_is_named_until_the_next() -> None:
    older = Matrix(agents=[result("one", text=yes()), result("two")], changes={"two": ["load: yes, now no"]})
    changed = replace(result("one", text=no("silence"), load=yes()), version="2.0.0")
    merged = older.merge(Matrix(agents=[changed, result("three")]), order=["one", "two", "three"])
    assert merged.changes == {
        "two": ["load: yes, now no"],
        "one": ["1.2.3 became 2.0.0", "text: yes, now no"],
        "three": ["is tried for the first time"],
    }
    assert "- One: 1.2.3 became 2.0.0; text: yes, now no" in render_page(merged)
    assert merged.merge(Matrix(agents=[changed]), order=["one"]).changes.keys() == {"two", "three"}


def test_a_run_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two programs, and no time for the second; the resumed run tries that one alone."""
    places = {"DATA": "table.json", "PAGE": "table.md", "BADGES": "badges", "LIST": "list.json", "RUN": "run"}
    for name, place in places.items():
        monkeypatch.setattr(matrix_command, name, tmp_path / place)
    (tmp_path / "list.json").write_text('{"made": "2026-01-01", "agents": []}')
    catalogue = Catalogue(agent=(row(), row(name="two", npm=("two@1.2.3",))))
    monkeypatch.setattr(matrix_command, "load_catalogue", lambda: catalogue)
    clock = [0.0]
    monkeypatch.setattr(matrix_command, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    tried: list[str] = []

    async def run_program(entry: CatalogueRow, kind: str, **how: Any) -> MatrixRow:
        tried.append(entry.name)
        clock[0] += 61
        return result(entry.name, text=yes())

    monkeypatch.setattr(matrix_command, "_try", run_program)
    assert matrix_command.main(["--minutes", "1", "--jobs", "1"]) == 3
    assert "two were not tried; --resume" in capsys.readouterr().err
    assert tried == ["one"]
    assert matrix_command.main(["--resume", "--jobs", "1"]) == 0
    assert tried == ["one", "two"]
    assert [entry.name for entry in matrix_command.read_results().agents] == ["one", "two"]
    assert not (tmp_path / "run").exists()
    assert "one: is tried for the first time" in capsys.readouterr().err


def test_a_resumed_run_tries_another_version_again(tmp_path: Path) -> None:
    run = MatrixRun(Matrix(), Matrix(agents=[result("one")]))
    run.write(tmp_path / "run")
    resumed = MatrixRun.begin(tmp_path / "run", before=Matrix(dragoman="9"), is_resumed=True)
    assert resumed == run
    assert resumed.has(row())
    assert not resumed.has(row(npm=("one@1.2.4",)))
    assert MatrixRun.begin(tmp_path / "run", before=Matrix(), is_resumed=False) == MatrixRun(Matrix())
