"""Contract checks that every implementation of a journal must pass."""

from dragoman_local.contracts.journals import check_journal

__all__ = ["check_journal"]
