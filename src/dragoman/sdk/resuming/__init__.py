"""A conversation with a hub that outlives its connections: cut off, it comes back and goes on where it was.

`Resumption` holds the rules and does no IO; `ResumingTransport` runs them over any transport.
"""

from dragoman.sdk.resuming.opening import resuming
from dragoman.sdk.resuming.resumption import Resumption
from dragoman.sdk.resuming.transport import Backoff, ConnectionNotice, ResumingTransport

__all__ = ["Backoff", "ConnectionNotice", "ResumingTransport", "Resumption", "resuming"]
