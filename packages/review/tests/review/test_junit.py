"""Findings as JUnit XML."""

from xml.etree import ElementTree as xml

from dragoman_review import ReviewNote
from dragoman_review.junit import as_junit
from tests.review.findings import finding


def test_a_finding_is_a_case_that_failed_and_a_file_without_any_is_one_that_passed() -> None:
    root = xml.fromstring(as_junit([finding()], [], files=["src/a b.py", "clean.py"]))
    failed, passed = root.iter("testcase")
    assert (failed.get("classname"), failed.get("line")) == ("src/a b.py", "2")
    failure = failed.find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("high", "A title")
    assert (passed.get("classname"), len(passed)) == ("clean.py", 0)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")


def test_a_tool_that_failed_is_an_error_and_a_remark_is_none() -> None:
    notes = [ReviewNote("a.py", "ruff: broke", is_failure=True), ReviewNote("b.py", "too large")]
    root = xml.fromstring(as_junit([], notes, files=[]))
    [error] = root.iter("error")
    assert error.get("message") == "ruff: broke"
    assert root.get("errors") == "1"


def test_no_name_or_title_breaks_the_document() -> None:
    shown = as_junit([finding(path='a"<&\x00\x1b[.py', title="</failure>\x07")], [], files=["\ud800.py"])
    root = xml.fromstring(shown.encode())
    assert len(list(root.iter("failure"))) == 1
