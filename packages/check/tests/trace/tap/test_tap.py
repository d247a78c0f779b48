"""The tap as a process: every byte passes in both directions, and the record tells what."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from dragoman_local.journal.transcript import read_transcript
from tests.forks import DRAGOMAN, unforked
from tests.transport.programs import alive, eventually, python

MIRROR = """
import hashlib, os, sys
total, seen = 0, hashlib.sha256()
while chunk := os.read(0, 65536):
    seen.update(chunk)
    view = memoryview(chunk)
    while view:
        view = view[os.write(1, view):]
os.write(2, seen.hexdigest().encode())
"""
"""Says what it hears, byte for byte, and at the end on standard error what it heard."""


def tap(record: Path, *options: str, command: list[str]) -> list[str]:
    return [*DRAGOMAN, "tap", "--record", str(record), *options, "--", *command]


async def run(words: list[str], fed: bytes, **variables: str) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **variables},
    )
    out, err = await process.communicate(fed)
    assert process.returncode is not None
    return process.returncode, out, err


def notes(record: Path) -> list[Any]:
    return [json.loads(entry.frame) for entry in entries(record) if entry.direction == "note"]


def entries(record: Path) -> list[Any]:
    with record.open("rb") as file:
        return list(read_transcript(file))


@pytest.mark.bound(30)
async def test_every_byte_passes_both_ways_whatever_it_is(tmp_path: Path) -> None:
    noise = random.Random(7)
    lines = [noise.randbytes(noise.choice((0, 1, 80, 5000, 300_000))) for _ in range(60)]
    fed = b"\n".join(lines) + b'\r\n\n{"a": 1}\n{"cut'
    status, out, err = await run(tap(tmp_path / "t.ndjson", command=python(MIRROR)), fed)
    assert status == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(fed).digest()
    assert err.decode() == hashlib.sha256(fed).hexdigest()
    wanted = [line.rstrip(b"\r") for line in fed.split(b"\n") if line.strip()]
    for direction in ("to_agent", "to_client"):
        assert [
            entry.frame for entry in entries(tmp_path / "t.ndjson") if entry.direction == direction
        ] == wanted


@pytest.mark.bound(20)
async def test_the_exit_status_and_how_it_ended_are_the_agents(tmp_path: Path) -> None:
    program = "import sys; sys.stderr.write('oh no\\n'); sys.exit(7)"
    status, _, err = await run(tap(tmp_path / "t.ndjson", command=python(program)), b"")
    assert (status, err) == (7, b"oh no\n")
    events = {note["event"]: note for note in notes(tmp_path / "t.ndjson")}
    assert events["start"]["command"][-1] == program
    assert events["stderr"]["text"] == "oh no"
    assert events["exit"]["status"] == 7


@pytest.mark.bound(20)
async def test_a_guard_shows_stray_output_and_passes_the_rest(tmp_path: Path) -> None:
    program = 'print(\'starting up\'); print(\'{"jsonrpc":"2.0","id":1,"result":{}}\'); print(\'{oops\')'
    record = tmp_path / "t.ndjson"
    status, out, err = await run(tap(record, "--guard", command=python(program)), b"")
    assert status == 0
    assert out == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert err == b"starting up\n{oops\n"
    assert [note["text"] for note in notes(record) if note["event"] == "noise"] == ["starting up", "{oops"]


@pytest.mark.bound(20)
async def test_secrets_are_not_in_the_record(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    fed = (
        json.dumps({"method": "a", "params": {"text": f"it is {secret}!"}}).encode()
        + b'\n{"method":"session/new","params":{"mcpServers":[{"env":[{"name":"A","value":"hunter22"}]}]}}\n'
    )
    record = tmp_path / "t.ndjson"
    _, out, _ = await run(tap(record, command=python(MIRROR)), fed, MY_TOKEN=secret)
    assert out == fed
    text = record.read_text()
    assert secret not in text
    assert "hunter22" not in text
    assert notes(record)[-1] == {"event": "redacted", "count": 4}
    kept = tmp_path / "kept.ndjson"
    await run(tap(kept, "--no-redact", command=python(MIRROR)), fed, MY_TOKEN=secret)
    assert secret in kept.read_text()


@pytest.mark.bound(20)
async def test_a_recording_is_private_and_never_written_over(tmp_path: Path) -> None:
    record = tmp_path / "t.ndjson"
    await run(tap(record, command=python("pass")), b"")
    assert record.stat().st_mode & 0o777 == 0o600
    before = record.read_bytes()
    status, _, err = await run(tap(record, command=python("pass")), b"")
    assert status == 2
    assert f"cannot write {record}: it exists already".encode() in err
    assert record.read_bytes() == before


@pytest.mark.bound(20)
async def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    status, _, err = await run(tap(tmp_path / "t.ndjson", command=["/no/such/agent"]), b"")
    assert status == 127
    assert b"/no/such/agent" in err


@pytest.mark.bound(20)
async def test_a_signal_ends_the_agent_and_is_in_the_status(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(100)"
    process = await asyncio.create_subprocess_exec(
        *unforked(tap(tmp_path / "t.ndjson", command=python(program))), stdin=asyncio.subprocess.PIPE
    )
    await eventually(lambda: pid.exists() and bool(pid.read_text()), seconds=15)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 128 + signal.SIGTERM
    assert not alive(int(pid.read_text()))
