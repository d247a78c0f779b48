"""The thread protocol of June 2025: threads instead of sessions, and no `jsonrpc` on its lines.

A client lists, creates and opens threads, asks for their entries and sends messages; an agent streams chunks
and reads files: text, bytes, whether something is there, what matches. Both only ever ask; there are no
notifications, no introduction, no cancel and no permission. The document that describes it prints the
directions the other way round than its code had them; `EdgeSettings.as_written` takes it at its word.

Reading order: `exchange` (the envelope), `content`, `files`, `entries`; then an edge for each peer and
direction: `coded_client`, `coded_agent`, `written_client`, `written_agent`.
"""

from dragoman.dialect.edge import Edge, EdgeSettings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.threads.coded_agent import CodedAgent
from dragoman.dialect.threads.coded_client import CodedClient
from dragoman.dialect.threads.direction import ProbingAgent, ProbingClient
from dragoman.dialect.threads.written_agent import WrittenAgent
from dragoman.dialect.threads.written_client import WrittenClient

__all__ = ["threads_agent", "threads_client"]


def threads_agent(settings: EdgeSettings, ledger: Ledger) -> Edge:
    """A threads agent behind a v1 client."""
    if settings.as_written is None:
        return ProbingAgent(settings, ledger)
    return (WrittenAgent if settings.as_written else CodedAgent)(settings, ledger)


def threads_client(settings: EdgeSettings, ledger: Ledger) -> Edge:
    """A threads client in front of a v1 agent."""
    if settings.as_written is None:
        return ProbingClient(settings, ledger)
    return (WrittenClient if settings.as_written else CodedClient)(settings, ledger)
