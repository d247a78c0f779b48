"""A hub from its settings to its end: journal, tokens, agents, listener, reload and drain."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.hub.admission import Admission, local_hosts, names_of
from dragoman.hub.app import HubApp
from dragoman.hub.grants import LiveGrants
from dragoman.hub.grants_store import TokenStore
from dragoman.hub.hub import Hub, HubOptions
from dragoman.hub.listening import Tls, listening, open_socket, parse_listen
from dragoman.hub.rates import Buckets
from dragoman.hub.settings import HubSettings
from dragoman.hub.settings_agents import offered_agents
from dragoman.hub.starting import Introductions, specs_of
from dragoman.journal import Journal, open_journal
from dragoman.runtime.owner import Owner
from dragoman.transport.contract import Limits
from dragoman.transport.http_connection import Bounds

log = logging.getLogger(__name__)

DRAIN_SECONDS = 30.0
"""How long turns that run may take to their end when the hub is asked to go."""


class Running(Struct):
    """A hub that runs."""

    hub: Hub
    app: HubApp
    url: str
    token: str | None
    """Made because there was none; shown once."""
    store: TokenStore
    reload: Callable[[HubSettings], list[str]]


@asynccontextmanager
async def running(settings: HubSettings, *, page: Any = None) -> AsyncIterator[Running]:
    """Serve until the block is left. Raises `LocalMistake` for what cannot be."""
    async with AsyncExitStack() as stack:
        host, port = parse_listen(settings.listen)
        tls = Tls(settings.tls.certificate, settings.tls.key) if settings.tls.certificate else None
        bound = open_socket(host, port, tls=tls, insecure=settings.insecure)
        stack.callback(bound.close)
        port = bound.getsockname()[1]
        journal = await stack.enter_async_context(_journal(settings))
        folder = _folder(settings)
        store = TokenStore(settings.tokens_path)
        token = store.first_token()
        names = [*local_hosts(port), *names_of(host, port), *settings.hosts]
        admission = Admission({}, hosts=names, origins=settings.origins)
        hub = Hub(
            journal,
            specs_of(offered_agents(settings), folder / "agents"),
            options=options_of(settings),
            remember=Introductions(folder / "agents"),
        )
        live = LiveGrants(store, admission, on_revoked=lambda _: _end_strangers(hub, admission))
        live.refresh()
        await stack.enter_async_context(hub)
        app = _app(hub, admission, settings, page)
        owner = Owner("hub watch")
        stack.push_async_callback(owner.aclose)
        owner.start(live.watch())
        secure = "s" if tls else ""
        shown = f"[{host}]" if ":" in host else host
        url = f"http{secure}://{shown}:{port}/"
        _write_address(folder, url)
        stack.callback(_remove_address, folder)
        await stack.enter_async_context(listening(app, bound, tls=tls))

        def reload(fresh: HubSettings) -> list[str]:
            live.refresh()
            admission.rename(
                hosts=[*local_hosts(port), *names_of(host, port), *fresh.hosts], origins=fresh.origins
            )
            hub.options = options_of(fresh)
            hub.default_agent = fresh.default_agent
            hub.pool.offer(specs_of(offered_agents(fresh), folder / "agents"))
            return []

        try:
            yield Running(hub, app, url, token, store, reload)
        finally:
            app.endpoint.leave()


async def drain(hub: Hub, *, within: float = DRAIN_SECONDS) -> None:
    """Let turns that run come to their end; new prompts are refused meanwhile."""
    hub.draining = True
    try:
        async with asyncio.timeout(within):
            while any(session.is_busy for session in hub.sessions.values()):
                await hub.rested.wait()
                hub.rested.clear()
    except TimeoutError:
        pass


def options_of(settings: HubSettings) -> HubOptions:
    return HubOptions(
        default_agent=settings.default_agent,
        prompts_queued=settings.limits.prompts_queued,
        sessions=settings.limits.sessions,
        files=settings.files,
        expire=settings.approvals.expire,
        on_expiry=settings.approvals.on_expiry,
        policy=settings.approvals.policy,
        on_last_leave=settings.detached.on_last_leave,
        leave_after=settings.detached.after,
        prompt_rate=Buckets(settings.limits.prompt_rate).take,
        changes=True,
    )


def _app(hub: Hub, admission: Admission, settings: HubSettings, page: Any) -> HubApp:
    return HubApp(
        hub,
        admission,
        page=page,
        limits=Limits(frame=settings.limits.message),
        bounds=Bounds(unread=settings.limits.unread),
        connections=settings.limits.connections,
        connect_rate=Buckets(settings.limits.connect_rate),
    )


@asynccontextmanager
async def _journal(settings: HubSettings) -> AsyncIterator[Journal]:
    place = settings.journal_place
    if "://" in place:
        raise LocalMistake(f"journal: {place} cannot be used: journals are files")
    if settings.encryption.key:
        from dragoman.journal.keys import read_key
        from dragoman.journal.sealed_file import open_sealed

        sealed = open_sealed(Path(place), read_key(settings.encryption.key), durability=settings.durability)
        async with sealed as journal:
            yield journal
        return
    async with open_journal(place, durability=settings.durability) as journal:
        yield journal


def _folder(settings: HubSettings) -> Path:
    """What the hub needs besides the journal lies beside it."""
    folder = settings.tokens_path.parent / "hub"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    return folder


def _end_strangers(hub: Hub, admission: Admission) -> None:
    """Connections of tokens that are good no more."""
    for client in list(hub.clients):
        if not admission.holds(client.grant):
            client.give_up("its token was revoked or changed")


def _write_address(folder: Path, url: str) -> None:
    """So that commands of the same user find the hub; no secret is in it."""
    path = folder / "address"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode({"url": url.replace("http", "ws", 1) + "acp", "pid": os.getpid()}))


def _remove_address(folder: Path) -> None:
    path = folder / "address"
    try:
        if msgspec.json.decode(path.read_bytes()).get("pid") == os.getpid():
            path.unlink()
    except (OSError, msgspec.MsgspecError, AttributeError):
        pass  # another hub has written its own, or somebody has cleaned up
