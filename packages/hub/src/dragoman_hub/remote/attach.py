"""The remote end of the connection: finds or starts the agent host, and passes its records on.

Runs in the process that the connection has started (see `bootstrap`). Standard input and output become the
socket of the agent host: what the two ends say is `dragoman_hub.agents.host.records`, as between a hub and an
agent host on one machine. The secret of the host is read and said here, and never leaves this side. The
process ends with the connection; the host, in a session of its own, does not.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dragoman_hub.agents.host.host_reply import READY, READY_WITHIN, reason_of

CHUNK = 64 * 1024

BATCH = 4 * 1024
"""The bytes of frames in one record: a connection that often breaks transfers at least
this much each time.
"""


def main(order: Mapping[str, Any], stdin: BinaryIO, *, run: Path) -> None:
    """Run `start` or `find`, then copy bytes until one end is gone."""
    path = run / f"{order['name']}.sock"
    host = _start(order, path) if order["act"] == "start" else None
    # Imported here: meanwhile the host does so too.
    from dragoman_hub.agents.host import place, records

    if host is not None:
        _wait_until_ready(host, {**os.environ, **order["env"]})
    connection = place.connect(path)
    if connection is None:
        _say(error="the agent host is gone, and the agent with it", next="start the agent again", gone=True)
        return
    connection.setblocking(True)
    _say(ready=True, home=os.path.expanduser("~"))
    connection.sendall(records.record(records.HELLO, records.VERSION, place.read_secret(path)))
    _pass_on(connection, stdin)


def end_all(run: Path) -> None:
    """End all our agents, with their hosts."""
    from dragoman_hub.agents.host import place, records

    for path in sorted(run.glob("*.sock")):
        connection = place.connect(path)
        if connection is None:
            continue
        connection.setblocking(True)
        connection.settimeout(20.0)  # each step of ending a tree, and some more
        with connection:
            hello = records.record(records.HELLO, records.VERSION, place.read_secret(path))
            try:
                connection.sendall(hello + records.record(records.CLOSE))
                while connection.recv(CHUNK):
                    pass  # its last words; the end of the stream is the host's own
            except OSError:
                continue


def _start(order: Mapping[str, Any], path: Path) -> subprocess.Popen[bytes]:
    """Start the agent host. If it cannot be started, say why, and end."""
    cwd = os.path.expanduser(order["cwd"] or "~")
    if not os.path.isdir(cwd):
        _fail(f"there is no folder {cwd} on the other machine")
    options = ["--linger", repr(order["linger"]), "--buffer", str(order["buffer"]), "--cwd", cwd]
    options += ["--batch", str(BATCH), "--env", "stdin", "--sandbox", order.get("sandbox", "auto")]
    # -P: what lies in the folder that we stand in is not ours to run.
    words = [sys.executable, "-P", "-m", "dragoman_hub.remote.lending_host", str(path), *options, "--"]
    try:
        return subprocess.Popen(
            [*words, *order["command"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        _fail(f"the agent host cannot be started: {error}")


def _wait_until_ready(host: subprocess.Popen[bytes], env: Mapping[str, str]) -> None:
    """Give the host the agent's environment, and wait until it listens. If it cannot, say why, and end."""
    assert host.stdin is not None and host.stdout is not None  # noqa: PT018
    watch = threading.Timer(READY_WITHIN, host.kill)
    watch.daemon = True
    watch.start()
    with suppress(BrokenPipeError), host.stdin:  # it did not even read: what it says tells why
        host.stdin.write(json.dumps(dict(env)).encode())
    with host.stdout:
        reply = host.stdout.read()  # until it lets go of its output
    watch.cancel()
    if reply != READY:
        _fail(reason_of(reply))


def _fail(reason: str) -> NoReturn:
    _say(error=reason, next="see that --cwd and the agent's command are right on the other machine")
    sys.exit(3)


def _pass_on(connection: socket.socket, stdin: BinaryIO) -> None:
    def to_host() -> None:
        try:
            while chunk := stdin.read(CHUNK):
                connection.sendall(chunk)
        except OSError:
            pass  # the other direction sees the same end
        finally:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already

    threading.Thread(target=to_host, name="to the agent host", daemon=True).start()
    try:
        while chunk := connection.recv(CHUNK):
            _write(chunk)
    except OSError:
        pass  # whoever reads us is gone, or the host is
    # The thread may sit in a read of standard input for ever: nothing is left to be tidied up.
    os._exit(0)


def _say(**members: object) -> None:
    _write(json.dumps(members).encode() + b"\n")


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
