"""A process that lends its streams to a fork of a fork server, and ends as the fork ends.

    python -I -S tests/fork_client.py ADDRESS -m MODULE ARGUMENT…

It imports nothing but what an interpreter has built in, so that it starts at once. Signals are passed on to
the fork; if this process is killed, the server kills the fork. Without a server it becomes the program.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys

PASSED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)


def main() -> None:
    address, *words = sys.argv[1:]
    report, theirs = os.pipe()
    request = marshal.dumps((words, os.getcwd(), dict(os.environ)))
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, 1, 2, theirs))
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        server.connect(address)
    except OSError:  # nobody has started one
        os.execv(sys.executable, [sys.executable, *words])
    server.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, ends)])
    for end in (0, 1, 2, theirs):
        os.close(end)
    with open(report, "rb", buffering=0) as status:
        pid = int(status.readline())
        for number in PASSED_ON:
            _signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int(status.readline())
    if code < 0:
        _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
