"""Who may come in: users and passwords, TLS on both sides, and tenants who do not see each other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats import open_nats
from dragoman_hub.nats.layout import Layout, keys_bucket, meta_bucket, register_bucket
from dragoman_local.journal import Entry
from tests.nats.certificates import Authority
from tests.nats_servers import Servers, started

pytestmark = pytest.mark.bound(40)

SECRET = "hush-hush"
NOTE = Entry("note", b"mine", 1.0)


class Guarded(Servers):
    """A server with TLS, and the authority that vouches for it."""

    authority: Authority
    folder: Path

    def address(self, user: str, prefix: str, *, cert: str = "client", ca: Path | None = None) -> str:
        files = f"ca={ca or self.authority.ca}&cert={self.folder / cert}.pem&key={self.folder / cert}.key"
        return f"tls://{user}:{SECRET}@{self.hosts}/{prefix}?shards=1&{files}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    server = authority.pair("server")
    authority.pair("client")
    users = ", ".join(_user(name) for name in ("left", "right"))
    more = (
        f'tls {{ cert_file: "{server.cert}", key_file: "{server.key}", '
        f'ca_file: "{authority.ca}", verify: true }}\n'
        f"authorization {{ users: [{users}] }}"
    )
    with started(folder / "nats", more=more) as servers:
        made = Guarded(servers.all, scheme="tls")
        made.authority, made.folder = authority, folder
        yield made


def _user(name: str) -> str:
    """What a user of one prefix must be allowed, and nothing more."""
    layout = Layout(name, shards=1)
    buckets = [meta_bucket(name), register_bucket(name), keys_bucket(name)]
    streams = [layout.shard(0), layout.objects, layout.originals, *(f"KV_{bucket}" for bucket in buckets)]
    calls = ("STREAM.*", "STREAM.MSG.GET", "DIRECT.GET")
    subscriptions = [f"{name}.>", *(f"$KV.{bucket}.>" for bucket in buckets)]
    erasing = f"$JS.API.STREAM.MSG.DELETE.{layout.originals}"
    api = [f"$O.{name}.>", erasing, *(f"$JS.API.{what}.{stream}" for stream in streams for what in calls)]
    rights = {"publish": [*subscriptions, *api], "subscribe": subscriptions}
    return json.dumps({"user": name, "password": SECRET, "permissions": rights})


async def test_tenants_of_one_account_use_their_own_and_see_nothing_of_each_other(guarded: Guarded) -> None:
    async with (
        open_nats(guarded.address("left", "left")) as left,
        open_nats(guarded.address("right", "right")) as right,
    ):
        for place in (left, right):
            assert await place.journal.append("shared name", [NOTE]) == 1
            await place.journal.append("large", [Entry("note", b"x" * 700_000, 1.0)])
            assert await place.register.create("lease.a", b"1") > 0
            assert await place.journal.delete("large")
        heard: asyncio.Queue[bytes] = asyncio.Queue()
        await right.bus.listen("news", lambda _, data, __: heard.put_nowait(data))
        left.bus.send("news", b"for the left")
        await left.register.get("lease.a")  # behind it on the same connection: what was sent has arrived
        right.bus.send("news", b"for the right")
        assert await heard.get() == b"for the right"
        assert [info.stream for info in (await right.journal.list()).streams] == ["shared name"]


async def test_another_tenants_prefix_is_refused_and_the_refusal_says_so(guarded: Guarded) -> None:
    with pytest.raises(
        JournalError, match=r"this user .* may not use \$JS\.API\.STREAM\.INFO\.KV_right_meta"
    ):
        async with open_nats(guarded.address("left", "right")):
            pass


async def test_a_wrong_password_is_refused_at_once_and_shown_nowhere(
    guarded: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    address = guarded.address("left", "left").replace(SECRET, "not-so-secret")
    with caplog.at_level(logging.DEBUG), pytest.raises(JournalError, match="refuses this user") as refused:
        async with open_nats(address):
            pass
    assert "not-so-secret" not in str(refused.value)
    assert "not-so-secret" not in caplog.text


async def test_a_server_that_another_authority_vouches_for_is_not_trusted(
    guarded: Guarded, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    with pytest.raises(JournalError, match="TLS failed"):
        async with open_nats(guarded.address("left", "left", ca=stranger.ca)):
            pass


async def test_nothing_secret_is_said_to_a_server_without_tls(tmp_path: Path) -> None:
    with started(tmp_path) as plain, pytest.raises(JournalError, match="speaks no TLS"):
        async with open_nats(f"tls://left:{SECRET}@{plain.hosts}/left"):
            pass


async def test_where_no_server_is_it_says_so_in_time() -> None:
    with pytest.raises(JournalError, match="is a server running there") as refused:
        async with open_nats(f"nats://left:{SECRET}@127.0.0.1:9/left?connect_seconds=1"):
            pass
    assert SECRET not in str(refused.value)
