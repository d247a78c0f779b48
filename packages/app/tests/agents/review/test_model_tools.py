"""What the tools of a reviewing model share."""

from pathlib import Path

import pytest

from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.read_tools import ReadArguments
from dragoman_app.agents.review.model_tools import ask_git, show_lines
from dragoman_review.git import text_at


def test_an_empty_line_behind_the_last_one_shown_is_still_more() -> None:
    shown = show_lines("a\n\nb\n", ReadArguments(path="x.py", limit=1)).text
    assert shown == "     1\ta\n(there is more, from line 2 on)"
    assert show_lines("", ReadArguments(path="x.py")).text == "(the file is empty)"


async def test_a_model_hears_why_git_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolProblem, match="git: is not installed"):
        await ask_git(text_at(tmp_path, "HEAD", "a.py"))
