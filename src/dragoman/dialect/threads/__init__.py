"""The thread protocol of June 2025: threads instead of sessions, and no `jsonrpc` on its lines.

A client lists, creates and opens threads, asks for their entries and sends messages; an agent streams chunks
and reads files: text, bytes, whether something is there, what matches. Both only ever ask; there are no
notifications, no introduction, no cancel and no permission. The document that describes it prints the
directions the other way round than its code had them; `Settings.as_written` takes it at its word.

Reading order: `exchange` (the envelope), `content`, `files`, `entries`; then an edge for each peer and
direction: `coded_client`, `coded_agent`, `written_client`, `written_agent`.
"""

from dragoman.dialect.threads.agent import ThreadsAgent
from dragoman.dialect.threads.client import ThreadsClient

__all__ = ["ThreadsAgent", "ThreadsClient"]
