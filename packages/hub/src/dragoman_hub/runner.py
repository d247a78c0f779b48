"""Runs a hub from its settings to its end: journal, tokens, agents, listener, reload and drain."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.runtime.loop_watch import SWITCH, LoopWatch, log_slow_callback
from dragoman.runtime.owner import TaskOwner
from dragoman.system.replacement import replace_file
from dragoman.transport.contract import TransportLimits
from dragoman.transport.http_connection import Bounds
from dragoman.transport.http_outlet import UNREAD
from dragoman_hub.agents.channel import LeaseTerm
from dragoman_hub.agents.installation import AgentInstaller
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.agents.specs import Introductions, specs_of
from dragoman_hub.api.app import HubApp
from dragoman_hub.api.listener import Tls, is_loopback, open_listener, open_socket, parse_listen
from dragoman_hub.api.observability.asgi import HEALTH, PATHS, ObservingPages
from dragoman_hub.api.observability.observer import Observer
from dragoman_hub.api.observability.otel_variables import are_spans_off, are_spans_wanted
from dragoman_hub.api.observability.spans import TurnSpans, open_spans
from dragoman_hub.api.observability.status import Status, StatusSource
from dragoman_hub.cluster.cluster import Cluster
from dragoman_hub.cluster.node import node_name, place_of
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.folder_lock import lock_folder
from dragoman_hub.gate.admission import Admission, local_hosts, names_of
from dragoman_hub.gate.connection_limits import ConnectionLimits
from dragoman_hub.gate.grants import LiveGrants
from dragoman_hub.gate.grants_store import TokenStore
from dragoman_hub.gate.pairing import Pairings
from dragoman_hub.gate.rates import Buckets
from dragoman_hub.hub import Hub
from dragoman_hub.nats.options import is_nats_address
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.push.setup import open_push
from dragoman_hub.settings import HubSettings, changed_settings, offered_agents
from dragoman_local.kit.journal_lender import erase_sessions
from dragoman_local.sandbox.wall import chosen_sandbox
from dragoman_local.workspace.kernel import free_large_blocks
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.tree_store import SEALED_NAME, store_beside

log = logging.getLogger(__name__)

AHEAD = 2 * 1024 * 1024
"""The most bytes that a client may be behind before it is served from the journal, which costs more: a burst
of some thousand updates.
"""

GUESTS = TransportLimits(high=AHEAD, low=AHEAD // 4)
"""The limits of clients of other nodes; their own node limits the size of messages."""

DRAIN_SECONDS = 30.0
"""The seconds for running turns to end when the hub is asked to end."""

COLLECT_AFTER = 10_000
"""The new objects after which garbage is collected. With Python's own 700, the objects of running turns are
searched again and again: a seventh of the cost of a thousand turns.
"""


class RunningHub(Struct):
    """A hub that runs."""

    hub: Hub
    app: HubApp
    url: str
    token: str | None
    """A token that was created because there was none; shown once."""
    store: TokenStore
    reload: Callable[[HubSettings], list[str]]
    refresh_tokens: Callable[[], object]
    """Makes new tokens valid at once; otherwise it takes a second."""
    cluster: Cluster | None = None


class _Door(Struct):
    """Where the hub listens, and under which names."""

    socket: socket.socket
    url: str
    port: int
    host: str
    tls: Tls | None

    def names(self, settings: HubSettings) -> list[str]:
        return [*local_hosts(self.port), *names_of(self.host, self.port), *settings.hosts]


def tune_memory() -> None:
    """For a process that only runs a hub: objects loaded now stay to its end, large ones leave at once."""
    free_large_blocks()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def _open_door(settings: HubSettings) -> _Door:
    host, port = parse_listen(settings.listen)
    tls = Tls(settings.tls.certificate, settings.tls.key) if settings.tls.certificate else None
    server_socket = open_socket(host, port, tls=tls, insecure=settings.insecure)
    port = server_socket.getsockname()[1]
    shown_host = f"[{host}]" if ":" in host else host
    return _Door(server_socket, f"http{'s' if tls else ''}://{shown_host}:{port}/", port, host, tls)


@asynccontextmanager
async def run_hub(settings: HubSettings, *, page: object = None) -> AsyncIterator[RunningHub]:
    """Serve until the block is left. Raises `LocalMistake` for invalid settings."""
    async with AsyncExitStack() as stack:
        if os.environ.get(SWITCH):
            stack.enter_context(LoopWatch(log_slow_callback))
        folder = _folder(settings)
        stack.enter_context(lock_folder(folder))
        door = _open_door(settings)
        stack.callback(door.socket.close)
        observer = Observer(spans=(spans := _spans(settings)))
        stack.push_async_callback(observer.aclose)
        place = await stack.enter_async_context(place_of(settings, folder, door.url, GUESTS))
        hub = Hub(
            observer.measure(place.journal),
            _specs(settings, folder, place.lease),
            options=replace(options_of(settings), trees_seal=place.trees_seal),
            remember=Introductions(folder / "agents"),
            trace=observer.prompt if spans is not None else None,
            ownership=place.cluster,
        )
        hub.eraser.register(erase_sessions)
        store = TokenStore(settings.tokens_path)
        token = store.first_token()
        admission = Admission({}, hosts=door.names(settings), origins=settings.origins)
        live = LiveGrants(store, admission, on_revoked=lambda _: _end_strangers(hub, admission))
        live.refresh()
        hub.pairings = Pairings(admission, store)
        await stack.enter_async_context(
            _open_hub(hub, place.cluster, push=_push(settings, folder, admission))
        )
        snapshot = observer.see(hub, url=door.url, journal=place.shown_address)
        hub.status_of = lambda: _status(observer, snapshot, place.cluster)
        app = _app(
            hub,
            admission,
            settings,
            page,
            ObservingPages(admission, lambda: observer.metrics(snapshot), draining=lambda: hub.draining),
            observer,
        )
        owner = TaskOwner("hub watch")
        stack.push_async_callback(owner.aclose)
        owner.start(live.watch())
        _write_address(folder, door.url)
        stack.callback(_remove_address, folder)
        await stack.enter_async_context(
            open_listener(
                app,
                door.socket,
                tls=door.tls,
                connections=_connection_limits(settings),
                on_refused=observer.on_refused,
            )
        )

        reload = _open_reload(
            hub,
            settings,
            door,
            specs=lambda fresh: _specs(fresh, folder, place.lease),
            live=live,
            admission=admission,
        )
        try:
            yield RunningHub(hub, app, door.url, token, store, reload, live.refresh, place.cluster)
        finally:
            app.endpoint.leave()


def _open_reload(
    hub: Hub,
    settings: HubSettings,
    door: _Door,
    *,
    specs: Callable[[HubSettings], dict[str, AgentSpec]],
    live: LiveGrants,
    admission: Admission,
) -> Callable[[HubSettings], list[str]]:
    """The parts that follow the settings while the hub runs: their changes, and agents that clients
    install.
    """
    current = settings
    hub.installer = installer = AgentInstaller(
        offer=lambda: hub.pool.offer(specs(current)),
        refusal=install_refusal(settings, door.host),
        audit=hub.options.audit,
    )

    def reload(fresh: HubSettings) -> list[str]:
        """Take over what can be; says what waits for a restart."""
        nonlocal current
        _, waiting = changed_settings(settings, fresh)
        live.refresh()
        admission.rename(hosts=door.names(fresh), origins=fresh.origins)
        hub.options = replace(options_of(fresh), trees_seal=hub.options.trees_seal)
        hub.default_agent = fresh.default_agent
        hub.pool.offer(specs(fresh))
        current, installer.refusal = fresh, install_refusal(fresh, door.host)
        stays = hub.broker.load_policy(fresh.approvals.policy)
        return [*([stays] if stays else []), *(f"{name} waits for a restart" for name in waiting)]

    return reload


@asynccontextmanager
async def _open_hub(hub: Hub, cluster: Cluster | None, *, push: PushNotifier | str) -> AsyncIterator[None]:
    """The hub, at its place among others if it has one."""
    hub.push = push
    if cluster is None:
        try:
            async with hub:
                yield
        finally:
            if isinstance(push, PushNotifier):
                await push.aclose()
        return
    await cluster.join(hub)
    try:
        async with hub:
            await cluster.open()
            yield
    finally:
        await cluster.leave()


def _push(settings: HubSettings, folder: Path, admission: Admission) -> PushNotifier | str:
    """The notifier for devices whose page is closed, or the reason why there is none."""
    if node_name(settings):
        return "several hubs share this journal, so none of them knows all devices"
    return open_push(
        folder,
        grant_of=admission.grant_of,
        contact=settings.push.contact,
        hosts=settings.hosts,
        may_be_private=settings.push.private,
    )


def install_refusal(settings: HubSettings, host: str) -> str:
    """Return why clients may not add agents; empty if administrators may. A hub with another machine's name
    is behind a proxy: its local clients may be on other machines.
    """
    names = [urlsplit(f"//{name}").hostname or "" for name in settings.hosts]
    if settings.agent_installs == "never":
        return "the configuration of this hub does not let clients add agents (agent_installs)"
    if node_name(settings):
        return "several hubs share this journal: install the agent on each machine by hand"
    if not settings.known_agents:
        return "this hub offers only the agents of its configuration (known_agents)"
    if settings.agent_installs == "loopback" and not all(map(is_loopback, (host, *names))):
        return (
            "this hub can be reached from other machines, so you can add agents only on its own machine "
            '(agent_installs = "always" lets clients do it)'
        )
    return ""


async def _status(observer: Observer, source: StatusSource, cluster: Cluster | None) -> Status:
    status = await observer.status(source)
    return status if cluster is None else replace(status, nodes=cluster.describe_nodes())


async def drain(hub: Hub, *, cluster: Cluster | None = None, within: float = DRAIN_SECONDS) -> None:
    """Let running turns end; new prompts are refused in the meantime, and idle sessions are given to other
    nodes.
    """
    hub.begin_draining()
    if cluster is not None:
        await cluster.drain()
    try:
        async with asyncio.timeout(within):
            while any(session.state.waits_for_agent for session in hub.sessions.values()):
                await hub.rest_event.wait()
                hub.rest_event.clear()
    except TimeoutError:
        pass


def _started_in() -> str:
    """The folder; empty for that of a service, which is the root, and for one that was removed since."""
    try:
        folder = Path.cwd()
    except OSError:
        return ""
    return "" if folder == Path(folder.anchor) else str(folder)


def options_of(settings: HubSettings) -> HubOptions:
    return HubOptions(
        default_agent=settings.default_agent,
        folder=_started_in(),
        home=policy_paths().home,
        hubs=settings.hubs,
        prompts_queued=settings.limits.prompts_queued,
        unread=settings.limits.unread,
        sessions=settings.limits.sessions,
        originals_kept=settings.limits.originals,
        keep_days=settings.keep_days,
        sandbox=chosen_sandbox(settings.sandbox),
        secrets=_own_files(settings),
        files=settings.files,
        expire=settings.approvals.expire,
        on_expiry=settings.approvals.on_expiry,
        policy=settings.approvals.policy,
        audit=policy_paths().audit,
        on_last_leave=settings.detached.on_last_leave,
        leave_after=settings.detached.after,
        release_after=settings.detached.release_after,
        prompt_rate=Buckets(settings.limits.prompt_rate).take,
        changes=True,
        trees=_trees_journal(settings),
    )


def _own_files(settings: HubSettings) -> tuple[str, ...]:
    """Files of the hub that no agent and no command may read."""
    trees = store_beside(_trees_journal(settings)).path
    sealed = os.path.join(os.path.dirname(trees), SEALED_NAME)
    return settings.journal_place, str(settings.tokens_path), trees, sealed


def _trees_journal(settings: HubSettings) -> str:
    """The file beside which trees are kept; hubs that share a journal on NATS have each its own."""
    place = settings.journal_place
    return str(settings.tokens_path) if is_nats_address(place) else place


def _specs(
    settings: HubSettings, folder: Path, lease: Callable[[], LeaseTerm] | None
) -> dict[str, AgentSpec]:
    return specs_of(
        offered_agents(settings),
        folder / "agents",
        lease=lease,
        policy=settings.approvals.policy,
        secrets=_own_files(settings),
    )


def _app(
    hub: Hub,
    admission: Admission,
    settings: HubSettings,
    page: Any,
    pages: ObservingPages,
    observer: Observer,
) -> HubApp:
    return HubApp(
        hub,
        admission,
        page=page,
        observed_app=pages,
        observed_paths=PATHS if settings.telemetry.metrics else frozenset({HEALTH}),
        limits=TransportLimits(frame=settings.limits.message, high=AHEAD, low=AHEAD // 4),
        bounds=Bounds(unread=min(settings.limits.unread, UNREAD)),
        connections=settings.limits.connections,
        connect_rate=Buckets(settings.limits.connect_rate),
        on_refused=observer.on_refused,
    )


def _connection_limits(settings: HubSettings) -> ConnectionLimits:
    limits = settings.limits
    return ConnectionLimits(
        head=limits.head,
        unadmitted=limits.unadmitted,
        unadmitted_per_address=limits.unadmitted_per_address,
    )


def _folder(settings: HubSettings) -> Path:
    """The folder beside the journal for the hub's other files."""
    beside = settings.tokens_path.parent
    beside.mkdir(parents=True, mode=0o700, exist_ok=True)
    node = node_name(settings)
    folder = beside / (f"hub-{node}" if node else "hub")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _spans(settings: HubSettings) -> TurnSpans | None:
    """The receiver of turns, if any: variables of OpenTelemetry may ask for it, or forbid it."""
    if are_spans_off(os.environ):
        return None
    if settings.telemetry.traces:
        return open_spans(settings.telemetry.otlp)
    if not are_spans_wanted(os.environ):
        return None
    try:
        return open_spans(settings.telemetry.otlp)
    except LocalMistake as error:  # the variables are for every program; this one runs without spans too
        log.warning("sending no spans, although variables of OpenTelemetry ask for them: %s", error)
        return None


def _end_strangers(hub: Hub, admission: Admission) -> None:
    """Connections of tokens that are good no more."""
    for client in list(hub.clients):
        if not client.is_guest and not admission.holds(client.grant):
            client.give_up("its token was revoked or changed")


def _write_address(folder: Path, url: str) -> None:
    """So that commands of the same user find the hub; no secret is in it."""
    address = {"url": url.replace("http", "ws", 1) + "acp", "pid": os.getpid()}
    replace_file(folder / "address", msgspec.json.encode(address))


def _remove_address(folder: Path) -> None:
    path = folder / "address"
    try:
        if msgspec.json.decode(path.read_bytes()).get("pid") == os.getpid():
            path.unlink()
    except (OSError, msgspec.MsgspecError, AttributeError):
        pass  # another hub has written its own, or somebody has cleaned up
