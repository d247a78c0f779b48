"""Why an agent does not work, as the hub tells it to whoever administers it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman_hub.agents.specs import specs_of
from dragoman_hub.settings import AgentSettings

pytestmark = pytest.mark.bound(30)


async def test_an_examination_names_the_step_that_failed_and_covers_secrets(tmp_path: Path) -> None:
    words = "import sys; sys.exit('no login: API_KEY=abcdef123456 is wrong')"
    broken = AgentSettings(command=(sys.executable, "-c", words), dialect="v1")
    examine = specs_of({"broken": broken}, tmp_path)["broken"].examine
    assert examine is not None
    found = await examine()
    assert found["outcome"] != "ok"
    failed = [step for step in found["steps"] if step["verdict"] == "failed"]
    assert failed
    assert failed[-1]["advice"]
    assert "no login" in found["stderr"]
    assert "abcdef123456" not in str(found)
