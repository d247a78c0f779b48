"""Callers that a changed signature breaks, in real repositories."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dragoman_review import ReviewSettings, ReviewSource
from dragoman_review.caller_search import broken_callers
from dragoman_review.callers import broken_calls, changed_functions
from dragoman_review.git import changes
from tests.review.test_git import git

OLD = "def price(total, count=1):\n    return total / count\n"
NEW = "def price(total, *, count):\n    return total / count\n"


def lines_of(caller: str, *, inside: str = "cart.py", old: str = OLD, new: str = NEW) -> list[int]:
    """The lines with a broken call."""
    source = ReviewSource(inside, textwrap.dedent(caller))
    found = broken_calls(source, inside, changed_functions("src/shop/prices.py", old, new))
    return [finding.line for finding in found]


@pytest.mark.parametrize(
    "caller",
    [
        "from shop.prices import price\nprice(1, 2)\n",
        "from shop.prices import price as cost\ncost(1)\n",
        "from shop import prices\nprices.price(1)\n",
        "import shop.prices\nshop.prices.price(1)\n",
        "import shop.prices as p\np.price(1, amount=2) if 0 else p.price(1)\n",
    ],
)
def test_a_call_that_the_old_signature_took_and_the_new_one_does_not_is_found(caller: str) -> None:
    assert lines_of(caller) == [2]


@pytest.mark.parametrize(
    "caller",
    [
        "from shop.prices import price\nprice(1, count=2)\n",
        "from shop.prices import price\nprice(*things)\n",
        "from shop.prices import price\nprice(1, **more)\n",
        "from shop.prices import price\nprice(1, 2, 3)\n",
        "from other.prices import price\nprice(1)\n",
        "from prices import price\nprice(1)\n",
        "def price(x): ...\nprice(1)\n",
        "from shop.prices import price\n\ndef f(price):\n    price(1)\n",
        "from shop.prices import price\n\ndef price(x): ...\n\nprice(1)\n",
        "from shop.prices import price\nprice(1\n",
    ],
)
def test_what_fits_or_is_not_certain_is_left_alone(caller: str) -> None:
    assert lines_of(caller) == []


def test_relative_imports_and_calls_in_the_same_file_are_followed() -> None:
    assert lines_of("from .prices import price\nprice(1)\n", inside="src/shop/cart.py") == [2]
    assert lines_of("from . import prices\nprices.price(1)\n", inside="src/shop/__init__.py") == [2]
    assert lines_of("from ..prices import price\nprice(1)\n", inside="src/shop/cart.py") == []
    assert lines_of(f"{NEW}\n\nprice(1)\n", inside="src/shop/prices.py") == [5]


async def test_callers_in_unchanged_files_of_a_repository_are_found(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "shop.py").write_text(OLD)
    (tmp_path / "cart.py").write_text("from shop import price\n\nprice(1)\n")
    (tmp_path / "known.py").write_text(
        "from shop import price\n\nprice(1)  # dragoman: ignore[python/broken-caller] it is gone tomorrow\n"
    )
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    assert await broken_callers(await changes(tmp_path), tmp_path, ReviewSettings()) == []
    (tmp_path / "shop.py").write_text(NEW)
    [finding] = await broken_callers(await changes(tmp_path), tmp_path, ReviewSettings())
    assert (finding.path, finding.line) == ("cart.py", 3)
    assert "its parameter count is not given" in finding.why
    assert (
        await broken_callers(await changes(tmp_path), tmp_path, ReviewSettings(without=("python/*",))) == []
    )
