"""A process that lends its streams to a fork of a fork server, and ends as the fork ends.

    python -I -S tests/fork_client.py ADDRESS -m MODULE ARGUMENT…
    python -I -S tests/fork_client.py ADDRESS PROGRAM.py ARGUMENT…

It imports nothing but what an interpreter has built in, so that it starts at once. Signals are passed on to
the fork; if this process is killed, the server kills the fork. A terminal that nobody else has becomes that
of the fork. Without a server this process becomes the program.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys

PASSED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)


def is_large(words: list[str]) -> bool:
    """Whether it imports more than others do: it talks to models, draws, has many rules, or is made with the
    official SDK.
    """
    program = words[1] if words[0] == "-m" else words[0].rpartition("/")[2]
    is_command = words[2:4] in (["agent", "code"], ["agent", "review"]) or words[2:3] in (["chat"], ["check"])
    return is_command or "official" in program


def main() -> None:
    address, *words = sys.argv[1:]
    if words[0].startswith("-") and words[0] not in ("-m", "-c"):  # the server has no such interpreter
        os.execv(sys.executable, [sys.executable, *words])
    report, theirs = os.pipe()
    request = marshal.dumps((words, os.getcwd(), dict(os.environ)))
    ends = b"".join(end.to_bytes(4, sys.byteorder) for end in (0, 1, 2, theirs))
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        server.connect(f"{address}-large" if is_large(words) else address)
    except OSError:  # nobody has started one
        _claim_terminal()
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
        if -code in PASSED_ON:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _claim_terminal() -> None:
    if os.isatty(0):
        import fcntl  # not built in
        import termios

        try:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        except OSError:
            pass  # it is somebody else's


if __name__ == "__main__":
    main()
