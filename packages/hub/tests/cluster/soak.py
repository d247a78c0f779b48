"""One hub for a long time, with everything that people do to it at once, and the judgement over it.

Beside a crowd whose sessions stream (`crowd`) there are clients of every dialect that come and go, sessions
that are closed and deleted while they are prompted, an agent that takes a minute to start, secrets in what
agents say, and somebody who locks the journal. Nothing may be lost, doubled, reordered, refused and run, or
answered twice; and memory, descriptors, processes and temporary files of the hub must be as many at the end
as after the first minutes. `run_soak.py` runs one of any length, `test_soak.py` a short one.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import websockets

from tests.cluster.checker import check, gathered, read_agents
from tests.cluster.crowd import Crowd
from tests.cluster.node import AGENT
from tests.cluster.person import Person, Refused
from tests.cluster.records import Begun, Finished, Storm, now
from tests.cluster.together import Cluster, running_cluster
from tests.cluster.verdict import verdict_table
from tests.hub.company.members import MEMBERS, Member

SAMPLE_SECONDS = 2.0
ANSWER_SECONDS = 180.0
"""Longer than the slow agent takes to start and a lock of the journal lasts."""
SETTLE_SECONDS = 120.0
WORDS = re.compile(r"(w\d+)#(\d+)\.")


@dataclass
class SoakPlan:
    """`slow_start`: seconds that the slow agent takes to start. `longest_lock`: of the journal."""

    seconds: float
    seed: int = 1
    sessions: int = 12
    people: int = 5
    pace: float = 0.5
    slow_start: float = 60.0
    longest_lock: float = 8.0


@dataclass
class Sample:
    """What the hub holds at one moment."""

    at: float
    memory: int
    descriptors: int
    processes: int
    files: int


@dataclass
class SoakResult:
    findings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    def summary(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        return "\n".join(
            [
                counts,
                *self.findings[:50],
                verdict_table(self.findings, [_row(line) for line in _growth_lines(self.samples)]),
            ]
        )


def _row(line: str) -> tuple[str, str]:
    name, _, figures = line.partition(": ")
    return f"{name}, start → end", figures


class Soak:
    """What goes on at once. Each `_…_all_the_time` is a task until the time is up."""

    def __init__(self, cluster: Cluster, plan: SoakPlan, say: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.plan = plan
        self.result = SoakResult()
        self.secrets: list[str] = []
        self.is_over = asyncio.Event()
        self._chance = random.Random(plan.seed)
        self._say = say
        self._words = 0
        self._work = cluster.folder / "work"
        self._refused: set[str] = set()
        self._ended: set[str] = set()

    @property
    def hub(self) -> int:
        return self.cluster.nodes[0].pid

    async def run(self) -> SoakResult:
        self._work.mkdir(exist_ok=True)
        plan = self.plan
        crowd = Crowd(
            self.cluster.urls,
            self.cluster.token,
            seed=plan.seed,
            people=plan.people,
            sessions=plan.sessions,
            pace=plan.pace,
        )
        wall = time.time() - now()
        try:
            await crowd.gather(str(self._work))
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self._end_sessions_all_the_time,
                    self._end_sessions_all_the_time,
                    self._lock_journal_all_the_time,
                    self._use_slow_agent_all_the_time,
                    self._sample_all_the_time,
                ):
                    tasks.create_task(work())
                for kind in MEMBERS:
                    tasks.create_task(self._speak_all_the_time(kind))
                await asyncio.sleep(plan.seconds)
                self.is_over.set()
            calm = now()
            late = await crowd.settle(SETTLE_SECONDS, self.cluster.ask_for_tasks)
            self.result.findings += [f"did not come to its end: {name}" for name in late]
            self.result.findings += [f"ended by itself: {name}" for name in self.cluster.fallen()]
            await self._judge(crowd, wall, calm)
        finally:
            await crowd.aclose()
        return self.result

    async def _pause(self, longest: float) -> None:
        """Or until it is over."""
        try:
            async with asyncio.timeout(self._chance.uniform(0, longest)):
                await self.is_over.wait()
        except TimeoutError:
            pass

    # Dialects.

    async def _speak_all_the_time(self, kind: type[Member]) -> None:
        """Come, make a session, prompt some turns, go; the session is deleted by somebody else."""
        owner = await self._person(f"owner-{kind.dialect}")
        while not self.is_over.is_set():
            house = DialectHouse(self.cluster.nodes[0].url, self.cluster.token, self._work)
            member = kind(house, connect=DialectSocket)  # type: ignore[arg-type]
            try:
                await member.join()
                for _ in range(self._chance.randint(1, 4)):
                    await self._speak_once(member)
            except AssertionError as error:
                self.result.findings.append(f"{kind.dialect}: {error}")
            finally:
                await member.socket.leave()
            if member.session:
                await self._delete(owner, member.session)
            await self._pause(3)
        await owner.aclose()

    async def _speak_once(self, member: Member) -> None:
        self._words += 1
        words, updates = f"w{self._words}", self._chance.randint(1, 30)
        order = {"updates": updates, "gap": self._chance.choice((0, 0, 0.05)), "words": words}
        request = member.prompt(json.dumps(order))
        answer = await member.answer_to(request, "a prompt")
        if member.dialect == "v2":  # there an answer says that the turn has begun
            await member.house.until(lambda: member.socket.ends >= 1, "v2: the end of a turn")
        heard = [int(number) for name, number in member.socket.heard if name == words]
        member.socket.heard.clear()
        member.socket.ends = 0
        self.result.counts["turns of dialects"] += 1
        if "error" in answer:
            self.result.findings.append(f"{member.dialect}: a turn failed: {answer['error']}")
        elif heard != list(range(updates)):
            self.result.findings.append(f"{member.dialect}: {updates} updates were sent, it heard {heard}")

    # Ends of sessions.

    async def _end_sessions_all_the_time(self) -> None:
        """Close or delete sessions while prompts are on their way; closed ones are loaded and go on."""
        person = await self._person(f"ender-{self._chance.random():.6f}")
        while not self.is_over.is_set():
            session = await person.make(str(self._work))
            for _ in range(self._chance.randint(1, 3)):
                prompts = [asyncio.ensure_future(self._prompt(person, session)) for _ in range(3)]
                prompts.append(asyncio.ensure_future(self._steer(person, session)))
                await self._pause(0.3)
                closing = asyncio.ensure_future(self._call(person, "session/close", {"sessionId": session}))
                await asyncio.sleep(0)
                await asyncio.gather(*prompts, self._prompt(person, session), closing)
                setup = {"sessionId": session, "cwd": str(self._work), "mcpServers": []}
                await self._call(person, "session/load", setup)
                await self._prompt(person, session)
            prompts = [asyncio.ensure_future(self._prompt(person, session)) for _ in range(2)]
            await self._pause(0.2)
            deleting = asyncio.ensure_future(self._delete(person, session))
            await asyncio.sleep(0)
            await asyncio.gather(*prompts, self._prompt(person, session), deleting)
            person.cursors.pop(session, None)
            person.lines.clear()
            self.result.counts["sessions ended"] += 1
        await person.aclose()

    async def _prompt(self, person: Person, session: str) -> None:
        order: dict[str, Any] = {"updates": self._chance.randint(1, 10), "gap": 0.02}
        if self._chance.random() < 0.3:
            self.secrets.append(f"soak{self._chance.getrandbits(96):x}")
            order["secret"] = self.secrets[-1]
        key = f"{person.name}.{len(self._ended) + len(self._refused)}.{self._chance.getrandbits(48):x}"
        text = [{"type": "text", "text": json.dumps(order)}]
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await person.ask("session/prompt", {"sessionId": session, "prompt": text}, key=key)
        error = answer.get("error", {})
        is_refused = error.get("code") in (-32600, -32602, -32002, -32004)
        (self._refused if is_refused else self._ended).add(key)
        self.result.counts["prompts refused" if is_refused else "prompts answered"] += 1

    async def _steer(self, person: Person, session: str) -> None:
        """A message into a turn, sent twice with one key: the agent must get it once."""
        key = f"{person.name}.s{self._chance.getrandbits(48):x}"
        params = {"sessionId": session, "prompt": [{"type": "text", "text": key}]}
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answers = await asyncio.gather(
                    *(person.ask("_session/steering", params, key=key) for _ in range(2))
                )
        except TimeoutError:
            self.result.findings.append(f"the message {key} was not answered in {ANSWER_SECONDS:g} s")
            return
        results = [answer["result"] for answer in answers if "result" in answer]
        self.result.counts["messages into turns"] += 1
        if any(result != results[0] or result["count"] != 1 for result in results):
            self.result.findings.append(f"the message {key} was given or answered again: {results}")

    async def _delete(self, person: Person, session: str) -> None:
        await self._call(person, "session/delete", {"sessionId": session})

    async def _call(self, person: Person, method: str, params: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await person.call(method, params)
        except TimeoutError:
            self.result.findings.append(f"{method} was not answered in {ANSWER_SECONDS:g} s")
        except Refused as error:
            self.result.findings.append(str(error))

    # The rest.

    async def _use_slow_agent_all_the_time(self) -> None:
        while not self.is_over.is_set():
            person = await self._person(f"patient-{self._chance.random():.6f}")
            params = {"cwd": str(self._work), "mcpServers": []}
            try:
                async with asyncio.timeout(ANSWER_SECONDS + self.plan.slow_start):
                    session = (await person.call("session/new", params, agent="slow"))["sessionId"]
                    await self._prompt(person, session)
                    await self._delete(person, session)
                self.result.counts["turns of the slow agent"] += 1
            except (TimeoutError, Refused) as error:
                self.result.findings.append(f"the slow agent: {error!r}")
            await person.aclose()
            await self._pause(30)

    async def _lock_journal_all_the_time(self) -> None:
        """As a backup or a check of the file does."""
        path = self.cluster.nodes[0].data / "hub.db"
        while not self.is_over.is_set():
            await self._pause(20)
            seconds = self._chance.uniform(0.1, self.plan.longest_lock)
            await asyncio.to_thread(_hold_lock, path, seconds)
            self.result.counts["locks of the journal"] += 1

    async def _sample_all_the_time(self) -> None:
        began = now()
        told = began
        while not self.is_over.is_set():
            self.result.samples.append(_sample(self.hub, now() - began, self.cluster.folder / "tmp"))
            if now() - told > 60:
                told = now()
                self._say(f"{told - began:6.0f} s  {self.result.samples[-1]}  {dict(self.result.counts)}")
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _person(self, name: str) -> Person:
        person = Person(name, self.cluster.urls, self.cluster.token, random.Random(self._chance.random()))
        await person.begin()
        return person

    # The judgement.

    async def _judge(self, crowd: Crowd, wall: float, calm: float) -> None:
        found = self.result.findings
        async with self.cluster.journal() as journal:
            sessions = await gathered(journal, crowd.sessions)
        agents = read_agents(self.cluster.nodes[0].notes)
        storm = Storm(sessions=sessions, clients=crowd.lines, agents=agents, blows=[], wall=wall, calm=calm)
        found += map(str, check(storm))
        begun = Counter(line.key for lines in agents.values() for line in lines if isinstance(line, Begun))
        ends = {line.key for lines in agents.values() for line in lines if isinstance(line, Finished)}
        found += [f"{key} was run {count} times" for key, count in begun.items() if count > 1]
        found += [f"{key} was refused and run" for key in self._refused if key in begun]
        found += [f"{key} was begun and has no end" for key in begun if key not in ends]
        found += secrets_in(self.cluster.nodes[0].data, self.secrets)
        found += growth(self.result.samples)


class DialectHouse:
    """What a member needs of a house: a real hub's address, and a way to wait."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url, self.token, self.folder = url, token, folder
        self.news = asyncio.Event()

    async def until(self, is_so: Callable[[], object], what: str) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while not is_so():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"waited in vain: {what}") from None


class DialectSocket:
    """A WebSocket that notes the words of every frame."""

    def __init__(self, house: DialectHouse, hear: Callable[[Any], None], *, dialect: str = "") -> None:
        self.heard: list[tuple[str, str]] = []
        self.ends = 0
        self._house = house
        self._hear = hear
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        query = f"cwd={house.folder}" + (f"&dialect={dialect}" if dialect else "")
        self._task = asyncio.get_running_loop().create_task(self._converse(f"{house.url}?{query}"))

    def say(self, frame: Any, on_taken: Any = None) -> None:
        self._outgoing.put_nowait(json.dumps(frame))

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _converse(self, url: str) -> None:
        headers = {"authorization": f"Bearer {self._house.token}"}
        async with websockets.connect(url, additional_headers=headers, max_size=None) as connection:
            sending = asyncio.ensure_future(self._send(connection))
            try:
                async for text in connection:
                    self.heard += WORDS.findall(str(text))
                    self.ends += '"state":"idle"' in str(text)
                    self._hear(json.loads(text))
                    self._house.news.set()
            finally:
                sending.cancel()

    async def _send(self, connection: Any) -> None:
        while True:
            await connection.send(await self._outgoing.get())


async def soak(folder: Path, plan: SoakPlan, say: Callable[[str], None] = lambda line: None) -> SoakResult:
    (folder / "tmp").mkdir()
    slow = [sys.executable, str(AGENT), str(folder / "agents"), "a"]
    script = ["sh", "-c", f'sleep {plan.slow_start}; exec "$@"', "slow", *slow]
    more = f'[agents.slow]\ncommand = {json.dumps(script)}\ndialect = "v1"\n'
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder / "tmp")
    try:
        async with running_cluster(folder, hubs=1, servers=0, apart=False, more=more) as cluster:
            return await Soak(cluster, plan, say).run()
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)


def _hold_lock(path: Path, seconds: float) -> None:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        connection.execute("begin immediate")
        time.sleep(seconds)
        connection.execute("rollback")
    finally:
        connection.close()


def _sample(pid: int, at: float, temporary: Path) -> Sample:
    place = Path(f"/proc/{pid}")
    pages = int((place / "statm").read_text().split()[1])
    return Sample(
        at=at,
        memory=pages * os.sysconf("SC_PAGE_SIZE"),
        descriptors=len(list((place / "fd").iterdir())),
        processes=len((place / "task" / str(pid) / "children").read_text().split()),
        files=sum(len(files) for _, _, files in os.walk(temporary)),
    )


def _means(samples: list[Sample], name: str) -> tuple[float, float]:
    """After the first third, and at the end: each over a sixth of the time."""
    sixth = max(1, len(samples) // 6)
    values = [float(getattr(sample, name)) for sample in samples]
    return mean(values[2 * sixth : 3 * sixth] or values), mean(values[-sixth:])


ALLOWED_GROWTH = {
    "memory": (1.15, 8 * 2**20),
    "descriptors": (1.1, 8),
    "processes": (1.1, 3),
    "files": (1.1, 20),
}
"""By factor and by number: what is beyond both has grown."""


def growth(samples: list[Sample]) -> list[str]:
    found = []
    for name, (factor, number) in ALLOWED_GROWTH.items():
        early, late = _means(samples, name)
        if late > early * factor and late > early + number:
            found.append(f"{name} have grown from {early:.0f} to {late:.0f}")
    return found


def _growth_lines(samples: list[Sample]) -> list[str]:
    return [
        f"{name}: {early:,.0f} → {late:,.0f}"
        for name in ALLOWED_GROWTH
        for early, late in [_means(samples, name)]
    ]


def secrets_in(folder: Path, secrets: list[str]) -> list[str]:
    """What agents said must not lie on the disk in clear."""
    if not secrets:
        return []
    pattern = re.compile("|".join(secrets).encode())
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [f"{path.name} holds a secret" for path in files if pattern.search(path.read_bytes())]
