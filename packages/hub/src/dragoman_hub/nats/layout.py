"""The layout below a prefix: the names, subjects and settings of our JetStream streams.

| JetStream stream | subjects | what |
|---|---|---|
| `PREFIX_j0` … | `PREFIX.j.0.TOKEN` … | records: one message for each append |
| `KV_PREFIX_meta` | `$KV.PREFIX_meta.TOKEN` | what is known about each stream |
| `KV_PREFIX_register` | `$KV.PREFIX_register.KEY` | the register |
| `KV_PREFIX_keys` | `$KV.PREFIX_keys.TOKEN.LIFE.HASH` | idempotency keys (see `key_index`) |
| `PREFIX_o` | `PREFIX.o.TOKEN.SEQUENCE` | originals of pending entries (see `originals`) |
| `OBJ_PREFIX` | `$O.PREFIX.C.TOKEN.ID` | records that are too large for a message, in chunks |
| – | `PREFIX.b.SUBJECT` | the bus, and where answers go |

A stream's name may be any text, so its token is a hash of it; the name itself is in its first record and in
what is known about it.
"""

from __future__ import annotations

from base64 import b32hexencode
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from dragoman_hub.nats.options import NatsOptions

DUPLICATES_SECONDS = 120
ORIGINALS_SECONDS = 30 * 86400
"""The seconds after which an original is deleted automatically, even without a hub."""

MARKER_SECONDS = 3600
"""The seconds for which the mark of a deleted key is kept, so that watchers see it."""


@lru_cache(maxsize=16_384)
def token_of(stream: str) -> str:
    """Return 32 characters that replace a name."""
    digest = blake2b(stream.encode(errors="replace"), digest_size=20).digest()
    return b32hexencode(digest).decode().lower()


def number_of(token: str) -> int:
    """Return a number that orders streams which were changed at the same time."""
    return int(token[:12], 32)


class Layout:
    """The names of everything below one prefix."""

    def __init__(self, prefix: str, *, shards: int) -> None:
        self.prefix = prefix
        self.shards = shards
        self.objects = f"OBJ_{prefix}"
        self.originals = f"{prefix}_o"
        self.keeps_all = True
        """Whether no record goes by its age."""

    def shard_of(self, token: str) -> int:
        return int(token[-6:], 32) % self.shards

    def shard(self, number: int) -> str:
        return f"{self.prefix}_j{number}"

    def stream_of(self, token: str) -> str:
        """Return the JetStream stream for a stream's records."""
        return self.shard(self.shard_of(token))

    def subject_of(self, token: str) -> str:
        return f"{self.prefix}.j.{self.shard_of(token)}.{token}"

    def chunks_of(self, token: str, object_id: str) -> str:
        return f"$O.{self.prefix}.C.{token}.{object_id}"

    def original_of(self, token: str, sequence: int | str = "") -> str:
        """Return the subject of one original, or of many."""
        return f"{self.prefix}.o.{token}" + (f".{sequence}" if sequence else "")

    def bus(self, subject: str) -> str:
        return f"{self.prefix}.b.{subject}"

    @property
    def inbox(self) -> str:
        return f"{self.prefix}.b._i"


def meta_bucket(prefix: str) -> str:
    return f"{prefix}_meta"


def register_bucket(prefix: str) -> str:
    return f"{prefix}_register"


def keys_bucket(prefix: str) -> str:
    return f"{prefix}_keys"


def settings_of(layout: Layout, options: NatsOptions, *, replicas: int) -> list[dict[str, Any]]:
    """Return the settings of each stream."""
    shards = [
        {
            **_common(layout.shard(number), f"{layout.prefix}.j.{number}.>", replicas),
            "max_age": int(options.max_age * 1e9),
            "max_bytes": options.max_bytes or -1,
        }
        for number in range(layout.shards)
    ]
    objects = {
        **_common(layout.objects, f"$O.{layout.prefix}.C.>", replicas),
        "max_age": int(options.max_age * 1e9),
    }
    keys = {
        **bucket_settings(keys_bucket(layout.prefix), replicas),
        "max_age": int(options.max_age * 1e9),
    }
    return [*shards, objects, keys, bucket_settings(register_bucket(layout.prefix), replicas)]


def originals_settings(layout: Layout, *, replicas: int) -> dict[str, Any]:
    common = _common(layout.originals, f"{layout.prefix}.o.>", replicas)
    return {**common, "max_age": ORIGINALS_SECONDS * 10**9}


def chosen_settings(options: NatsOptions) -> frozenset[str]:
    """Return the settings that the options choose explicitly."""
    values = {
        "num_replicas": options.replicas,
        "max_age": options.max_age,
        "max_bytes": options.max_bytes,
    }
    return frozenset(name for name, value in values.items() if value)


def bucket_settings(bucket: str, replicas: int) -> dict[str, Any]:
    """Return the settings of a key-value bucket in NATS's own format, with one value for each key."""
    return {
        **_common(f"KV_{bucket}", f"$KV.{bucket}.>", replicas),
        "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_msg_ttl": True,
    }


def _common(name: str, subject: str, replicas: int) -> dict[str, Any]:
    return {
        "name": name,
        "subjects": [subject],
        "retention": "limits",
        "storage": "file",
        "discard": "new",  # what does not fit is refused: nothing that was acknowledged makes room
        "num_replicas": replicas,
        "allow_direct": True,
        "duplicate_window": DUPLICATES_SECONDS * 10**9,
    }
