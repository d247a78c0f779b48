"""Pages of the documentation on the command line."""

import re
import tomllib
from pathlib import Path

import pytest

from dragoman_app.cli import main
from tests.boxes import modules
from tests.cli.test_options import ROOT, texts

NAMED = re.compile(r"`dragoman help ([a-z-]+)`")


def shown_texts() -> list[tuple[Path, str]]:
    files = [path for _, path in modules() if re.search(r"docs/|dragoman help", path.read_text("utf-8"))]
    return [(path, text) for path in files for text in texts(path)]


def test_no_text_names_a_file_that_a_wheel_does_not_hold() -> None:
    assert [(path.name, text) for path, text in shown_texts() if re.search(r"\bdocs/[\w-]+\.md", text)] == []


def test_the_wheel_has_each_page_that_a_text_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packaged = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    pages = {Path(source).stem for source, target in packaged.items() if "/cli/pages/" in target}
    named = {page for _, text in shown_texts() for page in NAMED.findall(text)}
    assert len(named) > 10
    assert named == pages


def test_a_page_is_shown_without_the_notes_of_its_authors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "mcp"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# ")
    assert "held by" not in shown


def test_without_a_topic_the_pages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert " policy," in capsys.readouterr().out


def test_a_command_without_a_page_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help", "agents", "add"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: dragoman agents add ")


def test_a_page_that_is_not_there_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "pollicy"]) == 2
    assert "did you mean policy?" in capsys.readouterr().err
