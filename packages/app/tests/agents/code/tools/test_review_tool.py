"""The reviewer's rules as a tool of the coder."""

from pathlib import Path

import pytest

from dragoman.testing.models import call, turn
from tests.agents.code.coder_runs import coding
from tests.review.local_inspector import rules_in_this_process

__all__ = ["rules_in_this_process"]

pytestmark = [pytest.mark.bound(60), pytest.mark.usefixtures("rules_in_this_process")]


async def told(folder: Path, *paths: str) -> str:
    """What the model is told when it has files reviewed."""
    script = [turn(call("review", paths=list(paths))), turn("Ok.")]
    async with coding(script, folder, mode="full") as coder:
        await coder.prompt("Review them")
    (result,) = coder.model.requests[1].results.values()
    return result.text


async def test_the_model_is_told_what_the_rules_find_the_worst_first(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("NONE = print == None\n\n\ndef f(x=[]):\n    return eval(input())\n")
    (tmp_path / "b.go").write_text("package m\n\nvar c = tls.Config{InsecureSkipVerify: true}\n")
    lines = (await told(tmp_path, "a.py", "b.go")).splitlines()
    assert lines[0].startswith("a.py:5: high: Text from outside runs as code")
    assert any(line.startswith("b.go:3: medium: TLS certificate") for line in lines)
    assert lines[-1].startswith("a.py:1: low")


async def test_of_a_clean_file_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x: int) -> int:\n    return x + 1\n")
    assert await told(tmp_path, "a.py") == "(nothing found)"


async def test_a_secret_in_a_file_is_not_told(tmp_path: Path) -> None:
    secret = "ghp_" + "aZ3kQ9xL7mN2vB5cT8wR1yU6iO4pE0sD2fG7"
    (tmp_path / "a.py").write_text(f'TOKEN = "{secret}"\n')
    text = await told(tmp_path, "a.py")
    assert "a.py:1:" in text
    assert secret not in text


async def test_a_file_that_is_not_there_is_a_problem_that_the_model_can_read(tmp_path: Path) -> None:
    assert "missing.py" in await told(tmp_path, "missing.py")
