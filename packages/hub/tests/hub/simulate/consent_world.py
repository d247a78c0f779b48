"""A simulated world in which something is at stake: agents write files and run commands through the hub, a
policy decides and changes meanwhile, and clients have tokens of every width.

Files are real ones, in a folder of the run's own; commands are only noted. What hubs write to the audit log
is noted, too, and while its disk is full it cannot be written.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec.structs import replace

from dragoman_hub.gate import admission
from dragoman_hub.gate.admission import ALL, Grant
from dragoman_hub.lending import lender
from dragoman_hub.push.answers import AnswerTickets
from dragoman_hub.push.endpoints import PushAnswer
from dragoman_hub.push.notifier import PushNotifier, PushPaces
from dragoman_hub.push.subscriptions import PushSubscription, SubscriptionStore
from dragoman_local.workspace import lent_terminals
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.files import FileDraft, SessionFiles
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog
from dragoman_local.workspace.roots import Roots
from dragoman_local.workspace.terminal import OutputBuffer, ProcessExit
from dragoman_local.workspace.write_conflicts import WriteResult
from dragoman_review.assessor import Assessor
from dragoman_review.risks import Proposal, RiskJudgement, at_once, join_risks
from tests.hub.simulate.clients import SimulatedClient
from tests.hub.simulate.consent_acts import HUB_POLICY, USER_POLICIES
from tests.hub.simulate.consent_agents import ConsentAgent, ConsentBook, make_folders
from tests.hub.simulate.consent_clients import ROLES, ConsentClient
from tests.hub.simulate.consent_oracle import ConsentOracle
from tests.hub.simulate.nodes import SimulatedNode
from tests.hub.simulate.virtual_loop import Process, VirtualLoop, current
from tests.hub.simulate.world import Outcome, World, run_seed

MEMORY = "/dev/shm"
"""Where files cost least, where there is such a place."""


class _RealPaths:
    """Looks at once: no thread of another world looks for it."""

    def get(self, path: str) -> str:
        return os.path.realpath(path)

    def needs_look(self, path: str) -> bool:
        return False

    async def look(self, paths: object) -> None:
        pass


class _NotedCommand:
    """A command that has ended as soon as it was started."""

    def __init__(self, command: PlannedCommand, **_: Any) -> None:
        self.ring = OutputBuffer(0)
        self.has_ended = True
        self.loop = asyncio.get_running_loop()
        self.exit = ProcessExit(0, None)
        self.tail = self.ring.tail()

    async def wait(self) -> ProcessExit:
        return self.exit

    async def kill(self) -> None:
        pass

    def kill_now(self) -> None:
        pass


async def _judge_at_once(self: Assessor, proposal: Proposal) -> RiskJudgement:
    """Without a process for it."""
    return at_once(proposal) or join_risks(())


class ConsentWorld(World):
    node_counts = (1, 1, 1, 1, 2, 3)
    short_seeds = 1_000_000
    agent_names = ("scripted", "other")
    agent_kind = ConsentAgent
    splits_blocks = True
    book: ConsentBook
    oracle: ConsentOracle

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self._stack = ExitStack()
        memory = MEMORY if os.path.isdir(MEMORY) else None
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="consent", dir=memory))
        self._stack.callback(shutil.rmtree, self.folder)
        self.cwd = f"{self.folder}/work"
        self.inner = f"{self.cwd}/inner"
        make_folders(self.cwd)
        make_folders(self.inner)
        os.makedirs(f"{self.folder}/config/dragoman")
        Path(f"{self.folder}/hub.toml").write_text(HUB_POLICY)
        self._roots: list[Roots] = []
        self.policies: list[tuple[float, str]] = []
        """Since when the user's file is as it is."""
        self.is_audit_full = False
        self.devices: dict[str, Grant] = {}
        self._patch()
        super().__init__(seed, loop)
        self.story.expected_errors = ("the audit log cannot be written",)
        self.options = replace(
            self.options,
            policy=f"{self.folder}/hub.toml",
            audit=f"{self.folder}/audit.jsonl",
            files=self.random.choice(("client", "client", "hub")),
        )
        self.agents_survive = self.random.random() < 0.9
        self.set_policy(self.random.choice(("plain", "plain", "missing")))
        self.store = SubscriptionStore(Path(f"{self.folder}/push.json"))
        for name, role in (("phone", "all"), ("watch", self.random.choice(tuple(ROLES)))):
            self._add_device(name, role)

    def make_book(self) -> ConsentBook:
        return ConsentBook(self.story)

    def make_oracle(self) -> ConsentOracle:
        return ConsentOracle(self)

    def make_clients(self) -> list[SimulatedClient]:
        chance = self.random
        roles = ["all", *chance.sample(sorted(ROLES), chance.randint(1, 3))]
        if chance.random() < 0.3:
            roles.append("all")
        return [
            ConsentClient(self, name, role=role, resumes=chance.random() < 0.6, chance=self.chance(name))
            for name, role in zip(("ann", "bob", "cleo", "dan", "eve"), roles, strict=False)
        ]

    def make_faults(self) -> list[Callable[[SimulatedNode], None]]:
        return [*super().make_faults(), self._change_policy, self._change_policy, self._fill_audit]

    def grant_of(self, client: SimulatedClient) -> Grant:
        return client.grant if isinstance(client, ConsentClient) else Grant(client.name)

    def grant_for(self, role: str, name: str) -> Grant:
        """A token of this width."""
        scopes, agents, is_inner = ROLES.get(role, (ALL, (), False))
        return Grant(name, scopes, agents, (self.inner,) if is_inner else (), token=f"token-{name}")

    # What hubs do.

    def _patch(self) -> None:
        world = self
        write = SessionFiles.write

        def noted_write(self: SessionFiles, path: str, draft: FileDraft, *, at: str | None = None) -> Any:
            old = Path(path).read_text() if os.path.exists(path) else None
            result = write(self, path, draft, at=at)
            if isinstance(result, WriteResult):
                world.oracle.on_write(path, draft.text, old)
            return result

        def noted_command(command: PlannedCommand, **options: Any) -> _NotedCommand:
            world.oracle.on_run(command.words, command.cwd)
            return _NotedCommand(command, **options)

        def noted_line(self: AuditLog, line: AuditEntry) -> None:
            world.oracle.on_audit_line(line, is_written=not world.is_audit_full)
            if world.is_audit_full:
                raise OSError("no space left")

        def kept_roots(*args: Any) -> Roots:
            roots = Roots(*args)
            world._roots.append(roots)
            return roots

        places = {
            f"XDG_{name}_HOME": f"{self.folder}/{name.lower()}" for name in ("CONFIG", "STATE", "CACHE")
        }
        for one in (
            patch.dict(os.environ, {**places, "HOME": f"{self.folder}/home"}),
            patch.object(SessionFiles, "write", noted_write),
            patch.object(lent_terminals, "TerminalProcess", noted_command),
            patch.object(lent_terminals, "secrets", SimpleNamespace(token_hex=self._terminal_name)),
            patch.object(AuditLog, "append", noted_line),
            patch.object(lender, "Roots", kept_roots),
            patch.object(Assessor, "judge", _judge_at_once),
            patch.object(admission, "real_paths", _RealPaths()),
        ):
            self._stack.enter_context(one)

    def _terminal_name(self, size: int) -> str:
        self.book.pids += 1
        return f"{self.book.pids:0{2 * size}x}"

    def close(self) -> None:
        for roots in self._roots:
            roots.close()
        self._stack.close()

    def on_effect(self) -> None:
        """Some hubs die just when something was done."""
        process = current.get()
        if self.weather.is_calm or self.random.random() > 0.15:
            return
        for node in self.nodes:
            if node.process is process:
                self.process.call_later(
                    self.random.uniform(0.0, 0.004), self._crash_after_effect, node, process
                )

    def _crash_after_effect(self, node: SimulatedNode, process: Process) -> None:
        if node.process is process and node.is_up and not process.is_paused:
            self.story.fault("crash", node.name, "when something was done")
            node.crash(with_agents=False)
            self.process.call_later(self.random.choice((0.05, 1.0)), node.start)

    # The policy and the audit log.

    def set_policy(self, name: str) -> None:
        path = f"{self.folder}/config/dragoman/policy.toml"
        text = USER_POLICIES[name]
        if text is not None:
            Path(f"{path}.new").write_text(text)
            os.replace(f"{path}.new", path)
        elif os.path.exists(path):
            os.unlink(path)
        self.policies.append((self.loop.time(), name))

    def policies_in(self, begin: float, end: float) -> set[str]:
        """How the user's file was between two moments."""
        before = [name for time, name in self.policies if time <= begin]
        return {*before[-1:], *(name for time, name in self.policies if begin < time <= end)}

    def _change_policy(self, node: SimulatedNode) -> None:
        if self.random.random() < 0.2:
            self.story.fault("policy", node.name, "its own file is broken when it is read again")
            path = Path(f"{self.folder}/hub.toml")
            path.write_text("[[rule")
            node.hub.broker.load_policy(str(path))
            path.write_text(HUB_POLICY)
            return
        name = self.random.choice(tuple(USER_POLICIES))
        self.story.fault("policy", "user", name)
        self.set_policy(name)

    def _fill_audit(self, node: SimulatedNode) -> None:
        self.story.fault("full audit log", node.name, "for a while")
        self.is_audit_full = True
        self.process.call_later(self.random.choice((0.2, 1.5)), self._empty_audit)

    def _empty_audit(self) -> None:
        self.is_audit_full = False

    def _calm(self) -> None:
        super()._calm()
        self.is_audit_full = False

    # Devices.

    def _add_device(self, name: str, role: str) -> None:
        grant = self.grant_for(role, name)
        self.devices[f"https://push.test/{name}"] = grant
        self.store.add(
            PushSubscription(
                endpoint=f"https://push.test/{name}",
                p256dh="",
                auth="",
                owner=name,
                token=grant.token,
                created=0.0,
                answers=True,
            )
        )

    def on_hub_made(self, node: SimulatedNode) -> None:
        grants = {grant.token: grant for grant in self.devices.values()}

        async def send(endpoint: str, body: bytes, headers: object, **_: Any) -> PushAnswer:
            self._on_pushed(node, endpoint, msgspec.json.decode(body))
            return PushAnswer(201)

        key = SimpleNamespace(
            public="",
            authorization=lambda endpoint: "",
            encrypt=lambda data, **_: data,
            check_keys=lambda p256dh, auth: None,
        )
        paces = PushPaces(ask=0.05, rules=0.3, tries=())
        notifier = PushNotifier(self.store, key, grant_of=grants.get, paces=paces, send=send)
        notifier.tickets = AnswerTickets(clock=self.loop.time)
        node.hub.push = notifier

    async def before_hub_closes(self, node: SimulatedNode) -> None:
        if isinstance(node.hub.push, PushNotifier):
            await node.hub.push.aclose()

    def _on_pushed(self, node: SimulatedNode, endpoint: str, message: dict[str, Any]) -> None:
        grant = self.devices[endpoint]
        self.story.tell(grant.name, f"is pushed {message['kind']} of {message['session']} {message['about']}")
        self.oracle.on_pushed(grant, node.hub, message)
        tickets = [message[button] for button in ("allow", "reject") if button in message]
        if tickets and self.random.random() < 0.6:
            ticket = self.random.choice(tickets)
            delays = [self.random.choice((0.01, 0.5, 3.0))] * self.random.choice((1, 1, 2))
            for delay in delays:
                node.process.call_later(delay, self._press, node, grant, ticket)

    def _press(self, node: SimulatedNode, grant: Grant, ticket: str) -> None:
        node.process.start(self._answer(node, grant, ticket))

    async def _answer(self, node: SimulatedNode, grant: Grant, secret: str) -> None:
        """As the page of answers does it (`api/push_answer.py`)."""
        push = node.hub.push
        assert isinstance(push, PushNotifier)
        found = await push.find_answer(secret, node.hub.sessions.get)
        if found is None:
            return
        self.oracle.on_ticket(secret)
        ticket = found.ticket
        request = found.session.state.requests.get(ticket.request)
        if request is not None:
            params = msgspec.json.decode(request.params)
            self.oracle.on_choice(grant, found.session.id, params, ticket.option)
        self.story.tell(grant.name, f"answers {ticket.session} {ticket.request}: {ticket.option}")
        await found.settle()


def run_consent_seed(seed: int, *, verbose: bool = False) -> Outcome:
    return run_seed(seed, verbose=verbose, kind=ConsentWorld)
