"""What tests cost is told by file, the dearest first, with the forks that were made for its tests."""

from __future__ import annotations

from tests.costs import table

LINES = """\
1.5\t0\t0\tcollecting
0.2\t0.3\t0\ttests/test_a.py::test_one[x]
0.1\t0\t0\ttests/test_a.py::test_two
0\t0\t2.0\ttests/test_a.py::test_two -m dragoman hub
"""


def test_forks_count_for_the_file_of_their_test_and_are_no_tests() -> None:
    _, first, second, whole = table(LINES.splitlines(keepends=True))
    assert first.split() == ["2.6", "0.3", "0.3", "2.0", "2", "tests/test_a.py"]
    assert second.split() == ["1.5", "1.5", "0.0", "0.0", "0", "collecting"]
    assert whole.split()[0] == "4.1"
