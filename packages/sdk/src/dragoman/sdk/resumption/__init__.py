"""A conversation with a hub that survives lost connections: it reconnects and continues where it stopped.

`Resumption` holds the rules and does no IO; `ResumingTransport` runs them over any transport.
"""

from dragoman.sdk.resumption.hub_link import resuming
from dragoman.sdk.resumption.resumption import Resumption
from dragoman.sdk.resumption.transport import Backoff, ConnectionNotice, ResumingTransport

__all__ = ["Backoff", "ConnectionNotice", "ResumingTransport", "Resumption", "resuming"]
