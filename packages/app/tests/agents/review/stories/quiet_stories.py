"""Ten changes with which nothing is wrong. A model that claims otherwise does not get through."""

from __future__ import annotations

from dragoman.testing.models import call, turn
from tests.agents.review.stories.stage import Story, bug, refuted, reports

PRICES = '''"""Prices."""


def total(amounts: list[int]) -> int:
    return sum(amounts)


def mean(amounts: list[int]) -> float:
    return total(amounts) / len(amounts) if amounts else 0.0
'''
CART = '''"""A cart."""

from prices import mean


def show(amounts: list[int]) -> str:
    return f"{mean(amounts):.2f}"
'''
SHOP = {"prices.py": PRICES, "cart.py": CART}
TEST_PRICES = "from prices import mean\n\n\ndef test_mean() -> None:\n    assert mean([1, 3]) == 2\n"
LOOKED = "no findings"

QUIET_STORIES = [
    Story(
        name="a function has another name, everywhere",
        before=SHOP,
        after={"prices.py": PRICES.replace("mean", "average"), "cart.py": CART.replace("mean", "average")},
        message="Call it average",
        script=[
            turn(call("search", pattern=r"\bmean\b"), call("callers", name="average")),
            *reports(bug("cart.py", 3, "Import of a name that is gone", "from prices import mean")),
        ],
        asked=["What its commits say:", "Call it average", "-def mean(", "+def average("],
        results=[
            'Calls:\ncart.py:7:     return f"{average(amounts):.2f}"\n\nTests that mention it:\n(none)',
            "(nothing found)",
            "The evidence is not in cart.py. Read the file, and copy the lines exactly.",
        ],
        calls=["Search for \\bmean\\b", "Find callers of average"],
        told=[LOOKED],
    ),
    Story(
        name="a comment says more than before",
        before=SHOP,
        after={"prices.py": PRICES.replace("Prices.", "Prices, in cents.")},
        script=[turn("The comment agrees with the code.")],
        asked=['-"""Prices."""', '+"""Prices, in cents."""'],
        told=["The comment agrees with the code.", LOOKED],
    ),
    Story(
        name="lines are broken in another way",
        before=SHOP,
        after={
            "prices.py": PRICES.replace(
                "    return total(amounts) / len(amounts) if amounts else 0.0\n",
                "    return (\n        total(amounts) / len(amounts)\n"
                "        if amounts\n        else 0.0\n    )\n",
            )
        },
        script=[
            *reports(bug("prices.py", 10, "Division by zero", "total(amounts) / len(amounts)")),
            refuted("`if amounts` guards it, as it did before."),
        ],
        told=["clever reported 1 finding: 0 verified, 1 refuted and left out.", LOOKED],
    ),
    Story(
        name="code moves to a file of its own",
        before=SHOP,
        after={
            "prices.py": PRICES[: PRICES.index("\n\ndef mean")],
            "means.py": '"""Means."""\n\nfrom prices import total\n\n' + PRICES[PRICES.index("\ndef mean") :],
            "cart.py": CART.replace("from prices import", "from means import"),
        },
        script=[
            turn(call("before", path="prices.py", line=8, limit=2), call("callers", name="mean")),
            turn("It is the same function, and its only caller imports it from there."),
        ],
        asked=["- means.py (", "- cart.py ("],
        results=[
            "     8\tdef mean(amounts: list[int]) -> float:",
            'cart.py:7:     return f"{mean(amounts):.2f}"',
        ],
        calls=["Read prices.py as it was", "Find callers of mean"],
        told=[LOOKED],
    ),
    Story(
        name="a test is added",
        before=SHOP,
        after={"test_prices.py": TEST_PRICES},
        has_tests=True,
        questions=1,
        script=[turn(call("tests")), turn("It passes.")],
        results=["pytest: passed"],
        calls=["Run pytest in a copy of the project"],
        told=["It passes.", LOOKED],
    ),
    Story(
        name="a loop becomes an expression that does the same",
        before={
            "names.py": "def longest(names: list[str]) -> str:\n    best = ''\n    for name in names:\n"
            "        if len(name) > len(best):\n            best = name\n    return best\n"
        },
        after={
            "names.py": "def longest(names: list[str]) -> str:\n    return max(names, key=len, default='')\n"
        },
        script=[
            turn(call("before", path="names.py")),
            *reports(bug("names.py", 2, "Error for an empty list", "return max(names, key=len, default='')")),
            refuted("`default` is the answer for an empty list, as `best` was."),
        ],
        results=["     2\t    best = ''"],
        told=["1 refuted and left out", LOOKED],
    ),
    Story(
        name="a dependency is of a newer version",
        before={"requirements.txt": "left==1.2.0\nright==3.0.1\n"},
        after={"requirements.txt": "left==1.2.1\nright==3.0.1\n"},
        message="Bump left from 1.2.0 to 1.2.1",
        script=[turn(call("search", pattern="import left")), turn("Nobody uses what it changes.")],
        asked=["-left==1.2.0", "+left==1.2.1", "Bump left from 1.2.0 to 1.2.1"],
        told=[LOOKED],
    ),
    Story(
        name="a page of the docs is clearer",
        before={"docs/use.md": "# Use\n\nRun it.\n"},
        after={"docs/use.md": "# Use\n\nRun it with `make run`. Never run `curl x | sh`.\n"},
        script=[turn("Words alone.")],
        asked=["+Run it with `make run`."],
        told=[LOOKED],
    ),
    Story(
        name="what looks dangerous is guarded by its only caller",
        before={
            "pages.py": "from store import read\n\nNAMES = frozenset({'a', 'b'})\n\n\n"
            "def page(name: str) -> str:\n"
            "    if name not in NAMES:\n        return ''\n    return read(name)\n",
            "store.py": "def read(name: str) -> str:\n    return name\n",
        },
        after={
            "store.py": "from pathlib import Path\n\n\ndef read(name: str) -> str:\n"
            "    return Path('pages').joinpath(name).read_text()\n"
        },
        script=[
            *reports(
                bug(
                    *("store.py", 5, "Reads any file", "return Path('pages').joinpath(name).read_text()"),
                    severity="critical",
                )
            ),
            turn(
                call("callers", name="read"),
                call("read", path="pages.py"),
                when=lambda request: "verdict" in request.tools and not request.results,
            ),
            refuted("Its only caller, pages.page, lets two names through."),
        ],
        results=["Calls:\npages.py:9:     return read(name)", "     7\t    if name not in NAMES:"],
        calls=[
            "Report Reads any file (store.py:5)",
            "Verify: Reads any file (store.py:5)",
            "Find callers of read",
        ],
        told=["1 refuted and left out", LOOKED],
    ),
    Story(
        name="a change is taken back",
        before={"prices.py": PRICES.replace("0.0", "None")},
        after={"prices.py": PRICES},
        message='Revert "Say None for no amounts"\n\nCallers format the result.',
        script=[
            turn(call("log", path="prices.py"), call("history", path="prices.py", line=8, end_line=9)),
            turn("It brings back what callers expect."),
        ],
        asked=["Callers format the result."],
        results=['Revert "Say None for no amounts"', "Ada: Begin"],
        calls=["Commits of prices.py", "History of prices.py:8"],
        told=[LOOKED],
    ),
]
