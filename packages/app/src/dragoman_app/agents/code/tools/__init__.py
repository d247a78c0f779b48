"""The tools of the coder, for its introduction and for its model."""

from typing import Any

from dragoman_app.agents.code.tools.plan_tool import PLANNING
from dragoman_app.agents.code.tools.read_tools import READING
from dragoman_app.agents.code.tools.review_tool import REVIEWING
from dragoman_app.agents.code.tools.run_tool import RUNNING
from dragoman_app.agents.code.tools.search_tool import SEARCHING
from dragoman_app.agents.code.tools.tool import CoderTool
from dragoman_app.agents.code.tools.write_tools import WRITING

__all__ = ["OWN_TOOLS"]

OWN_TOOLS: tuple[CoderTool[Any], ...] = (*READING, *SEARCHING, *REVIEWING, *WRITING, *RUNNING, *PLANNING)
