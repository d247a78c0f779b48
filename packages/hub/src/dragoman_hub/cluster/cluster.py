"""This node of a cluster: its hub, its lease, its sessions, and the clients connected to it.

Everything that is decided is decided by writes to the register and to sessions' streams; see docs/cluster.md
for what that promises.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dragoman.errors import DragomanError, Elsewhere, ErrorAnswer, JournalError
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import DEFAULT_LIMITS, TransportLimits
from dragoman.wire.codes import NOT_FOUND
from dragoman_hub.agents.channel import LeaseTerm
from dragoman_hub.cluster.client_router import ClientRouter
from dragoman_hub.cluster.links import LinkEnd, Links, NodeLink
from dragoman_hub.cluster.membership import Members, Node
from dragoman_hub.cluster.owners import Owners
from dragoman_hub.cluster.remote_client import take_guest
from dragoman_hub.engine.lifecycle import hand_over, lose
from dragoman_hub.engine.ownership import SessionLease

if TYPE_CHECKING:
    from dragoman.transport.contract import Transport
    from dragoman_hub.clients.client import ClientHub, HubClient
    from dragoman_hub.cluster.link_messages import Word
    from dragoman_hub.gate.admission import Grant
    from dragoman_local.journal.shared_state import Bus, Register

log = logging.getLogger(__name__)

LEASE_SECONDS = 8.0
TAKEN_AT_ONCE = 8
"""The sessions of a dead node that are read at the same time."""


class Cluster:
    """Decides session ownership (`Ownership`) for one hub. Call `join` before the hub
    starts, `open` after.
    """

    is_shared = True

    def __init__(
        self,
        register: Register,
        bus: Bus,
        node: Node,
        *,
        lease: float = LEASE_SECONDS,
        needs: Mapping[str, Sequence[str]] | None = None,
        limits: TransportLimits = DEFAULT_LIMITS,
    ) -> None:
        """`needs` are labels that a node must have for an agent; `limits` are those of guests."""
        self.name = node.name
        self.hub: ClientHub
        self.owner: TaskOwner
        self.routers: set[ClientRouter] = set()
        self.members = Members(
            register,
            node,
            lease=lease,
            describe=self._describe,
            on_renewed=self._on_renewed,
            on_lost=self._on_lease_lost,
            on_gone=self._on_node_gone,
            on_came=self._on_node_came,
        )
        self.owners = Owners(register, self.members, on_given=lambda: self._orphans.set())
        self.links = Links(bus, node.name, node.life, on_opened=self._on_link_opened)
        self._needs = needs or {}
        self._limits = limits
        self._inherits = False
        self._orphans = asyncio.Event()
        self._taking = asyncio.Semaphore(TAKEN_AT_ONCE)
        self._has_joined = False

    # From the beginning to the end.

    async def join(self, hub: ClientHub) -> None:
        """Become a node. If this process is a new one, the work of agents of the earlier process is ended."""
        self.hub = hub
        self.owner = TaskOwner("cluster")
        hub.pool.lease = self.lasting
        hub.pool.origin = _origin(self.name)
        hub.route = self.accept
        await self.owners.start()
        self._inherits = await self.members.join()
        self._has_joined = True
        if not self._inherits:
            await hub.pool.end_hosted()

    async def open(self) -> None:
        """Accept links from other nodes, and take over the sessions of dead nodes."""
        await self.links.start()
        for node in self.other_nodes():
            self.links.greet(node)
        self.owner.start(self._look_after_orphans())

    async def drain(self) -> None:
        """Accept no new sessions; idle sessions are free for other nodes from now on."""
        self.hub.begin_draining()
        self.members.hurry()
        for session in list(self.hub.sessions.values()):
            if session.is_movable:
                await hand_over(self.hub, session)

    async def leave(self) -> None:
        """Leave after the hub has ended. The first claimer gets the open sessions,
        possibly this node again.
        """
        if not self._has_joined:
            return
        for router in list(self.routers):
            router.on_end(None)
        await self.links.aclose()
        await self.owner.aclose()
        if self.owners.of(self.name):
            await self.members.aclose()
        else:
            await self.members.leave()
        await self.owners.aclose()

    # Clients.

    def accept(self, transport: Transport, grant: Grant, agent: str) -> HubClient:
        router = ClientRouter(self, transport, grant, agent=agent)
        self.routers.add(router)
        return router.home.client

    def on_client_left(self, router: ClientRouter) -> None:
        self.routers.discard(router)
        self.owner.start(router.owner.aclose())

    def describe_nodes(self) -> list[dict[str, Any]]:
        """Return the nodes, for people."""
        return [
            {
                "name": node.name,
                "state": node.state,
                "busy": node.busy,
                "sessions": node.sessions,
                "labels": node.labels,
                "url": node.url,
            }
            for node in self.members.alive()
        ]

    def other_nodes(self) -> list[str]:
        return [node.name for node in self.members.alive() if node.name != self.name]

    def watch_soon(self, router: ClientRouter, node: str) -> None:
        asyncio.get_running_loop().call_later(1.0, self._watch_again, router, node)

    def _watch_again(self, router: ClientRouter, node: str) -> None:
        if router in self.routers and self.members.find(node) is not None:
            router.watch(node)

    def _on_link_opened(self, link: NodeLink, word: Word) -> LinkEnd | None:
        return None if self.hub.draining else take_guest(self.hub, link, word, self._limits)

    # Where sessions are.

    def place(self, agent: str, cwd: str) -> str:
        """Return the node for a new session; our own if none fits, which then reports the reason."""
        nodes = self.members.alive()
        node = place(nodes, agent=agent, cwd=cwd, needs=self._needs.get(agent, ()), home=self.name)
        return self.name if node is None else node.name

    async def find(self, session: str) -> str:
        """Return the node that has the session, or will get it."""
        node = self.owners.where(session)
        if node is not None:
            return node
        info = await self.hub.journal.info(session)
        if info is None:
            return self.name
        able = self._able(info.agent, info.cwd)
        if self.owners.is_known(session):  # of a dead node: everybody must come to the same
            return heir(self.members.alive(), session, able) or self.name
        return self.place(info.agent, info.cwd)

    def _able(self, agent: str, cwd: str) -> list[str]:
        needs = self._needs.get(agent, ())
        return [node.name for node in self.members.alive() if can_have(node, agent, cwd, needs)]

    # Ownership.

    def left_behind(self) -> list[str]:
        return self.owners.of(self.name) if self._inherits else []

    async def may_act(self) -> None:
        await self.members.may_act()

    async def may_use(self, lease: SessionLease) -> None:
        await self.members.may_act()
        if lease.life != self.members.node.life:
            raise JournalError(f"session {lease.session} was claimed before this node lost its lease")

    async def claim(self, session: str) -> SessionLease:
        if self.hub.draining and session not in self.hub.sessions:
            raise Elsewhere(session, "")
        await self.members.may_act()
        return await self.owners.claim(session)

    async def release(self, lease: SessionLease) -> None:
        await self.owners.release(lease)

    async def give(self, lease: SessionLease, *, agent: str, cwd: str) -> None:
        candidates = [name for name in self._able(agent, cwd) if name != self.name]
        to = heir(self.members.alive(), lease.session, candidates) if candidates else None
        await self.owners.release(lease, to=to or "")

    def on_lost(self, session: str) -> None:
        live_session = self.hub.sessions.get(session)
        self.owners.drop(session)
        if live_session is not None:
            log.warning("session %s was taken over by another node", session)
            self.owner.start(lose(self.hub, live_session))
        self.members.hurry()

    # Our lease.

    def _describe(self, node: Node) -> Node:
        hub = self.hub
        return replace(
            node,
            state="draining" if hub.draining else "alive",
            agents=tuple(sorted(hub.pool.seats)),
            busy=sum(session.state.is_busy for session in hub.sessions.values()),
            sessions=len(hub.sessions),
        )

    def lasting(self) -> LeaseTerm:
        return self.members.lasting

    def _on_renewed(self, lasting: LeaseTerm) -> None:
        self.hub.pool.renew(lasting)

    async def _on_lease_lost(self) -> None:
        """Act on no session any more: other nodes may have them."""
        self.links.lose_all()  # the others have closed their ends long ago
        await self.hub.pool.lose()
        for session in list(self.hub.sessions.values()):
            self.owners.drop(session.id)
            await lose(self.hub, session)

    # The others.

    def _on_node_came(self, node: str) -> None:
        for router in list(self.routers):
            if router.watching:
                self.watch_soon(router, node)

    def _on_node_gone(self, node: str) -> None:
        self.links.lost_node(node)
        self._orphans.set()

    async def _look_after_orphans(self) -> None:
        """End the turns of dead nodes' sessions, and continue their waiting prompts."""
        while True:
            try:
                async with asyncio.timeout(self.members.lease / 2):
                    await self._orphans.wait()
            except TimeoutError:
                pass
            self._orphans.clear()
            if not self.hub.draining:
                await asyncio.gather(
                    *map(self._adopt, (*self.owners.orphans(), *self.owners.given_sessions()))
                )

    async def _adopt(self, session: str) -> None:
        async with self._taking:
            try:
                await self._open(session)
            except (DragomanError, TimeoutError) as error:
                log.warning("session %s could not be taken over yet: %s", session, error)
            except Exception:  # one session that cannot be read must not leave the others to nobody
                log.exception("session %s could not be taken over", session)

    async def _open(self, session: str) -> None:
        """If it is for us: it was given to us, or we are its heir."""
        if await self.find(session) != self.name:
            return
        try:
            await self.hub.session(session, may_load=True)
        except ErrorAnswer as error:
            if error.code != NOT_FOUND:
                raise
            # Its node died before anything of it was stored.
            await self.owners.release(await self.owners.claim(session))


def _origin(name: str) -> int:
    """Processes of two machines may have the same number."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=2).digest()) << 32


# Chooses a node for a session without an owner: a suitable one with little load. Pure.


def can_have(node: Node, agent: str, cwd: str, needs: Iterable[str] = ()) -> bool:
    """Whether the node offers the agent, meets its requirements, and may use the folder."""
    is_offered = not agent or agent in node.agents
    return is_offered and set(needs) <= set(node.labels) and (not node.roots or _has_root(node.roots, cwd))


def _has_root(roots: Sequence[str], cwd: str) -> bool:
    return not cwd or any(cwd == root or cwd.startswith(root.rstrip("/") + "/") for root in roots)


def place(
    nodes: Sequence[Node], *, agent: str, cwd: str, needs: Iterable[str] = (), home: str = ""
) -> Node | None:
    """Return the node with the fewest running turns and open sessions; among equals the client's own."""
    needs = tuple(needs)
    able = [node for node in nodes if node.state == "alive" and can_have(node, agent, cwd, needs)]
    if not able:
        return None
    return min(able, key=lambda one: (one.busy, one.sessions, one.name != home, one.name))


def heir(nodes: Sequence[Node], session: str, able: Iterable[str] = ()) -> str | None:
    """Return the node that takes over a dead node's session: all nodes compute the same one, and different
    ones for different sessions.
    """
    able_names = set(able)
    names = [
        node.name for node in nodes if node.state == "alive" and (not able_names or node.name in able_names)
    ]
    return max(names, key=lambda name: _weight(name, session), default=None)


def _weight(name: str, session: str) -> bytes:
    return hashlib.blake2b(f"{name}\0{session}".encode(), digest_size=8).digest()
