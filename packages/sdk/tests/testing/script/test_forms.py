"""docs/testing.md names everything that a script can say."""

import re
from pathlib import Path

from dragoman.testing.script.forms import FORMS
from dragoman.testing.script.script import CAN, SHORT
from dragoman.testing.script.verbs import VERBS
from dragoman_app.agents.echo_commands import COMMANDS
from tests.every import every

PAGE = (Path(__file__).parents[5] / "docs" / "testing.md").read_text("utf-8")


@every("names", [VERBS, FORMS, CAN, SHORT, [f"/{name}" for name in COMMANDS]])
def test_everything_is_on_the_page(names: list[str]) -> None:
    shown = " ".join(re.findall(r"`([^`\n]+)`", PAGE)) + " ".join(
        re.findall(r"```script\n(.*?)```", PAGE, re.DOTALL)
    )
    assert set(names) - set(re.split(r"[\s,…\[\]]+", shown)) == set()
