"""Options of a journal on NATS: its address, its layout, and the environment variables that set them.

    nats://user:password@one:4222,two:4222/PREFIX?replicas=3&shards=4&max_age=30d&max_bytes=20GB

`tls://` asks for TLS. The path is the prefix below which everything lives, `dragoman` if there is none. What
is secret may come from the environment or from files instead (see `ENVIRONMENT`), and is shown nowhere: the
text of an `NatsOptions` has no secret in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from dragoman.decoders import convert
from dragoman.errors import JournalError
from dragoman_local.journal.redaction import redact as redact_secrets

SCHEMES = ("nats", "tls")
PORT = 4222
ENVIRONMENT = {
    "DRAGOMAN_NATS_USER": "user",
    "DRAGOMAN_NATS_PASSWORD": "password",
    "DRAGOMAN_NATS_TOKEN": "token",
    "DRAGOMAN_NATS_CREDS": "creds",
    "DRAGOMAN_NATS_NKEY": "nkey",
    "DRAGOMAN_NATS_CA": "ca",
    "DRAGOMAN_NATS_CERT": "cert",
    "DRAGOMAN_NATS_KEY": "key",
}
"""Environment variables for options that the address does not set."""

IN_ADDRESS = frozenset(
    {"replicas", "shards", "max_age", "max_bytes", "creds", "nkey", "ca", "cert", "key", "connect_seconds"}
)
SECRETS = ("user", "password", "token")

_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
_AMOUNT = re.compile(r"(\d+)\s*([A-Za-z]*)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class NatsOptions(Struct, frozen=True, kw_only=True):
    """All options. `replicas` 0 means three in a cluster and one on a single server."""

    servers: tuple[str, ...] = ()
    prefix: str = "dragoman"
    replicas: int = 0
    shards: int = 4
    """The number of JetStream streams for our streams; fixed by the first hub that opens the prefix."""
    max_age: float = 0.0
    """Seconds after which records are dropped; 0 keeps them until they are deleted."""
    max_bytes: int = 0
    """The most bytes of one shard before appends are refused; 0 sets no limit."""
    tls: bool = False
    user: str = ""
    password: str = ""
    token: str = ""
    creds: str = ""
    """A file with a user's JWT and seed."""
    nkey: str = ""
    """A file with a seed."""
    ca: str = ""
    cert: str = ""
    key: str = ""
    connect_seconds: float = 10.0
    index: Path | None = None
    """The file for the words of the search; an empty name disables it."""
    redact: Callable[[bytes], bytes] | None = redact_secrets

    def __repr__(self) -> str:
        return f"NatsOptions({self.safe_address})"

    @property
    def safe_address(self) -> str:
        """The address without secrets."""
        return f"{'tls' if self.tls else 'nats'}://{','.join(self.servers)}/{self.prefix}"


def is_nats_address(text: str) -> bool:
    return text.partition("://")[0].lower() in SCHEMES


def read_address(address: str, *, environment: Mapping[str, str] | None = None) -> NatsOptions:
    """Read options from the address and the environment. An error does not repeat the address."""
    if not is_nats_address(address):
        raise JournalError("a journal on NATS has an address such as nats://host:4222/prefix")
    scheme, _, rest = address.partition("://")
    netloc, _, path = rest.partition("/")
    if "?" in netloc:
        netloc, _, query = netloc.partition("?")
        path = f"?{query}"
    login, _, hosts = netloc.rpartition("@")
    fields = {**_from_environment(os.environ if environment is None else environment), **_login(login)}
    prefix, _, query = path.partition("?")
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in IN_ADDRESS:
            names = ", ".join(sorted(IN_ADDRESS))
            raise JournalError(f"{name!r} cannot be chosen in a NATS address; {names} can")
        fields[name] = value
    if prefix.strip("/"):
        fields["prefix"] = unquote(prefix.strip("/"))
    return _build_options(
        {**fields, "servers": _servers(hosts), "tls": scheme.lower() == "tls" or "ca" in fields}
    )


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    return {name: environment[key] for key, name in ENVIRONMENT.items() if environment.get(key)}


def _login(login: str) -> dict[str, object]:
    if not login:
        return {}
    if "@" in login or "," in login:
        raise JournalError(
            "a NATS address names its user once, before all hosts; write @ as %40 in a password"
        )
    user, colon, password = login.partition(":")
    if not colon:  # as everywhere with NATS, a user alone is a token
        return {"token": unquote(user)}
    return {"user": unquote(user), "password": unquote(password)}


def _servers(hosts: str) -> tuple[str, ...]:
    servers = []
    for host in hosts.split(","):
        try:
            parts = urlsplit(f"nats://{host.strip()}")
            port = parts.port or PORT
        except ValueError:
            raise JournalError("a NATS address has an invalid port") from None
        if not parts.hostname or parts.username is not None:
            raise JournalError("a NATS address names its user once, and then its hosts, with commas between")
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        servers.append(f"{name}:{port}")
    return tuple(servers)


def _build_options(fields: dict[str, object]) -> NatsOptions:
    for name in ("replicas", "shards"):
        if name in fields:
            fields[name] = _parse_amount(name, str(fields[name]), {"": 1})
    if "max_age" in fields:
        fields["max_age"] = float(_parse_amount("max_age", str(fields["max_age"]), _SECONDS))
    if "max_bytes" in fields:
        fields["max_bytes"] = _parse_amount("max_bytes", str(fields["max_bytes"]), _BYTES)
    if "connect_seconds" in fields:
        fields["connect_seconds"] = float(
            _parse_amount("connect_seconds", str(fields["connect_seconds"]), _SECONDS)
        )
    options = convert(fields, NatsOptions)
    if not _PREFIX.fullmatch(options.prefix):
        raise JournalError("a prefix is one word of letters, digits, _ and -")
    if not 0 <= options.replicas <= 5 or not 1 <= options.shards <= 256:
        raise JournalError("replicas are at most 5, and shards at least 1 and at most 256")
    return options


def _parse_amount(name: str, text: str, units: Mapping[str, int]) -> int:
    match = _AMOUNT.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    if match is None or unit not in units:
        unit_names = ", ".join(unit for unit in units if unit)
        raise JournalError(
            f"{name} is a whole number" + (f" followed by one of {unit_names}" if unit_names else "")
        )
    return int(match[1]) * units[unit]
