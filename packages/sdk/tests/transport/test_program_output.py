from __future__ import annotations

import asyncio
import os

import pytest

from dragoman.transport.program_output import StderrTail


@pytest.mark.parametrize("kept", [0, 10, 1000])
async def test_only_the_end_is_kept(kept: int) -> None:
    read, write = os.pipe()
    over = asyncio.Event()
    tail = StderrTail(read, limit=kept, on_end=over.set)
    said = "".join(f"line {n}\n" for n in range(100))
    for line in said.splitlines(keepends=True):
        os.write(write, line.encode())
        await asyncio.sleep(0)
    os.close(write)
    await over.wait()
    assert tail.text == (said[-kept:] if kept else "")
    assert tail.total == len(said)
    assert tail.has_ended


async def test_what_is_no_text_can_be_shown_all_the_same() -> None:
    read, write = os.pipe()
    over = asyncio.Event()
    seen: list[bytes] = []
    tail = StderrTail(read, show=seen.append, on_end=over.set)
    os.write(write, b"caf\xe9\n")
    os.close(write)
    await over.wait()
    assert tail.text == "caf�\n"
    assert seen == [b"caf\xe9\n"]
    tail.close()
