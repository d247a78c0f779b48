"""One connection to a remote machine, from its start until the agent host takes it over.

A client program (ssh, docker, podman) has a socket as its standard input and output. Through it go our first
program, one order, and the archive if it is asked for; then the socket carries records. What the client
complains about is kept for the one who has to say why it failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from dragoman_hub.remote import bootstrap
from dragoman_hub.remote.bundle import Bundle
from dragoman_hub.remote.client_process import ClientProcess, RemoteFailed, next_step
from dragoman_hub.remote.reach import CHOOSE_PYTHON

SILENT_SECONDS = 60.0
"""The seconds for the other side to finish one step; it sends `progress` before longer ones."""

PIP_SECONDS = 320.0

LARGEST_LINE = 64 * 1024
STDERR = 8 * 1024
END_SECONDS = 2.0


class RemoteConnection:
    """A running client program, and our end of its socket. Made by `open_connection`."""

    def __init__(self, client: ClientProcess) -> None:
        self.access = client.access
        self.socket = client.stream
        self._client = client
        self._complaints = bytearray()
        self._listening = asyncio.get_running_loop().create_task(self._listen(), name="client's stderr")

    async def send(self, data: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self.socket, data)
        except OSError:
            pass  # why it does not read, its end tells

    async def line(self, seconds: float) -> dict[str, Any]:
        """Return the next line of JSON. Raises `RemoteFailed` if none comes."""
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
            # What to do is our advice alone: a person follows it here. The other side's is quoted as its own.
            words = "; ".join(
                " ".join(str(answer[key]).split()) for key in ("error", "next") if key in answer
            )
            raise RemoteFailed(
                f"{self.access.place} says: {words}",
                f"look at {self.access.place}, and try again",
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
        """The problem, by the client's output and how it ended."""
        status = -1
        if await asyncio.to_thread(self._client.has_ended, END_SECONDS):
            status = self._client.process.returncode
            await asyncio.wait([self._listening], timeout=END_SECONDS)
        text = (bytes(self._complaints) or data).decode(errors="replace").strip()
        last = text.splitlines()[-1] if text else f"{self.access.place.kind} ended with status {status}"
        return RemoteFailed(f"{self.access.place}: {last}", next_step(self.access, status, text))

    async def aclose(self) -> None:
        """Close this end, and make sure that the client ends. A shared connection stays open by itself."""
        self.socket.close()
        try:
            await asyncio.to_thread(self._client.has_ended, END_SECONDS)
        finally:
            self._listening.cancel()
            await asyncio.wait([self._listening])
            self._client.end()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # an end like any other
            while chunk := await loop.sock_recv(self._client.stderr, 4096):
                self._complaints += chunk
                del self._complaints[:-STDERR]


async def open_connection(
    client: ClientProcess,
    order: Mapping[str, Any],
    bundle: Bundle,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> tuple[RemoteConnection, dict[str, Any]]:
    """Run an order; return the connection and the answer. After `start` and `find`, the socket carries
    records of the agent host. Raises `RemoteFailed`. The client then belongs to the connection.
    """
    connection = RemoteConnection(client)
    try:
        whole = {**order, "folder": bundle.folder, "sha256": bundle.sha256, "size": len(bundle.data)}
        await connection.send(first_program() + msgspec.json.encode(whole) + b"\n")
        seconds = SILENT_SECONDS
        while True:
            answer = await connection.line(seconds)
            if "need" in answer:
                on_progress(f"sending {len(bundle.data) / 1e6:.1f} MB to {client.access.place}")
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
    """Return two lines of Python: one that chooses the interpreter, and `bootstrap`."""
    source = Path(bootstrap.__file__).read_text("utf-8")
    return b"".join(f"exec({text!r})\n".encode() for text in (CHOOSE_PYTHON, source))
