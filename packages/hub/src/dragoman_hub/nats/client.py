"""A connection to NATS: the login, its state, and the reason if a server refuses the hub.

nats-py would go on without TLS where the server has none, keeps trying for ever where a login is refused, and
swallows a cancellation while it writes. So TLS is checked before anything secret is sent, a refusal ends the
opening, and nothing here waits to write. `private` is the library itself.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import JournalError
from dragoman_hub.nats.options import NatsOptions
from dragoman_hub.nats.replies import end_tasks

if TYPE_CHECKING:
    from dragoman_hub.nats.private import NatsLibrary

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.2
PING_SECONDS = 2
PINGS = 2
"""The pings without an answer after which a server counts as gone, and another one is tried: four to six
seconds.
"""

CLOSE_SECONDS = 3.0
"""The seconds for the last messages to a server that may not read."""

BUFFER_BYTES = 32 * 1024 * 1024
"""The most bytes of unread messages; more are refused."""


class NatsRefused(JournalError):
    """The servers refuse the hub."""


class NatsClient:
    """A connection. `on_lost`, `on_back` and `on_over` are called when it is lost, restored and closed."""

    def __init__(self, library: NatsLibrary) -> None:
        self.library = library
        self.closing = False

    async def close(self) -> None:
        self.closing = True
        tasks = self.library.tasks()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.library.close()
        except (OSError, TimeoutError):  # the server is gone, and the library stops halfway or waits for it
            self.library.abort()
        await end_tasks([task for task in tasks if task is not asyncio.current_task()])


async def connect_client(
    options: NatsOptions,
    *,
    inbox: str,
    on_lost: Callable[[], None],
    on_back: Callable[[], None],
    on_over: Callable[[], None],
    on_denied: Callable[[str], None],
) -> NatsClient:
    """Connect within `options.connect_seconds`, or raise the reason."""
    trouble: list[BaseException] = []
    library = _open_library(options, trouble)
    client = NatsClient(library)

    async def on_error(error: BaseException) -> None:
        log.debug("the connection has an error: %s", type(error).__name__)
        text = str(error).lower()
        if "permissions violation" in text:
            on_denied(text)
        elif "authorization" in text or isinstance(error, ssl.SSLCertVerificationError):
            trouble.append(error)

    def unless_closing(callback: Callable[[], None]) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            if not client.closing:
                callback()

        return run

    arguments: dict[str, Any] = {
        "servers": [f"{'tls' if options.tls else 'nats'}://{server}" for server in options.servers],
        "name": "dragoman",
        "inbox_prefix": inbox,
        "error_cb": on_error,
        "disconnected_cb": unless_closing(on_lost),
        "reconnected_cb": unless_closing(on_back),
        "closed_cb": unless_closing(on_over),
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_SECONDS,
        "ping_interval": PING_SECONDS,
        "max_outstanding_pings": PINGS,
        "pending_size": BUFFER_BYTES,
        "flush_timeout": 5.0,
        **login(options),
    }
    connecting = asyncio.get_running_loop().create_task(library.connect(**arguments))
    try:
        await _until_connected(connecting, trouble, options)
    except BaseException:
        await end_tasks([connecting])
        await client.close()
        raise
    return client


def _open_library(options: NatsOptions, trouble: list[BaseException]) -> NatsLibrary:
    """The library, which sends no login to a server without TLS where TLS is wanted."""
    try:
        from dragoman_hub.nats.private import open_library  # late: it needs `dragoman[cluster]`
    except ImportError:
        raise JournalError("a journal on NATS needs its client: pip install 'dragoman[cluster]'") from None

    def check_info(info: Mapping[str, object]) -> None:
        if options.tls and not info.get("tls_required"):
            trouble.append(NatsRefused(f"{options.safe_address}: the server speaks no TLS"))
            raise ConnectionRefusedError("no TLS")

    return open_library(check_info)


async def _until_connected(
    connecting: asyncio.Task[object], trouble: list[BaseException], options: NatsOptions
) -> None:
    """The library tries without end; what will not change ends it here."""
    loop = asyncio.get_running_loop()
    until = loop.time() + options.connect_seconds
    while not connecting.done():
        if trouble:
            raise _refusal(trouble[0], options)
        if loop.time() > until:
            raise JournalError(f"{options.safe_address} cannot be reached: is a server running there?")
        await asyncio.wait([connecting], timeout=0.1)
    error = connecting.exception()
    if error is not None:
        raise _refusal(trouble[0] if trouble else error, options)


def _refusal(error: BaseException, options: NatsOptions) -> JournalError:
    if isinstance(error, JournalError):
        return error
    if isinstance(error, ssl.SSLError):
        return NatsRefused(
            f"{options.safe_address}: TLS failed ({error.reason or type(error).__name__}); is the ca right?"
        )
    if "authorization" in str(error).lower():
        return NatsRefused(
            f"{options.safe_address}: the server refuses this user; check user, password, token or creds"
        )
    return JournalError(f"{options.safe_address} cannot be reached: {type(error).__name__}")


# Login options for the NATS client library: users, tokens, keys, certificates.
#
# Errors name files and never what is in them.


def login(options: NatsOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if options.creds:
        settings["user_credentials"] = str(_file(options.creds, "credentials"))
    elif options.nkey:
        settings["nkeys_seed"] = str(_file(options.nkey, "seed"))
    elif options.token:
        settings["token"] = options.token
    elif options.user:
        settings |= {"user": options.user, "password": options.password}
    needs_nkeys = "user_credentials" in settings or "nkeys_seed" in settings
    if needs_nkeys and find_spec("nkeys") is None:  # the library imports it itself
        raise JournalError("keys and credentials need one more: pip install nkeys")
    if options.tls:
        settings["tls"] = _context(options)
    return settings


def _context(options: NatsOptions) -> ssl.SSLContext:
    ca = str(_file(options.ca, "certificates of an authority")) if options.ca else None
    context = ssl.create_default_context(cafile=ca)
    if options.cert:
        cert = _file(options.cert, "certificate")
        key = _file(options.key, "key of the certificate") if options.key else None
        try:
            context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as error:
            raise JournalError(f"the certificate cannot be used: {type(error).__name__}") from None
    return context


def _file(path: str, what: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise JournalError(f"the file with the {what} is not there: {file}")
    return file
