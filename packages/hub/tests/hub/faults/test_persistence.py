"""PST: what is on disk, whatever happens to the hub and to the disk. Every row is tried on `dragoman hub` as
a process of its own, with its journal in a SQLite file.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import secrets
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.transport.websocket import open_websocket
from tests.faults.watch import forget_peak, peak
from tests.hub.outside.process import UNHURRIED, HubProcess, leave, running_hub, told_of
from tests.hub.sessions.stage import Talker

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(150)]


def can(*words: str) -> bool:
    return shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running_hub(tmp_path_factory.mktemp("hub")) as one:
        yield one


@asynccontextmanager
async def visiting(hub: HubProcess) -> AsyncIterator[Talker]:
    client = await (await hub.client()).begin()
    try:
        yield client
    finally:
        await leave(client)


async def turn(client: Talker, session: str, words: str) -> Any:
    return (await client.answer(client.prompt(session, words)))["result"]["stopReason"]


async def acknowledged(hub: HubProcess, *turns: str) -> str:
    """A session with these turns, each of which was answered."""
    async with visiting(hub) as client:
        session = await client.new(str(hub.work))
        for words in turns:
            assert await turn(client, session, words) == "end_turn"
    return session


async def loaded(hub: HubProcess, session: str) -> list[str]:
    async with visiting(hub) as client:
        return await told_of(client, session)


NUMBERS = [f"{number} " for number in range(5)]


async def test_pst_00_a_turn_is_back_after_a_clean_end(hub: HubProcess) -> None:
    session = await acknowledged(hub, "/stream 5")
    assert hub.stop() == 0
    hub.start()
    assert await loaded(hub, session) == ["/stream 5", *NUMBERS]


async def test_pst_01_a_turn_that_was_acknowledged_survives_kill_9(hub: HubProcess) -> None:
    async with visiting(hub) as client:
        session = await client.new(str(hub.work))
        assert await turn(client, session, "/stream 5") == "end_turn"
        hub.kill()
    hub.start()
    assert await loaded(hub, session) == ["/stream 5", *NUMBERS]


async def test_pst_03_what_was_acknowledged_stays_however_often_it_is_killed(hub: HubProcess) -> None:
    chance = random.Random(3)
    session = await acknowledged(hub, "/stream 5")
    kept = ["/stream 5", *NUMBERS]
    for _ in range(2):
        async with visiting(hub) as client:
            await told_of(client, session)
            before = len(client.heard)
            client.prompt(session, "/stream 400")
            enough = before + chance.randint(1, 300)
            await client.until(lambda _, c=client, n=enough: len(c.heard) >= n)  # type: ignore[misc]
            hub.kill()
        hub.start()
        told = await loaded(hub, session)
        assert told[: len(kept)] == kept
        async with visiting(hub) as client:  # behind the one that was killed, which comes to its own end
            await told_of(client, session)
            assert await turn(client, session, "/stream 5") == "end_turn"
            kept = await told_of(client, session)
        assert kept[-5:] == NUMBERS


async def test_pst_04_what_a_client_has_seen_is_in_the_replay(hub: HubProcess) -> None:
    async with visiting(hub) as client:
        session = await client.new(str(hub.work))
        client.prompt(session, "/stream 2000")
        await client.until(lambda _: len(client.texts()) >= 100)
        hub.kill()
        seen = client.texts()
    hub.start()
    told = await loaded(hub, session)
    assert told[1 : len(seen) + 1] == seen


async def test_pst_06_a_torn_write_costs_what_was_torn_and_nothing_before(tmp_path: Path) -> None:
    with running_hub(tmp_path) as hub:
        session = await acknowledged(hub, "/stream 5", "the last one")
        async with visiting(hub) as client:
            agents = (await client.call("_dragoman/hub/agents"))["agents"]
        hub.kill()
        # What tears a file that was synced is a loss of power, which takes the agent along.
        os.kill(next(one["pid"] for one in agents if one["name"] == "echo"), signal.SIGKILL)
        newest = hub.data / "hub.db-wal"
        with newest.open("r+b") as file:
            file.truncate(newest.stat().st_size - 7)
        hub.start()
        told = await loaded(hub, session)
        assert told[:6] == ["/stream 5", *NUMBERS]
        async with visiting(hub) as client:
            await told_of(client, session)
            assert await turn(client, session, "and on") == "end_turn"
        assert "Traceback" not in hub.log.read_text()


async def test_pst_07_a_byte_that_was_changed_on_disk_is_never_served(hub: HubProcess) -> None:
    session = await acknowledged(hub, "a treasure of gold")
    sound = await acknowledged(hub, "/stream 5")
    assert hub.stop() == 0
    stored = hub.data / "hub.db"
    before = stored.read_bytes()
    after = before.replace(b'"text": "a treasure of gold"', b'"text": "a treasure of mold"')
    assert before != after
    stored.write_bytes(after)
    hub.start()
    async with visiting(hub) as client:
        number = client.ask("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert "mold" not in str(await client.answer(number)) + str(client.heard)
        assert await told_of(client, sound) == ["/stream 5", *NUMBERS]


class Full:
    """A hub whose disk can be full: no process may write more than its limit, or its file system is small."""

    def __init__(self, hub: HubProcess, fill: Callable[[], None], make_room: Callable[[], None]) -> None:
        self.hub, self.fill, self.make_room = hub, fill, make_room


@pytest.fixture(params=["limit", pytest.param("filesystem", marks=pytest.mark.slow)])
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Full]:
    if request.param == "limit":
        with running_hub(tmp_path) as hub:

            def limit(size: int) -> None:
                resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

            yield Full(hub, lambda: limit(0), lambda: limit(resource.RLIM_INFINITY))
        return
    if not can("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"):
        pytest.skip("needs the right to mount a file system")
    (tmp_path / "data").mkdir()
    mount = ["sh", "-c", 'mount -t tmpfs -o size=6m tmpfs "$1" && shift && exec "$@"', "sh"]
    with running_hub(tmp_path, before=["unshare", "-m", *mount, str(tmp_path / "data")]) as hub:
        filler = Path(f"/proc/{hub.pid}/root{tmp_path}/data/filler")

        def fill() -> None:
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))

        yield Full(hub, fill, filler.unlink)


async def test_pst_09_a_full_disk_costs_the_turn_and_nothing_before(full: Full) -> None:
    hub = full.hub
    session = await acknowledged(hub, "/stream 5")
    full.fill()
    async with visiting(hub) as client:
        await told_of(client, session)
        answer = await client.answer(client.prompt(session, "/stream 200 4000"))
        assert "could not be stored" in answer["error"]["message"]
        listed = await client.call("session/list")
        assert session in [one["sessionId"] for one in listed["sessions"]]
    full.make_room()
    async with visiting(hub) as client:
        assert (await told_of(client, session))[:6] == ["/stream 5", *NUMBERS]
        while "error" in (await client.answer(client.prompt(session, "/stream 3"))):
            pass  # the journal tries again once a second
        told = await told_of(client, session)
    assert told[-3:] == NUMBERS[:3]


async def test_pst_10_nobody_else_can_read_what_is_stored(hub: HubProcess) -> None:
    await acknowledged(hub, "private")
    for path in [hub.data, *hub.data.rglob("*")]:
        assert path.lstat().st_mode & 0o077 == 0, path


TRACED = "fsync,fdatasync,pwrite64,sendto,sendmsg,write,writev"


@pytest.mark.skipif(
    not can("strace", "-o", "/dev/null", "true"), reason="needs strace, and the right to use it"
)
async def test_pst_12_a_turn_is_on_disk_before_it_is_answered(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-D", "-f", "-qq", "-s", "100000", "-e", f"trace={TRACED}", "-o", str(trace)]
    with running_hub(tmp_path, before=strace) as hub:
        pid = hub.pid
        await acknowledged(hub, "hello")
    calls = trace.read_text(errors="replace").splitlines()
    stored = first(calls, r"^\d+ +pwrite64\(.*stopReason")
    answered = first(calls, rf"^{pid} +(sendto|sendmsg|write|writev)\(.*stopReason")
    synced = first(calls[stored:], r"(fsync|fdatasync)(\(| resumed).*= 0$") + stored
    assert stored < synced < answered


def first(calls: list[str], pattern: str) -> int:
    found = re.compile(pattern)
    return next(at for at, call in enumerate(calls) if found.search(call))


async def test_pst_13_a_second_hub_on_the_same_journal_is_refused(hub: HubProcess) -> None:
    session = await acknowledged(hub, "/stream 5")
    second = HubProcess(hub.folder)
    with pytest.raises(AssertionError, match=f"another hub \\(process {hub.pid}\\)"):
        second.start()
    assert second.stop() == 2
    assert await loaded(hub, session) == ["/stream 5", *NUMBERS]


PATHS = ["../../etc/passwd", "/etc/passwd", "a\0b", "..", "hub.db", "%2e%2e/x", "con:/x", "x" * 1000]


async def test_pst_15_an_id_that_is_a_path_is_no_path(hub: HubProcess) -> None:
    before = sorted(hub.data.rglob("*"))
    async with visiting(hub) as client:
        for method in ("session/load", "session/resume", "session/fork", "_dragoman/hub/attach"):
            for path in PATHS:
                refused = await client.refusal(method, {"sessionId": path, "cwd": "/tmp", "mcpServers": []})
                assert refused["code"] in (-32002, -32602)
        for path in PATHS:
            refused = await client.refusal("session/prompt", {"sessionId": path, "prompt": []})
            assert refused["code"] in (-32002, -32602)
    assert sorted(hub.data.rglob("*")) == before


async def test_pst_x1_a_journal_that_is_deleted_under_a_hub_takes_nothing_and_loses_nothing(
    tmp_path: Path,
) -> None:
    with running_hub(tmp_path) as hub:
        session = await acknowledged(hub, "/stream 5")
        (hub.data / "hub.db").unlink()
        async with visiting(hub) as client:
            await told_of(client, session)
            answer = await client.answer(client.prompt(session, "lost"))
            assert "its file was deleted or replaced: restart the hub" in answer["error"]["message"]
        assert (
            "hub.db was deleted while it was open. It is back, and complete: restart" in hub.log.read_text()
        )
        hub.kill()
        hub.start()
        assert (await loaded(hub, session))[:6] == ["/stream 5", *NUMBERS]


@pytest.mark.skipif(
    not can("strace", "-o", "/dev/null", "true"), reason="needs strace, and the right to use it"
)
async def test_pst_x2_a_prompt_that_may_be_stored_is_not_refused_when_the_disk_does_not_sync(
    hub: HubProcess, tmp_path: Path
) -> None:
    session = await acknowledged(hub, "/stream 5")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-p", str(hub.pid), "-o", str(trace), "-e", "trace=fdatasync,fsync"]
    command += ["-e", "inject=fdatasync,fsync:error=EIO"]
    async with visiting(hub) as client:
        await told_of(client, session)
        strace = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert strace.stderr is not None
        with strace, strace.stderr as attached:
            try:
                assert b"attached" in attached.readline()
                number = client.prompt(session, "/stream 3")
                while trace.read_text().count("INJECTED") < 2:  # so it has heard of the first
                    assert await client.call("session/list"), "others are answered meanwhile"
                assert not [message for message in client.heard if message.get("id") == number]
            finally:
                strace.terminate()  # whatever came: the block waits for its end
        assert (await client.answer(number))["result"]["stopReason"] == "end_turn"
        told = await told_of(client, session)
    assert told == ["/stream 5", *NUMBERS, "/stream 3", *NUMBERS[:3]]


async def test_pst_x3_a_sealed_journal_survives_kill_9_and_opens_with_its_key_alone(tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    for path in (key, other):
        path.write_text(secrets.token_urlsafe(32))
        path.chmod(0o600)
    with running_hub(tmp_path, config=f'{UNHURRIED}[encryption]\nkey = "file:{key}"\n') as sealed:
        async with visiting(sealed) as client:
            session = await client.new(str(sealed.work))
            assert await turn(client, session, "/stream 5") == "end_turn"
            sealed.kill()
        files = [path for path in sealed.data.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if b"/stream 5" in path.read_bytes()]
        text = sealed.config.read_text()
        sealed.config.write_text(text.replace(str(key), str(other)))
        with pytest.raises(AssertionError, match="key"):
            sealed.start()
        assert sealed.stop() != 0
        sealed.config.write_text(text)
        sealed.start()
        assert await loaded(sealed, session) == ["/stream 5", *NUMBERS]


HISTORY = int(os.environ.get("DRAGOMAN_HISTORY", "32"))
"""MiB that a session has to say."""

NUMBER = re.compile(rb'"text": ?"(\d+) ')


class Counting(Talker):
    """Counts what an agent says instead of keeping it."""

    count = 0

    def feed(self, block: bytes) -> None:
        others = []
        for line in block.splitlines():
            if b"agent_message_chunk" in line:
                number = NUMBER.search(line)
                assert number is not None
                assert int(number[1]) == self.count % 160
                self.count += 1
            else:
                others.append(line)
        super().feed(b"\n".join(others))

    async def until_counted(self, total: int) -> None:
        """Each further word within the time that anything may take."""
        while (seen := self.count) < total:
            await self.until(lambda _: self.count > seen)


async def counting(hub: HubProcess) -> Counting:
    transport = await open_websocket(f"ws://{hub.place}/acp", headers=hub.headers)
    client = Counting(transport)
    await client.begin()
    return client


@pytest.mark.bound(60 + 2 * HISTORY)
@pytest.mark.timeout(200 + 4 * HISTORY)
async def test_pst_x4_a_long_history_is_loaded_whole_and_costs_no_memory(tmp_path: Path) -> None:
    with running_hub(tmp_path) as hub:
        client = await counting(hub)
        session = await client.new(str(hub.work))
        total = 0
        while total < 16 * HISTORY:
            number = client.prompt(session, "/stream 160 65536")
            total += 160
            await client.until_counted(total)
            assert (await client.answer(number))["result"]["stopReason"] == "end_turn"
        hub.kill()
        hub.start()
        again = await counting(hub)
        async with visiting(hub) as other:
            before = forget_peak(hub.pid)
            number = again.ask("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
            again.transport.pause()  # whoever does not read yet costs no memory either
            for _ in range(50):
                assert await other.call("session/list"), "others are answered meanwhile"
            again.transport.resume()
            while again.count < total:
                await again.until_counted(min(total, again.count + 100))
                assert await other.call("session/list"), "others are answered meanwhile"
            assert "error" not in await again.answer(number)
            grown = peak(hub.pid) - before
        await leave(client, again)
        assert again.count == total
        assert grown < 24, grown
