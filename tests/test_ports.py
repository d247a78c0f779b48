"""A port that a test has chosen is nobody else's, also while its server does not run."""

from __future__ import annotations

import socket
import sys
from contextlib import closing

import pytest

from tests.ports import KeptPort

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port is chosen, and not kept")


def test_a_kept_port_is_for_servers_alone_and_free_again_at_last() -> None:
    port = KeptPort()
    place = ("127.0.0.1", port.number)
    for _ in range(2):  # a server that was killed listens there again
        with socket.create_server(place) as server, socket.create_connection(place) as client:
            server.accept()[0].close()
            assert client.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
        with closing(socket.socket()) as other, pytest.raises(OSError, match="in use"):
            other.bind(place)
    del port
    with socket.create_server(place):
        pass
