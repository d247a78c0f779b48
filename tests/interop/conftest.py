"""Each worker has a process that forks for runs, as in the room of faulty agents."""

from tests.faults.client.conftest import fork_server

__all__ = ["fork_server"]
