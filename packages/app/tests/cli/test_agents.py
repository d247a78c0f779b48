"""The ready agents as processes, driven byte by byte."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing import RawPeer
from tests import forks
from tests.transport.programs import alive, eventually

ECHO = [sys.executable, "-m", "dragoman", "agent", "echo"]

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
NEW = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}}

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")


def prompt(session: str, text: str, *, request_id: Any = 2) -> dict[str, Any]:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": request_id, "method": "session/prompt", "params": params}


async def opened(peer: RawPeer) -> str:
    """Initialize, open a session and pass over the announcement of its commands."""
    await peer.send(INITIALIZE, NEW)
    _, created, _ = await peer.read_lines(3)
    return str(json.loads(created)["result"]["sessionId"])


async def test_echo_answers_and_ends_with_its_input() -> None:
    async with RawPeer(ECHO) as peer:
        session = await opened(peer)
        await peer.send(prompt(session, "Hello"))
        lines = await peer.read_until(lambda line: b'"id":2' in line)
        texts = [json.loads(line)["params"]["update"]["content"]["text"] for line in lines[:-1]]
        assert "".join(texts) == "You said: Hello"
        peer.close_stdin()
        assert await peer.wait() == 0
        assert await peer.read_rest() == []
        assert peer.stderr == ""


async def test_a_failing_handler_is_explained_on_standard_error_alone() -> None:
    async with RawPeer([*forks.DRAGOMAN, "agent", "echo"]) as peer:
        session = await opened(peer)
        await peer.send(prompt(session, "/fail"))
        answer = json.loads(await peer.read_line())
        assert answer == {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "Internal error"}}
        await eventually(lambda: "RuntimeError" in peer.stderr)


@posix
@pytest.mark.parametrize("text", ["", "/wait 1000", "/stream 100000000", "/child 1000"])
async def test_echo_ends_on_sigterm_with_all_that_it_started(text: str) -> None:
    async with RawPeer(ECHO) as peer:
        session = await opened(peer)
        if text:
            await peer.send(prompt(session, text))
        if text.startswith(("/stream", "/child")):
            await peer.read_line()
        peer.send_signal(signal.SIGTERM)
        assert await peer.wait() == 0
        await eventually(lambda: peer.processes() == [], seconds=1)


@posix
@pytest.mark.bound(20)
@pytest.mark.parametrize("how", ["eof", "kill"])
async def test_the_children_of_echo_end_with_it_however_it_ends(how: str) -> None:
    async with RawPeer(ECHO) as peer:
        session = await opened(peer)
        await peer.send(prompt(session, "/child 1000"))
        await peer.read_line()
        await eventually(lambda: len(peer.processes()) >= 6)
        tree = peer.processes()
        if how == "eof":
            peer.close_stdin()
        else:
            peer.send_signal(signal.SIGKILL)
        assert await peer.wait(seconds=12) == (0 if how == "eof" else -signal.SIGKILL)
        await eventually(lambda: not any(map(alive, tree)))


def test_echo_works_on_files(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_bytes(b"".join(json.dumps(frame).encode() + b"\n" for frame in (INITIALIZE, NEW)))
    with requests.open("rb") as given, (tmp_path / "answers").open("wb") as answers:
        done = subprocess.run(ECHO, stdin=given, stdout=answers, check=False)
    assert done.returncode == 0
    lines = (tmp_path / "answers").read_bytes().splitlines()
    assert [json.loads(line).get("id") for line in lines][:2] == [0, 1]


async def test_nothing_that_an_agent_imports_can_print_into_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Chatty:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('dragoman_app.agents.echo'): print('loading', name, flush=True)\n"
        "sys.meta_path.insert(0, Chatty())\n"
    )
    env = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with RawPeer(ECHO, env=env) as peer:
        await peer.send(INITIALIZE)
        assert json.loads(await peer.read_line())["id"] == 0
        await eventually(lambda: "loading dragoman_app.agents.echo" in peer.stderr)


async def test_a_script_is_played(tmp_path: Path) -> None:
    script = tmp_path / "hello.script"
    script.write_text('agent hello\non prompt\n  say "Hello $text"\n', encoding="utf-8")
    async with RawPeer([*forks.DRAGOMAN, "agent", "script", str(script)]) as peer:
        await peer.send(INITIALIZE, NEW, prompt("session-1", "you"))
        *_, said, ended = await peer.read_lines(4)
        assert json.loads(said)["params"]["update"]["content"]["text"] == "Hello you"
        assert json.loads(ended)["result"] == {"stopReason": "end_turn"}
        peer.close_stdin()
        assert await peer.wait() == 0


@pytest.mark.parametrize(
    ("content", "what", "to_do"),
    [
        (None, "cannot read", "give the path of a script"),
        (b"on prompt\n  sya hello", "line 2: 'sya' is not a verb", "fix that line"),
        (b"\xff\xfe", "is not UTF-8 text", "give the path of a script"),
    ],
)
def test_a_script_that_cannot_be_played_is_explained(
    content: bytes | None, what: str, to_do: str, tmp_path: Path
) -> None:
    script = tmp_path / "story.script"
    if content is not None:
        script.write_bytes(content)
    done = subprocess.run(
        [*forks.DRAGOMAN, "agent", "script", str(script)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert what in done.stderr
    assert to_do in done.stderr
    assert "Traceback" not in done.stderr
