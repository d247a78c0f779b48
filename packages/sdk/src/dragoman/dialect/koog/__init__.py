"""The dialect of a guide for review agents in JetBrains IDEs: v1 except for four differences.

The agent names itself in `serverInfo`, lists its tools under `capabilities.tools`, says whole messages in an
update `"message"` with a role and a list of blocks, and may repeat what it said in its final answer. Its
clients speak plain v1 and understand these.
"""

from dragoman.dialect.koog.agent import KoogAgent
from dragoman.dialect.koog.client import KoogClient

__all__ = ["KoogAgent", "KoogClient"]
