"""Contract checks for journals and shared state: what every implementation has to keep."""

from dragoman_local.contracts.journals import check_journal
from dragoman_local.contracts.shared_state import check_shared

__all__ = ["check_journal", "check_shared"]
