"""However the bytes of a connection are cut, the same messages come out of it, in the same order."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Frame, Opcode

from dragoman.transport.websocket_runs import SMALL, RunConnection

END = "the end"


@asynccontextmanager
async def connected() -> AsyncIterator[RunConnection]:
    """A connection to a server that says nothing: what is received is given to it by the test."""

    async def quiet(peer: ServerConnection) -> None:
        await peer.wait_closed()

    async with serve(quiet, "127.0.0.1", 0, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        address = f"ws://127.0.0.1:{port}"
        async with connect(address, compression=None, create_connection=RunConnection) as connection:
            assert isinstance(connection, RunConnection)
            yield connection


def on_the_wire(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=False)


def story(chance: random.Random, *, fragments: bool) -> tuple[bytes, list[str]]:
    """Frames as a server may send them, and the texts in them."""
    kinds = ["short", "short", "short", "long", "large", "odd", "empty", "ping", "pong", "binary"]
    wire, texts = b"", []
    for number in range(chance.randint(1, 40)):
        kind = chance.choice([*kinds, "fragments"] if fragments else kinds)
        size = {"short": chance.randint(1, 125), "long": 4000, "large": SMALL + 5}.get(kind, 3)
        text = f"{number:04} " + "ä" * (size // 2)
        if kind in ("ping", "pong"):
            wire += on_the_wire(Opcode.PING if kind == "ping" else Opcode.PONG, b"?")
        elif kind == "binary":
            wire += on_the_wire(Opcode.BINARY, b"not\n", fin=False) + on_the_wire(Opcode.CONT, b"text\n")
            wire += on_the_wire(Opcode.BINARY, b"nor this\n")
        elif kind == "empty":
            wire += on_the_wire(Opcode.TEXT, b"")
        elif kind == "fragments":
            wire += on_the_wire(Opcode.TEXT, text[:3].encode(), fin=False) + on_the_wire(Opcode.PING, b"!")
            wire += on_the_wire(Opcode.CONT, text[3:].encode())
            texts.append(text)
        else:
            said = text + "\n,\n" if kind == "odd" else text
            wire += on_the_wire(Opcode.TEXT, said.encode())
            texts.append(said.replace("\n", " "))
    return wire + on_the_wire(Opcode.TEXT, END.encode()), texts


async def texts_of(connection: RunConnection) -> list[str]:
    found: list[str] = []
    while not found or found[-1] != END:
        message = await connection.recv()
        found += [message] if isinstance(message, str) else message.decode().removesuffix("\n").split("\n")
    return [text for text in found[:-1] if text]


@pytest.mark.bound(30)
@pytest.mark.parametrize("seed", range(12))
async def test_any_cut_gives_the_same_messages(seed: int) -> None:
    chance = random.Random(seed)
    async with connected() as connection:
        wire, texts = story(chance, fragments=seed % 3 == 0)
        while wire:
            cut = chance.choice([1, 2, 3, 5, 200, 5000, SMALL, len(wire)])
            connection.data_received(wire[:cut])
            wire = wire[cut:]
        assert await texts_of(connection) == texts


async def test_many_small_messages_are_one_run() -> None:
    async with connected() as connection:
        connection.data_received(b"".join(on_the_wire(Opcode.TEXT, b"%d" % n) for n in range(1000)))
        assert await connection.recv() == b"".join(b"%d\n" % n for n in range(1000))


async def test_a_run_has_no_blank_messages_and_no_newlines_inside_one() -> None:
    async with connected() as connection:
        said = (b"one", b"", b" \n ", b"t\nwo", b"\t", b"three")
        connection.data_received(b"".join(on_the_wire(Opcode.TEXT, message) for message in said))
        assert await connection.recv() == b"one\nt wo\nthree\n"


async def test_a_run_that_is_no_text_ends_the_connection() -> None:
    async with connected() as connection:
        connection.data_received(on_the_wire(Opcode.TEXT, b"good") + on_the_wire(Opcode.TEXT, b"\xff"))
        with pytest.raises((ConnectionClosedError, UnicodeDecodeError)):
            await connection.recv()


async def test_a_masked_frame_ends_the_connection() -> None:
    async with connected() as connection:
        connection.data_received(Frame(Opcode.TEXT, b"x").serialize(mask=True))
        with pytest.raises(ConnectionClosedError):
            await connection.recv()
