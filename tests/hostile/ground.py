"""A hub in a process of its own, and what happens to each trick there."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.testing.pace import patience
from tests.forks import Fork, first_line, start
from tests.hostile.raw_client import Person, RawClient, first_for_good
from tests.hostile.tricks import COPY_OF_REPOSITORY, SECRET, Heard, Rule, Trick, Turn, spelled, spelled_steps
from tests.ports import KeptPort

AGENT = Path(__file__).with_name("raw_agent.py")
AT_ONCE = 6
"""Tricks side by side: they mostly wait for each other's processes."""

Way = Literal["honest", "cheat", "proof"]


@dataclass(frozen=True)
class Outcome:
    """What became of a trick."""

    is_cheated: bool
    is_honest_done: bool
    is_proven: bool
    story: str


class HostileHub:
    """A hub whose rules are those of all tricks, each for the folder of its trick alone."""

    def __init__(self, folder: Path, tricks: Sequence[Trick], *, durability: str = "off") -> None:
        self.base = folder.resolve()
        self.home = self.base / "home"
        self.tricks = tricks
        self._kept_port = KeptPort()
        self.port = self._kept_port.number
        self.token = ""
        self.process: subprocess.Popen[bytes] | Fork | None = None
        self._shared: dict[str, RawClient] = {}
        self._others: list[RawClient] = []
        self._lock = asyncio.Lock()
        self._log = (self.base / "log").open("ab")
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "key").write_text(SECRET)
        python = sys.executable
        agents = "".join(
            f"[agents.{name}]\ncommand = {json.dumps([python, str(AGENT), *words])}\nsessions = 1000\n{more}"
            for name, words, more in (
                ("hostile", [], 'dialect = "v1"\n'),
                ("hostile2", ["v2"], 'dialect = "v2"\n'),
                ("other", ["other"], 'dialect = "v1"\n'),
            )
        )
        (self.base / "policy.toml").write_text(policy(self.rules()))
        (self.base / "hub.toml").write_text(
            f'default_agent = "hostile"\nknown_agents = false\ndurability = "{durability}"\n'
            '[limits]\nprompt_rate = "100000/min"\nconnect_rate = "100000/min"\n'
            f'[approvals]\npolicy = "{self.base}/policy.toml"\n{agents}'
        )

    @functools.cached_property
    def repository(self) -> Path:
        """The `.git` of a folder with one commit."""
        folder = self.base / "repository"
        (folder / "secret").mkdir(parents=True)
        (folder / "secret" / "key").write_text(SECRET)
        line = "git init -q . && rm -r .git/hooks && git config user.email a@b.c && git config user.name a"
        line += " && git add . && git commit -qm first"
        subprocess.run(["/bin/bash", "-c", line], cwd=folder, check=True, capture_output=True)
        return folder / ".git"

    def rules(self) -> Iterable[Rule]:
        """Tricks with the same rules lie in one folder: each rule costs time, and is said once."""
        for trick in {world(trick): trick for trick in self.tricks}.values():
            for rule in trick.rules:
                place = {"project": f"{self.base}/{world(trick)}/**"} if "project" not in rule else {}
                yield spelled_rule({**rule, **place}, self.spell(trick, "cheat"))

    def spell(self, trick: Trick, way: Way, session: str = "main") -> dict[str, str]:
        beside = self.base / world(trick) / slug(trick) / way
        here = beside / ("here" if session in ("main", "twin") else session)
        return {"here": str(here), "beside": str(beside), "home": str(self.home)}

    def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if "DRAGOMAN" not in name}
        env |= {f"XDG_{kind}_HOME": str(self.base / kind.lower()) for kind in ("DATA", "CONFIG", "STATE")}
        env |= {"HOME": str(self.home)}
        words = ["--listen", f"127.0.0.1:{self.port}", "--config", str(self.base / "hub.toml"), "--json"]
        command = [sys.executable, "-m", "dragoman", "hub", *words]
        self.process = start(command, cwd=self.base, env=env, stderr=self._log.fileno())
        line = first_line(self.process, self.base / "log")
        self.token = json.loads(line)["token"] or self.token

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.send_signal(how)
            self.process.wait(patience(30))
            self.process.stdout.close()
            self.process = None

    def close(self) -> None:
        self.stop()
        self._log.close()

    async def connect(self, agent: str = "hostile") -> RawClient:
        return await RawClient.connect(self.port, self.token, agent=agent)

    def play(self, tricks: Sequence[Trick]) -> dict[str, Outcome]:
        """All of them, a few at a time."""
        return asyncio.run(self._play(tricks))

    async def _play(self, tricks: Sequence[Trick]) -> dict[str, Outcome]:
        firsts = {honest_key(trick): trick for trick in reversed(tricks)}
        honest = {key: Run(self, trick, "honest") for key, trick in firsts.items()}
        cheats = [Run(self, trick, "cheat") for trick in tricks]
        runs = [*honest.values(), *cheats]
        free = asyncio.Semaphore(AT_ONCE)

        async def advance(run: Run) -> None:
            async with free:
                await run.advance()

        while True:
            async with asyncio.TaskGroup() as group:
                for run in runs:
                    group.create_task(advance(run))
            await self._disconnect()
            if not any(run.turns for run in runs):
                break
            await asyncio.to_thread(self.stop, signal.SIGKILL)
            await asyncio.to_thread(self.start)
        done = {key: run.trick.honest_effect.is_there(run.spell()) for key, run in honest.items()}
        return {
            run.trick.name: Outcome(
                is_cheated=run.is_cheated(),
                is_honest_done=done[honest_key(run.trick)],
                is_proven=await self._prove(run.trick),
                story=f"{honest[honest_key(run.trick)].story()}\n{run.story()}",
            )
            for run in cheats
        }

    async def client(self, agent: str, *, is_new: bool = False) -> RawClient:
        """The connection that tricks of this agent share, or one of its own."""
        if is_new:
            self._others.append(await self.connect(agent))
            return self._others[-1]
        async with self._lock:
            if agent not in self._shared:
                self._shared[agent] = await self.connect(agent)
        return self._shared[agent]

    async def wait_for_memory(self, folder: str) -> None:
        """Until an answer for good is kept, or was not: the agent has its answer a moment before."""
        memory = self.base / "config" / "dragoman" / "remembered.toml"
        until = time.monotonic() + patience(0.5)
        while time.monotonic() < until:
            if memory.exists() and f'"{folder}"' in memory.read_text():
                return
            await asyncio.sleep(0.01)

    async def _disconnect(self) -> None:
        for client in (*self._shared.values(), *self._others):
            await client.aclose()
        self._shared.clear()
        self._others.clear()

    def prepare(self, trick: Trick, way: Way) -> None:
        """The folder of the trick, as it is before anything happens."""
        spell = self.spell(trick, way)
        here = Path(spell["here"])
        here.mkdir(parents=True)
        (here / "secret").mkdir()
        (here / "secret" / "key").write_text(SECRET)
        for name, text in trick.files.items():
            path = here / spelled(name, spell)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = spelled(text, spell)
            if text == COPY_OF_REPOSITORY:
                shutil.copytree(self.repository, path)
            elif text.startswith("-> "):
                path.symlink_to(text[3:])
            elif text.startswith("= "):
                path.hardlink_to(here / text[2:])
            elif text.startswith("!"):
                subprocess.run(["/bin/bash", "-c", text[1:]], cwd=here, check=True, capture_output=True)
            else:
                path.write_text(text)
                if text.startswith("#!"):
                    path.chmod(0o755)

    async def _prove(self, trick: Trick) -> bool:
        if not trick.proof:
            return True
        self.prepare(trick, "proof")
        spell = self.spell(trick, "proof")
        words = ["/bin/bash", "-c", spelled(trick.proof, spell)]
        env = os.environ | {"HOME": str(self.home)}
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *words, cwd=spell["here"], env=env, stdin=nothing, stdout=asyncio.subprocess.PIPE, stderr=nothing
        )
        out, _ = await process.communicate()
        leak = Path(spell["here"]) / "leak"
        if not leak.exists():
            leak.write_bytes(out)
        return trick.effect.is_there(spell)


class Run:
    """One way of a trick: its turns that are still to come, its sessions, and who answers in them."""

    def __init__(self, hub: HostileHub, trick: Trick, way: Literal["honest", "cheat"]) -> None:
        is_honest = way == "honest"
        self.hub, self.trick, self.way = hub, trick, way
        self.turns = list(trick.honest if is_honest else trick.turns)
        self.person = Person((trick.honest_person or trick.person) if is_honest else trick.person)
        self._sessions: dict[str, str] = {}
        self._told: list[str] = []
        self._heard: list[dict[str, Any]] = []
        self._client: RawClient | None = None
        self._is_restarted = False
        hub.prepare(trick, way)

    def spell(self, session: str = "main") -> dict[str, str]:
        return self.hub.spell(self.trick, self.way, session)

    def story(self) -> str:
        asked = [f"asked: {question.shown[:1500]}" for question in self.person.questions]
        return "\n  ".join([f"{self.way}:", *self._told, *asked])

    def is_cheated(self) -> bool:
        effect = self.trick.effect
        return effect.is_in(self._heard) if isinstance(effect, Heard) else effect.is_there(self.spell())

    async def advance(self) -> None:
        """Up to the end, or to where the hub is killed."""
        self._client = None
        while self.turns:
            turn = self.turns[0]
            if turn.before == "restart" and not self._is_restarted:
                self._is_restarted = True
                return
            await self._play(self.turns.pop(0))

    async def _play(self, turn: Turn) -> None:
        spell = self.spell(turn.session)
        client = self._client or await self.hub.client(turn.agent or self.trick.agent)
        if turn.session not in self._sessions:
            Path(spell["here"]).mkdir(exist_ok=True, parents=True)
            self._sessions[turn.session] = await client.new_session(spell["here"], self.person)
        session = self._sessions[turn.session]
        if turn.before:
            if turn.before == "load":
                await client.request("session/close", {"sessionId": session})
            if turn.before == "reconnect":
                client = self._client = await self.hub.client(turn.agent or self.trick.agent, is_new=True)
            client.people[session] = self.person
            params = {"sessionId": session, "cwd": spell["here"], "mcpServers": []}
            answer = await client.request("session/load", params)
            assert "result" in answer, answer
        if self._told and self.person.answer is first_for_good:
            await self.hub.wait_for_memory(self.spell()["here"])
        first = len(client.heard)
        answer = await client.prompt(session, spelled_steps(turn, spell))
        words = client.words(session, since=first)
        mine = (session, *self._sessions.values())
        self._heard += [each for each in client.heard[first:] if each["params"].get("sessionId") in mine]
        self._told.append(f"{answer.get('result') or answer.get('error')} {words}")


def honest_key(trick: Trick) -> str:
    """Equal for tricks whose honest way is the same: it is tried once for all of them."""
    person = trick.honest_person or trick.person
    return repr(
        (trick.rules, trick.honest, trick.honest_effect, trick.files, trick.agent, person, world(trick))
    )


def world(trick: Trick) -> str:
    """The name of the folder of all tricks with these rules."""
    text = json.dumps(trick.rules)
    alone = slug(trick) if "@" in text else ""
    return f"w{zlib.crc32((text + alone).encode()):08x}"


def slug(trick: Trick) -> str:
    return re.sub(r"[^a-z0-9]+", "-", trick.name.lower()).strip("-")


def spelled_rule(rule: Rule, spell: Mapping[str, str]) -> Rule:
    made: Rule = json.loads(spelled(json.dumps(rule), spell))
    return made


def policy(rules: Iterable[Rule]) -> str:
    """Rules as TOML: its texts and lists are written as in JSON."""
    return "\n".join(
        "[[rule]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rule.items())
        for rule in rules
    )
