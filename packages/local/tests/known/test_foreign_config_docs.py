"""What docs/editors.md tells people to write is what editors and we ourselves read."""

import json
import re
from pathlib import Path

import pytest

from dragoman_local.known.foreign_config import parse_jetbrains, parse_zed

DOCS = Path(__file__).parents[4] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("parse", "at"), [(parse_zed, 0), (parse_jetbrains, 1)])
def test_the_files_of_editors_are_ones_that_we_import(parse: object, at: int) -> None:
    text = blocks("editors.md", "json")[at]
    assert json.loads(text)["agent_servers"].keys() == {"Dragoman Code", "Dragoman Review"}
    found = parse(text.encode(), "a file")  # type: ignore[operator]
    assert [agent.command[1:] for agent in found.agents] == [("agent", "code"), ("agent", "review")]


def test_every_setting_is_described() -> None:
    from dragoman_app.agents.code.config import ENVIRONMENT, CoderConfig

    page = (DOCS / "coder.md").read_text()
    settings = set(CoderConfig.__struct_fields__) - {"config_dir"}
    assert [name for name in sorted(settings | ENVIRONMENT.keys()) if f"`{name}`" not in page] == []
