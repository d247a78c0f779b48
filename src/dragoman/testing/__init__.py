"""What helps in testing: contract checks, scripted peers, golden transcripts; for us and for users."""

from dragoman.testing.transports import check_transport

__all__ = ["check_transport"]
