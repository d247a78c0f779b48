"""Contract checks that every implementation of a journal or of shared state must pass."""

from dragoman_local.contracts.journals import check_journal
from dragoman_local.contracts.shared_state import check_shared

__all__ = ["check_journal", "check_shared"]
