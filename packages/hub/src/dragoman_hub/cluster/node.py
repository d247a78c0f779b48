"""Opens a hub's journal from its settings, and joins the cluster if the journal can be shared."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.runtime.owner import TaskOwner
from dragoman.system.replacement import replace_file
from dragoman.transport.contract import TransportLimits
from dragoman_hub.agents.channel import LeaseTerm
from dragoman_hub.cluster.cluster import Cluster
from dragoman_hub.cluster.membership import Node, new_life
from dragoman_hub.nats import open_nats
from dragoman_hub.nats.options import is_nats_address, read_address
from dragoman_hub.settings import HubSettings, offered_agents
from dragoman_local.journal import Journal, open_journal
from dragoman_local.journal.idle_index import index_while_idle
from dragoman_local.journal.seal import Seal, TreeSeal
from dragoman_local.journal.sealing_key import read_key
from dragoman_local.journal.sqlite import open_sealed


class NodeContext(Struct):
    """The place of the sessions."""

    journal: Journal
    shown_address: str
    """Its address, without secrets."""
    cluster: Cluster | None = None
    trees_seal: TreeSeal | None = None
    """What seals the trees of turns; None if the journal is not sealed."""

    @property
    def lease(self) -> Callable[[], LeaseTerm] | None:
        """Returns how long agents may act; None if no other node can take them over."""
        return None if self.cluster is None else self.cluster.lasting


def node_name(settings: HubSettings) -> str:
    """Return the name of this node; empty for a single hub."""
    if not is_nats_address(settings.journal_place):
        return ""
    return settings.cluster.node or re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname())[:40] or "node"


def shown_place(settings: HubSettings) -> str:
    """Return the place of the journal, without secrets."""
    address = settings.journal_place
    return read_address(address).safe_address if is_nats_address(address) else address


@asynccontextmanager
async def place_of(
    settings: HubSettings, folder: Path, url: str, limits: TransportLimits
) -> AsyncIterator[NodeContext]:
    """Open the journal from the settings. `folder` is this hub's own, `url` the address for clients."""
    address = settings.journal_place
    if is_nats_address(address):
        async with _open_shared(settings, folder, url, limits) as place:
            yield place
    elif settings.encryption.key:
        key = read_key(settings.encryption.key)
        async with open_sealed(Path(address), key, durability=settings.durability) as sealed_journal:
            yield NodeContext(sealed_journal, address, trees_seal=Seal(key).trees)
    else:
        async with open_journal(address, durability=settings.durability) as journal:
            owner = TaskOwner("hub word index")
            owner.start(index_while_idle(journal))
            try:
                yield NodeContext(journal, address)
            finally:
                await owner.aclose()


@asynccontextmanager
async def _open_shared(
    settings: HubSettings, folder: Path, url: str, limits: TransportLimits
) -> AsyncIterator[NodeContext]:
    if settings.encryption.key:
        raise LocalMistake(
            "encryption.key: only journals in files are sealed; use encrypted storage for NATS"
        )
    async with open_nats(settings.journal_place) as storage:
        node = Node(
            name=node_name(settings),
            life=new_life(),
            home=_home(folder),
            labels=settings.cluster.labels,
            roots=settings.cluster.roots,
            url=url,
        )
        cluster = Cluster(
            storage.register,
            storage.bus,
            node,
            lease=settings.cluster.lease,
            needs={name: agent.needs for name, agent in offered_agents(settings).items()},
            limits=limits,
        )
        yield NodeContext(storage.journal, shown_place(settings), cluster)


def _home(folder: Path) -> str:
    """A name that only this folder has, so that a node recognises its earlier process."""
    path = folder / "home"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        name = secrets.token_hex(8)
        replace_file(path, name.encode())
        return name
