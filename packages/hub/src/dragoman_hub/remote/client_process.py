"""The program that reaches a remote machine (ssh, docker, podman), as a child process.

A socket is its standard input and output, another one its standard error. It is started without an event
loop, and before one is imported: a handshake of ssh takes longer than that, and goes on meanwhile.
"""

from __future__ import annotations

import socket
import subprocess
from types import TracebackType
from typing import Self

from dragoman.errors import DragomanError
from dragoman_hub.remote.reach import RemoteAccess

NOT_FOUND = 127


class RemoteFailed(DragomanError):
    """The remote machine cannot be reached or used: the reason, and what to do. `is_gone`: it was reached,
    but the agent has ended.
    """

    def __init__(self, reason: str, next_step: str, *, is_gone: bool = False) -> None:
        super().__init__(reason)
        self.next_step = next_step
        self.is_gone = is_gone


class ClientProcess:
    """A running client program. Leaving the block ends it."""

    def __init__(
        self,
        access: RemoteAccess,
        process: subprocess.Popen[bytes],
        *,
        stream: socket.socket,
        stderr: socket.socket,
    ) -> None:
        self.access = access
        self.process = process
        self.stream = stream
        """Our end of its standard input and output."""
        self.stderr = stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Close this side's ends, and make sure that the process has ended."""
        self.stream.close()
        self.stderr.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def has_ended(self, seconds: float) -> bool:
        """Whether it ends by itself within this many seconds."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def start_client(access: RemoteAccess, *, shares: bool = True) -> ClientProcess:
    """Start the client program. Raises `RemoteFailed` if it cannot be started, and `LocalMistake` if there is
    none.
    """
    words, env = access.words(shares=shares), access.environment()
    stream, their_stream = socket.socketpair()
    stderr, their_stderr = socket.socketpair()
    try:
        process = subprocess.Popen(
            words,
            stdin=their_stream.fileno(),
            stdout=their_stream.fileno(),
            stderr=their_stderr.fileno(),
            env=env,
            start_new_session=True,  # Ctrl-C at our terminal is ours to deal with
        )
    except OSError as error:
        stream.close()
        stderr.close()
        raise RemoteFailed(f"{access.place.kind} cannot be started: {error}", "install it") from error
    finally:
        their_stream.close()
        their_stderr.close()
    stream.setblocking(False)
    stderr.setblocking(False)
    return ClientProcess(access, process, stream=stream, stderr=stderr)


def next_step(access: RemoteAccess, status: int, text: str) -> str:
    """Advice about a failed client program, by its exit status and its output."""
    name = access.place.name
    if access.place.kind != "ssh":
        if status == NOT_FOUND or "executable file not found" in text:
            return f"the container needs Python 3.11 or later; --python names it if it is not {access.python}"
        return f"see whether `{access.place.kind} ps` lists {name}"
    if "Host key verification failed" in text or "authenticity of host" in text:
        return f"`ssh {name}` once in a terminal, and check the host's key"
    if "Permission denied" in text:
        return f"see that `ssh -o BatchMode=yes {name} true` works: ssh needs a key in ssh-agent"
    if status == NOT_FOUND or "not found" in text:
        return f"Python 3.11 or later is needed there; --python names it if it is not {access.python}"
    return f"see whether `ssh {name} true` works"
