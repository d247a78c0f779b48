"""What helps in testing: contract checks, raw and scripted peers, golden transcripts; for us and for users."""

from dragoman.testing.raw_peer import RawPeer
from dragoman.testing.transports import check_transport

__all__ = ["RawPeer", "check_transport"]
