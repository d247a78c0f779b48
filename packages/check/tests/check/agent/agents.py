"""How the agents of these tests are started."""

from __future__ import annotations

import sys
from pathlib import Path

from dragoman_check.agent.prompts import PromptCatalogue, packaged_prompts
from dragoman_check.agent.stage import ExaminationSettings

RAW = Path(__file__).with_name("raw_agent.py")


def raw(fault: str = "") -> list[str]:
    """The small agent by hand. It starts fast, because it imports nothing."""
    return [sys.executable, "-S", "-E", str(RAW), fault]


def settings(fault: str = "", *, patience: float = 60.0, jobs: int = 2) -> ExaminationSettings:
    # It has no tools: to ask it for one of a server would only take time.
    catalogue = PromptCatalogue({"agents": {"raw": {"mcp": ""}}}).over(packaged_prompts())
    return ExaminationSettings(command=raw(fault), cwd=".", patience=patience, jobs=jobs, catalogue=catalogue)
