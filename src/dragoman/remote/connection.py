"""One connection to the other side, from its start to the moment when it belongs to the agent host.

A client program (ssh, docker, podman) has a socket as its standard input and output. Through it go our first
program, one order, and the archive if it is asked for; then the socket carries records. What the client
complains about is kept for the one who has to say why it failed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import DragomanError
from dragoman.remote import bootstrap
from dragoman.remote.bundle import Bundle
from dragoman.remote.reach import CHOOSE_PYTHON, RemoteAccess

SILENT_SECONDS = 60.0
"""How long the other side may take for one step; it says `progress` before longer ones."""

PIP_SECONDS = 320.0

LARGEST_LINE = 64 * 1024
STDERR = 8 * 1024
END_SECONDS = 2.0

SSH_FAILED, NOT_FOUND = 255, 127


class RemoteFailed(DragomanError):
    """The other side cannot be reached or used: why, and what to do. `is_gone`: it was reached, and the agent
    is not there any more.
    """

    def __init__(self, reason: str, next_step: str, *, is_gone: bool = False) -> None:
        super().__init__(reason)
        self.next_step = next_step
        self.is_gone = is_gone


class RemoteConnection:
    """A client program that runs, and our end of its socket. Made by `open_connection`."""

    def __init__(
        self, access: RemoteAccess, ours: socket.socket, process: asyncio.subprocess.Process
    ) -> None:
        self.access = access
        self.socket = ours
        self._process = process
        self._complaints = bytearray()
        self._listening = asyncio.get_running_loop().create_task(self._listen(), name="client's stderr")

    async def send(self, data: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self.socket, data)
        except OSError:
            pass  # why it does not read, its end tells

    async def line(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON. Raises `RemoteFailed` if none comes."""
        try:
            async with asyncio.timeout(seconds):
                data = await self._line()
        except TimeoutError:
            raise RemoteFailed(
                f"{self.access.place} did not answer within {seconds:g} s",
                "see whether the machine is busy or the network slow, and try again",
            ) from None
        try:
            answer = msgspec.json.decode(data)
        except msgspec.MsgspecError:
            answer = None
        if not isinstance(answer, dict):
            raise await self._failure(data)
        if "error" in answer:
            raise RemoteFailed(
                f"{self.access.place}: {answer['error']}",
                str(answer.get("next", "")),
                is_gone=bool(answer.get("gone")),
            )
        return answer

    async def _line(self) -> bytes:
        """Byte by byte: what comes behind the line belongs to the one who reads next."""
        loop = asyncio.get_running_loop()
        data = bytearray()
        while len(data) < LARGEST_LINE and data[-1:] != b"\n":
            try:
                byte = await loop.sock_recv(self.socket, 1)
            except OSError:
                break
            if not byte:
                break
            data += byte
        return bytes(data)

    async def _failure(self, data: bytes) -> RemoteFailed:
        """What is wrong, by what the client said and how it ended."""
        try:
            async with asyncio.timeout(END_SECONDS):
                status = await self._process.wait()
                await self._listening
        except TimeoutError:
            status = -1
        text = (bytes(self._complaints) or data).decode(errors="replace").strip()
        last = text.splitlines()[-1] if text else f"{self._process_name} ended with status {status}"
        return RemoteFailed(f"{self.access.place}: {last}", next_step(self.access, status, text))

    @property
    def _process_name(self) -> str:
        return self.access.place.kind

    async def aclose(self) -> None:
        """Close our end, and see to it that the client ends. A connection that is shared stays open by
        itself.
        """
        self.socket.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        self._listening.cancel()
        await asyncio.wait([self._listening])

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self._complaints += chunk
            del self._complaints[:-STDERR]


def next_step(access: RemoteAccess, status: int, text: str) -> str:
    """What a person can do about it."""
    name = access.place.name
    if access.place.kind != "ssh":
        if status == NOT_FOUND or "executable file not found" in text:
            return f"the container needs Python 3.11 or later; --python names it if it is not {access.python}"
        return f"see `{access.place.kind} ps`: is {name} running?"
    if "Host key verification failed" in text or "authenticity of host" in text:
        return f"`ssh {name}` once in a terminal, and check the host's key"
    if "Permission denied" in text:
        return f"see that `ssh -o BatchMode=yes {name} true` works: a key in ssh-agent is needed"
    if status == NOT_FOUND or "not found" in text:
        return f"Python 3.11 or later is needed there; --python names it if it is not {access.python}"
    return f"see whether `ssh {name} true` works"


async def connect_client(access: RemoteAccess, *, shares: bool) -> RemoteConnection:
    """Start the client program. Raises `RemoteFailed` if it cannot be started."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    try:
        process = await asyncio.create_subprocess_exec(
            *access.words(shares=shares),
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=asyncio.subprocess.PIPE,
            env=access.environment(),
            start_new_session=True,  # Ctrl-C at our terminal is ours to deal with
        )
    except OSError as error:
        ours.close()
        raise RemoteFailed(f"{access.place.kind} cannot be started: {error}", "install it") from error
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return RemoteConnection(access, ours, process)


async def open_connection(
    access: RemoteAccess,
    order: Mapping[str, Any],
    bundle: Bundle,
    *,
    shares: bool = True,
    on_progress: Callable[[str], None] = lambda _: None,
) -> tuple[RemoteConnection, dict[str, Any]]:
    """Have an order carried out; gives the connection and the answer. After `start` and `find`, the socket
    carries records of the agent host. Raises `RemoteFailed`.
    """
    connection = await connect_client(access, shares=shares)
    try:
        whole = {**order, "folder": bundle.folder, "sha256": bundle.sha256, "size": len(bundle.data)}
        await connection.send(first_program() + msgspec.json.encode(whole) + b"\n")
        seconds = SILENT_SECONDS
        while True:
            answer = await connection.line(seconds)
            if "need" in answer:
                on_progress(f"sending {len(bundle.data) / 1e6:.1f} MB to {access.place}")
                await connection.send(bundle.data)
            elif "progress" in answer:
                on_progress(str(answer["progress"]))
                seconds = PIP_SECONDS
            else:
                return connection, answer
    except BaseException:
        await connection.aclose()
        raise


def first_program() -> bytes:
    """Two lines of Python: one that chooses the interpreter, and `bootstrap`."""
    source = Path(bootstrap.__file__).read_text("utf-8")
    return b"".join(f"exec({text!r})\n".encode() for text in (CHOOSE_PYTHON, source))
