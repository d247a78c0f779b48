import asyncio
import os
from pathlib import Path

import pytest

from dragoman.testing.models.__main__ import main
from tests.forks import module

COMMAND = module("dragoman.testing.models")


@pytest.mark.bound(20)  # a process that imports asyncio, on a busy machine
async def test_it_says_where_it_is_and_what_it_was_asked(tmp_path: Path) -> None:
    script = tmp_path / "model.script"
    script.write_text('key k\nturn\n  say "Hello"\n', encoding="utf-8")
    process = await asyncio.create_subprocess_exec(*COMMAND, script, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        lines = [(await process.stdout.readline()).decode().strip() for _ in range(6)]
        env = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        assert env["OPENAI_API_KEY"] == "k"
        port = int(env["ANTHROPIC_BASE_URL"].rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
        writer.write(
            b"POST /v1/messages HTTP/1.1\r\nconnection: close\r\nx-api-key: k\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        assert b'"text": "Hello"' in await reader.read()
        writer.close()
        told = (await process.stdout.readline()).decode()
        assert told.startswith("1: turn 1: <messages to m: 1 messages, 0 tools, ")
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize(
    ("text", "why"), [(None, "No such file"), ("shout", "line 1: 'shout' is not a verb")]
)
def test_a_script_that_cannot_be_read_is_status_2(
    text: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.script"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main([os.fspath(path)]) == 2
    assert why in capsys.readouterr().err
