"""Changes that break something, each found by another look: at callers, at the base, at commits, at tests."""

from __future__ import annotations

from dragoman.testing.models import call, turn
from tests.agents.review.stories.quiet_stories import PRICES, SHOP
from tests.agents.review.stories.stage import STANDS, Story, bug, is_second_look, refuted, reports

PAGES = """def page(items: list[int], number: int, size: int = 10) -> list[int]:
    first = (number - 1) * size
    return items[first : first + size]
"""
BROKEN_PAGES = PAGES.replace("(number - 1)", "number")
TEST_PAGES = (
    "from pages import page\n\n\ndef test_size() -> None:\n    assert len(page(list(range(99)), 2)) == 10\n"
)
FIRST_PAGE = {
    "test_path": "test_first_page.py",
    "test": "from pages import page\n\n\ndef test_first_page():\n    assert page([1, 2], 1) == [1, 2]\n",
}
FIRST_IS_LOST = bug("pages.py", 2, "First page is never shown", "first = number * size")
MENDED = {"fix_old": "first = number * size", "fix_new": "first = (number - 1) * size"}

WAIT = "def wait(seconds: float) -> float:\n    return seconds\n"
BOAT = "from clock import wait\n\nDELAY = wait(5)\n"

BUG_STORIES = [
    Story(
        name="a guard is gone, and the diff shows it",
        before=SHOP,
        after={"prices.py": PRICES.replace(" if amounts else 0.0", "")},
        message="Simplify",
        script=[
            turn(call("before", path="prices.py", line=8), call("callers", name="mean")),
            *reports(
                bug(
                    "prices.py",
                    9,
                    "Empty carts raise",
                    "return total(amounts) / len(amounts)",
                    also=["cart.py:7"],
                )
            ),
            STANDS,
        ],
        asked=["-    return total(amounts) / len(amounts) if amounts else 0.0"],
        results=["if amounts else 0.0", "cart.py:7:", "Taken: prices.py:9."],
        calls=[
            "Ask git what changed since main",
            "Read prices.py as it was",
            "Verify: Empty carts raise (prices.py:9)",
        ],
        findings=[("high", "prices.py", 9)],
        told=["Other places of the same cause: cart.py:7.", "Verified by a second check", "1 verified."],
    ),
    Story(
        name="a unit changes, and a caller does not know",
        before={"clock.py": WAIT, "type/boat.py": BOAT, "notes.txt": "wait(5) is called at sea\n"},
        after={"clock.py": "def wait(milliseconds: float) -> float:\n    return milliseconds / 1000\n"},
        message="Wait in milliseconds",
        script=[
            turn(call("callers", name="wait")),
            *reports(
                bug("type/boat.py", 3, "Waits five milliseconds instead of five seconds", "DELAY = wait(5)")
            ),
            STANDS,
        ],
        asked=["Wait in milliseconds", "- clock.py ("],
        results=["Calls:\nnotes.txt:1: wait(5) is called at sea\ntype/boat.py:3: DELAY = wait(5)\n\nTests"],
        findings=[("high", "type/boat.py", 3)],
        told=["Waits five milliseconds"],
    ),
    Story(
        name="a test of the model fails before its fix and passes after it",
        before={"pages.py": PAGES, "test_pages.py": TEST_PAGES},
        after={"pages.py": BROKEN_PAGES},
        has_tests=True,
        questions=2,
        script=[*reports(FIRST_IS_LOST | FIRST_PAGE | MENDED), STANDS],
        calls=[
            "Run the model's test for pages.py:2 in a copy",
            "Run pytest in a copy with the fix of pages.py:2",
        ],
        findings=[("high", "pages.py", 2)],
        told=[
            "This test fails on the code as it is (`test_first_page.py`):",
            "def test_first_page():",
            "passed with the fix (pytest). So does the test above.",
            "+    first = (number - 1) * size",
        ],
    ),
    Story(
        name="a failing test bears out what the second look could not",
        before={"pages.py": PAGES, "test_pages.py": TEST_PAGES},
        after={"pages.py": BROKEN_PAGES},
        has_tests=True,
        questions=2,
        script=[*reports(FIRST_IS_LOST | FIRST_PAGE), turn("I cannot tell.", when=is_second_look)],
        findings=[("high", "pages.py", 2)],
        told=["Not verified: the second check had no result.", "This test fails on the code as it is"],
    ),
    Story(
        name="the person allows no test of the model",
        before={"pages.py": PAGES, "test_pages.py": TEST_PAGES},
        after={"pages.py": BROKEN_PAGES},
        has_tests=True,
        answer="reject",
        questions=1,
        script=[*reports(FIRST_IS_LOST | FIRST_PAGE | MENDED), STANDS],
        findings=[("high", "pages.py", 2)],
        told=[
            "The test that the model wrote was not run: running them was not allowed.",
            "Tests of the project: not run: running them was not allowed.",
        ],
    ),
    Story(
        name="a default changes, and who relied on it reads another file",
        before={
            "load.py": "def load(name: str, folder: str = '/srv') -> str:\n    return f'{folder}/{name}'\n",
            "use.py": "from load import load\n\nPATH = load('a')\n",
        },
        after={
            "load.py": "def load(name: str, folder: str = '/tmp') -> str:\n    return f'{folder}/{name}'\n"
        },
        script=[
            turn(call("references", name="load")),
            *reports(
                bug(
                    "load.py",
                    1,
                    "Files are looked for elsewhere",
                    "def load(name: str, folder: str = '/tmp') -> str:",
                    severity="medium",
                    also=["use.py:3", "use.py:99", "gone.py:1"],
                )
            ),
            STANDS,
        ],
        results=["use.py:3: PATH = load('a')"],
        findings=[("medium", "load.py", 1)],
        told=["Other places of the same cause: use.py:3."],
        silent=["use.py:3, use.py:99."],
    ),
    Story(
        name="arguments are swapped",
        before={
            "move.py": "def move(source: str, target: str) -> str:\n    return f'{source}>{target}'\n",
            "use.py": "\n",
        },
        after={
            "use.py": "from move import move\n\n\ndef go(old: str, new: str) -> str:\n"
            "    return move(new, old)\n"
        },
        message="Move files from old to new",
        script=[
            turn(call("read", path="move.py")),
            *reports(bug("use.py", 5, "Moves from new to old", "return move(new, old)")),
            STANDS,
        ],
        asked=["Move files from old to new"],
        results=["     1\tdef move(source: str, target: str) -> str:"],
        findings=[("high", "use.py", 5)],
    ),
    Story(
        name="a deleted file is still imported",
        before={"old.py": "VALUE = 1\n", "use.py": "from old import VALUE\n", "more.py": "x = 1\n"},
        after={"old.py": None, "more.py": "x = 2\n"},
        script=[
            turn(call("diff", path="old.py"), call("search", pattern="old import")),
            *reports(bug("use.py", 1, "Imports a module that is gone", "from old import VALUE")),
            STANDS,
        ],
        asked=["Deleted files:\nold.py"],
        results=["-VALUE = 1", "use.py:1: from old import VALUE"],
        calls=["Diff of old.py", "Search for old import"],
        findings=[("high", "use.py", 1)],
    ),
    Story(
        name="a mistake that was mended comes back, and the log tells why",
        before={"lock.py": "ORDER = ('a', 'b')  # a first: b waits for it\n"},
        after={"lock.py": "ORDER = ('b', 'a')\n"},
        message="Sort by use",
        script=[
            turn(call("log", path="lock.py"), call("history", path="lock.py", line=1, end_line=1)),
            *reports(bug("lock.py", 1, "Deadlock of a and b", "ORDER = ('b', 'a')", severity="critical")),
            STANDS,
        ],
        asked=["-ORDER = ('a', 'b')  # a first: b waits for it"],
        results=["Ada\n  Begin", "Ada: Sort by use"],
        findings=[("critical", "lock.py", 1)],
    ),
    Story(
        name="the message says one thing and the change does another",
        before={"rights.py": "def may_write(role: str) -> bool:\n    return role == 'owner'\n"},
        after={"rights.py": "def may_write(role: str) -> bool:\n    return role != 'guest'\n"},
        message="Fix a typo",
        script=[
            *reports(bug("rights.py", 2, "Everybody but guests may write", "return role != 'guest'")),
            STANDS,
        ],
        asked=["What its commits say:", "Fix a typo"],
        findings=[("high", "rights.py", 2)],
    ),
    Story(
        name="a test is weakened until it passes",
        before={
            "test_x.py": "from x import f\n\n\ndef test_f() -> None:\n    assert f(2) == 4\n",
            "x.py": "def f(n):\n    return n * 2\n",
        },
        after={
            "test_x.py": "from x import f\n\n\ndef test_f() -> None:\n    assert f(2)\n",
            "x.py": "def f(n):\n    return n + 3\n",
        },
        script=[
            turn(call("callers", name="f")),
            *reports(bug("test_x.py", 5, "Test accepts any result", "assert f(2)", severity="medium")),
            STANDS,
        ],
        asked=["-    assert f(2) == 4"],
        results=["Tests that mention it:\ntest_x.py:1: from x import f"],
        findings=[("medium", "test_x.py", 5)],
    ),
    Story(
        name="the worst comes first, whatever was reported first",
        before={"a.py": "A = 1\n", "b.py": "B = 1\n", "c.py": "C = 1\n"},
        after={"a.py": "A = 2\n", "b.py": "B = 2\n", "c.py": "C = 2\n"},
        script=[
            *reports(
                bug("a.py", 1, "Small thing", "A = 2", severity="low"),
                bug("b.py", 1, "Terrible loss", "B = 2", severity="critical"),
                bug("c.py", 1, "Wrong result", "C = 2", severity="medium"),
            ),
            STANDS,
            STANDS,
            STANDS,
        ],
        findings=[("critical", "b.py", 1), ("medium", "c.py", 1), ("low", "a.py", 1)],
    ),
    Story(
        name="one of two claims is refuted",
        before={"a.py": "A = 1\nB = 1\n"},
        after={"a.py": "A = 2\nB = 2\n"},
        script=[
            *reports(bug("a.py", 1, "Alpha breaks", "A = 2"), bug("a.py", 2, "Beta breaks", "B = 2")),
            refuted("Nobody reads B.", about="Beta"),
            STANDS,
        ],
        findings=[("high", "a.py", 1)],
        told=["1 verified, 1 refuted and left out"],
        silent=["**2."],
    ),
]
