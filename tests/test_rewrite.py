"""What `tools/rewrite_tests.py` keeps is what pytest looks for: else it would be work for nothing."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("rewrite_tests")


def test_pytest_finds_what_was_rewritten_and_notices_when_it_is_old(tool: Any, tmp_path: Path) -> None:
    path = tmp_path / "test_sum.py"
    path.write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    assert tool.is_new(path)
    tool.rewrite(path)
    assert not tool.is_new(path)
    kept = tmp_path / "__pycache__" / f"test_sum{PYC_TAIL}"
    found = _read_pyc(path, kept)
    assert found is not None
    assert "@pytest_ar" in found.co_names
    path.write_text("def test_sum():\n    assert 1 + 1 == 3\n")
    assert _read_pyc(path, kept) is None
