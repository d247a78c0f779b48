"""Logins without a password: a key that signs, and credentials that somebody has signed."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import nkeys  # type: ignore[import-untyped]
import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats import open_nats
from dragoman_local.journal import Entry
from tests.nats_servers import Servers, started

UNBOUNDED = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
BOUNDS = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}


class Key:
    """A key of the kind that servers know, made here."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), prefix=prefix)
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.name = self._pair.public_key.decode()

    def signed(self, subject: Key, claims: dict[str, Any]) -> str:
        """What this key says of another one."""
        said = {"jti": "x", "iat": int(time.time()), "iss": self.name, "name": "test", "sub": subject.name}
        parts = [{"typ": "JWT", "alg": "ed25519-nkey"}, {**said, "nats": {**claims, "version": 2}}]
        text = ".".join(_encoded(json.dumps(one).encode()) for one in parts)
        return f"{text}.{_encoded(self._pair.sign(text.encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def stores(servers: Servers, query: str) -> bool:
    async with open_nats(f"{servers.url}/mine?shards=1&connect_seconds=3&{query}") as place:
        return await place.journal.append("s", [Entry("note", b"{}", 1.0)]) == 1


async def test_a_key_logs_in_and_another_does_not(tmp_path: Path) -> None:
    mine, other = Key(nkeys.PREFIX_BYTE_USER), Key(nkeys.PREFIX_BYTE_USER)
    for name, key in (("mine", mine), ("other", other)):
        (tmp_path / name).write_bytes(key.seed)
    users = f"authorization {{ users: [{{ nkey: {mine.name} }}] }}"
    with started(tmp_path / "servers", more=users) as servers:
        assert await stores(servers, f"nkey={tmp_path / 'mine'}")
        with pytest.raises(JournalError) as refused:
            await stores(servers, f"nkey={tmp_path / 'other'}")
    assert other.seed.decode() not in str(refused.value)


async def test_credentials_log_in(tmp_path: Path) -> None:
    operator, user = Key(nkeys.PREFIX_BYTE_OPERATOR), Key(nkeys.PREFIX_BYTE_USER)
    account, system = Key(nkeys.PREFIX_BYTE_ACCOUNT), Key(nkeys.PREFIX_BYTE_ACCOUNT)
    limits = {**BOUNDS, "wildcards": True}
    said = {
        account.name: operator.signed(account, {"limits": {**limits, **UNBOUNDED}, "type": "account"}),
        system.name: operator.signed(system, {"limits": limits, "type": "account"}),
    }
    accounts = ", ".join(f"{name}: {jwt}" for name, jwt in said.items())
    more = (
        f"operator: {operator.signed(operator, {'type': 'operator'})}\nsystem_account: {system.name}\n"
        f"resolver: MEMORY\nresolver_preload: {{ {accounts} }}"
    )
    said_of_user = account.signed(user, {"subs": -1, "data": -1, "payload": -1, "type": "user"})
    creds = tmp_path / "creds"
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{said_of_user}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    with started(tmp_path / "servers", more=more) as servers:
        assert await stores(servers, f"creds={creds}")
