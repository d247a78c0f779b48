"""The fixture for tests that need no worker process."""

from tests.review.local_inspector import rules_in_this_process

__all__ = ["rules_in_this_process"]
