"""Each figure of the cluster: how it is measured on a cluster that runs. `cluster.py` says what is asked of
them.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster_client import CountingClient
from cluster_plain import plain_rates
from dragoman_hub.nats import open_nats
from dragoman_hub.nats.layout import Layout, token_of
from dragoman_local.journal import Entry
from dragoman_local.journal.shared_state import RegisterValue
from harness.processes import cpu_of
from tests.cluster.together import PREFIX, Cluster
from tests.nats_servers import Servers

SESSIONS = 9
"""A third of them have their client at their own node, the others elsewhere."""

NUMBER = re.compile(rb'"text":"(\d{7}) x')
LOADS = 3
"""The first one has to take the session over."""

PACE = 0.01
WARM = 100


async def rates(cluster: Cluster, folder: str, *, count: int) -> dict[str, float]:
    """Updates a second through three hubs, beside what a plain client stores."""
    assert cluster.servers is not None
    plain = await plain_rates(cluster.servers.url, count)
    async with AsyncExitStack() as stack:
        sessions = await _made(cluster, folder, SESSIONS)
        names = [node.name for node in cluster.nodes]
        clients: list[CountingClient] = []
        for number, node in enumerate(sessions.values()):
            url = cluster.urls[(names.index(node) + number) % len(names)]
            clients.append(await stack.enter_async_context(CountingClient(url, cluster.headers)))
        pairs = list(zip(clients, sessions, strict=True))
        await asyncio.gather(*(client.prompt(name, do="stream", count=WARM) for client, name in pairs))
        each = count * 4 // SESSIONS
        before = sum(client.updates for client in clients)
        used = _used(cluster)
        began = time.perf_counter()
        ends = await asyncio.gather(*(one.prompt(name, do="stream", count=each) for one, name in pairs))
        seconds = time.perf_counter() - began
        came = sum(client.updates for client in clients) - before
        costs = {f"us {who}": 1e6 * (cpu - used[who]) / came for who, cpu in _used(cluster).items()}
    wrong = await _out_of_order(cluster, list(sessions), each)
    if set(ends) != {"end_turn"} or came != each * SESSIONS or wrong:
        raise RuntimeError(f"{came} of {each * SESSIONS} updates came, {wrong} sessions out of order, {ends}")
    return {**{f"plain {name}": rate for name, rate in plain.items()}, "updates": came / seconds, **costs}


def _used(cluster: Cluster) -> dict[str, float]:
    """Seconds of the processors so far."""
    assert cluster.servers is not None
    servers = [server.process.pid for server in cluster.servers.all if server.process is not None]
    return {
        "hubs": sum(cpu_of(node.pid) for node in cluster.nodes),
        "servers": sum(map(cpu_of, servers)),
        "clients": time.process_time(),
    }


async def _made(cluster: Cluster, folder: str, count: int) -> dict[str, str]:
    """New sessions and the nodes that have them."""
    async with CountingClient(cluster.urls[0], cluster.headers) as maker:
        made = [await maker.make(folder) for _ in range(count)]
        owners = await _owners(cluster)
    return {session: owners[session] for session in made}


async def _owners(cluster: Cluster) -> dict[str, str]:
    """Sessions and their nodes, as the register has them."""
    owners: dict[str, str] = {}

    def seen(key: str, held: RegisterValue | None) -> None:
        if held is not None:
            owned = json.loads(held.value)
            owners[owned["session"]] = owned["node"]

    async with open_nats(cluster.address) as place:
        watch = await place.register.watch("own", seen)
        await watch.aclose()
    return owners


async def _out_of_order(cluster: Cluster, sessions: list[str], count: int) -> int:
    """How many sessions do not have every number once and in order, in the journal."""
    wrong = 0
    async with cluster.journal() as journal:
        for session in sessions:
            texts = [
                one.frame
                async for page in journal.replay(session)
                for one in page
                if one.direction == "to_client" and b"agent_message_chunk" in one.frame
            ]
            numbers = [int(json.loads(frame)["params"]["update"]["content"]["text"][:7]) for frame in texts]
            wrong += numbers != [*range(WARM), *range(count)]
    return wrong


async def delay(cluster: Cluster, folder: str, *, count: int) -> dict[str, float]:
    """From the agent to a client at another node, a hundred updates a second; milliseconds."""
    ((session, owner),) = (await _made(cluster, folder, 1)).items()
    other = next(node for node in cluster.nodes if node.name != owner)
    async with CountingClient(other.url, cluster.headers, keep=True) as client:
        await client.prompt(session, do="paced", count=count + WARM, gap=PACE)
        delays = sorted(1000 * (came - float(text)) for text, came in client.texts[WARM:])
    if len(delays) != count:
        raise RuntimeError(f"{len(delays)} of {count} updates came")
    return {"p50": statistics.median(delays), "p99": delays[int(count * 0.99)]}


async def outage(cluster: Cluster, folder: str, *, how: str) -> float:
    """The longest pause that a client sees when the leader of its session's stream is struck; seconds."""
    servers = cluster.servers
    assert servers is not None
    layout = Layout(PREFIX, shards=await asyncio.to_thread(_shards, servers))
    async with CountingClient(cluster.urls[1], cluster.headers, keep=True) as client:
        session = await client.make(folder)
        turn = asyncio.create_task(client.prompt(session, do="paced", count=2500, gap=PACE))
        await client.until(300)
        leader = await asyncio.to_thread(servers.leader, layout.stream_of(token_of(session)))
        assert leader is not None
        process = servers.all[leader].process
        assert process is not None
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGUSR2)
        end = await turn
        came = [when for _, when in client.texts]
    await asyncio.to_thread(servers.kill, leader)
    servers.start(leader, wait=False)
    await asyncio.to_thread(servers.wait_ready, [leader])
    if end != "end_turn" or len(came) != 2500:
        raise RuntimeError(f"{len(came)} of 2500 updates came, and the turn ended with {end}")
    return max(later - earlier for earlier, later in pairwise(came))


def _shards(servers: Servers) -> int:
    """How many streams hold the journal."""
    said = servers.all[0].ask("/jsz?accounts=true&streams=true")
    streams = [one["name"] for account in said["account_details"] for one in account["stream_detail"]]
    return sum(name.startswith(f"{PREFIX}_j") for name in streams)


async def replay(cluster: Cluster, folder: str, *, count: int) -> dict[str, float]:
    """Entries a second of a long session: from the journal by another process than its writer, and told to a
    client by a node that takes the session over.
    """
    async with CountingClient(cluster.urls[0], cluster.headers) as client:
        session = await client.make(folder)
        await client.prompt(session, do="stream", count=count)
    async with cluster.journal() as journal:
        began = time.perf_counter()
        read = 0
        async for page in journal.replay(session):
            read += len(page)
        journal_rate = read / (time.perf_counter() - began)
    name = (await _owners(cluster))[session]
    owner = next(node for node in cluster.nodes if node.name == name)
    await owner.end()
    other = next(node for node in cluster.nodes if node is not owner)
    rates: list[float] = []
    came = 0
    for _ in range(LOADS):
        async with CountingClient(other.url, cluster.headers) as client:
            began = time.perf_counter()
            came = await client.load(session)
            rates.append(came / (time.perf_counter() - began))
    await owner.start()
    if came < count or read < count:
        raise RuntimeError(f"{came} and {read} of {count} came")
    return {"journal": journal_rate, "load": statistics.median(rates)}


async def idle(cluster: Cluster, folder: str, *, count: int) -> dict[str, float]:
    """Bytes of a hub's memory for each session that was opened once and in which nothing goes on."""
    node = cluster.nodes[0]
    names = [f"idle-{number:06d}" for number in range(count)]
    await node.end()
    await node.start()
    async with CountingClient(node.url, cluster.headers) as client:
        before = _memory(node.pid)
        async with cluster.journal() as journal:
            await _in_parts(names, lambda name: _describe(journal, name, folder))
        await _in_parts(names, lambda name: _open(client, name))
        await asyncio.sleep(5)  # until the hub has let go of them
        after = _memory(node.pid)
    assert cluster.servers is not None
    consumers = [server.ask("/jsz").get("consumers", 0) for server in cluster.servers.all]
    return {"bytes": (after - before) / count, "consumers": float(max(consumers))}


async def _describe(journal: Any, name: str, folder: str) -> None:
    made = {"hub": "made", "agent": "storm", "cwd": folder, "n": 1, "session": name, "result": {}}
    await journal.append(name, [Entry("note", json.dumps(made).encode(), time.time())])
    await journal.describe(name, agent="storm", cwd=folder, title=name, state="idle", session=name)


async def _open(client: CountingClient, name: str) -> None:
    await client.call("_dragoman/hub/attach", {"sessionId": name})
    await client.call("_dragoman/hub/detach", {"sessionId": name})


async def _in_parts(names: list[str], work: Callable[[str], Awaitable[None]], at_once: int = 50) -> None:
    for first in range(0, len(names), at_once):
        await asyncio.gather(*(work(name) for name in names[first : first + at_once]))


def _memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmRSS")
