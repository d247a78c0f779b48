"""The dialect of a bridge's reference page: v1 except for the field names in tool calls, four kinds of
tools, and one kind of block. Also its older form, which that page calls the bridge's mistakes: another
discriminator, and permission as a notification that nobody can answer.
"""

from dragoman.dialect.haven.agent import HavenAgent
from dragoman.dialect.haven.client import HavenClient
from dragoman.dialect.haven.legacy import LegacyAgent, LegacyClient

__all__ = ["HavenAgent", "HavenClient", "LegacyAgent", "LegacyClient"]
