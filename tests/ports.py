"""Ports for servers that tests start: a port is the test's from the moment when it is chosen.

A port that was free a moment ago may be another process's when the server listens, or listens again after a
kill. So a socket of ours stays bound to it without listening: the system gives the port to nobody else, and
refuses it to those who look for a free one. A server that sets `SO_REUSEADDR`, as servers do, may listen.
"""

from __future__ import annotations

import errno
import os
import random
import socket
import sys


class KeptPort:
    """A port of an address, kept as long as this object lives."""

    number: int
    _descriptor: int | None = None
    """Of its socket: a socket that is open when it is forgotten would warn of that."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        with socket.socket() as keeper:
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                keeper.bind((host, 0))
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                self.number = random.randrange(10_000, 30_000)  # in another network namespace nobody else is
                return
            self.number = keeper.getsockname()[1]
            if sys.platform == "linux":  # elsewhere the server could not listen
                self._descriptor = keeper.detach()

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
