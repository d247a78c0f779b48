"""The push subscriptions of devices: address, encryption key, and the token that subscribed.

They lie in one file beside the hub's other files, for its owner's eyes, which is replaced as a whole. A token
has a bounded number of them: one more takes the place of its oldest.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman.system.replacement import PRIVATE, replacement_of

log = logging.getLogger(__name__)

OF_ONE_TOKEN = 8
"""The most browsers with one token at once, with a reserve for those that did not unsubscribe."""

MOST = 64


class PushSubscription(Struct, frozen=True, kw_only=True):
    """One browser of one device. Times are seconds since 1970."""

    endpoint: str
    p256dh: str
    auth: str
    owner: str
    """The name of the token."""
    token: str
    """The token of that name: see `Grant.token`."""
    created: float
    answers: bool = False
    """Whether the device shows buttons for permissions."""

    @property
    def id(self) -> str:
        """A name for logs: the endpoint itself is a secret, because it allows sending."""
        return hashlib.sha256(self.endpoint.encode()).hexdigest()[:12]


class _SubscriptionFile(Struct, frozen=True):
    subscriptions: tuple[PushSubscription, ...] = ()
    version: int = 1


class SubscriptionStore:
    """All subscriptions, in memory and in the file."""

    def __init__(self, path: Path) -> None:
        """Raises `LocalMistake` for an unreadable file."""
        self._path = path
        self._all: dict[str, PushSubscription] = {}
        try:
            file = decode_json(path.read_bytes(), _SubscriptionFile)
        except FileNotFoundError:
            return
        except OSError as error:
            raise LocalMistake(f"{path}: cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise LocalMistake(
                f"{path}: is not a file of subscriptions; without it, devices subscribe again"
            ) from None
        self._all = {subscription.endpoint: subscription for subscription in file.subscriptions}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[PushSubscription]:
        return iter(list(self._all.values()))

    def find(self, endpoint: str) -> PushSubscription | None:
        return self._all.get(endpoint)

    def add(self, subscription: PushSubscription) -> None:
        """Add a subscription. Raises `LocalMistake` if there are too many, or if the file
        can't be written.
        """
        self._all.pop(subscription.endpoint, None)
        devices = [device for device in self._all.values() if device.owner == subscription.owner]
        if len(devices) >= OF_ONE_TOKEN:
            del self._all[min(devices, key=lambda device: device.created).endpoint]
        if len(self._all) >= MOST:
            raise LocalMistake(f"the hub already sends to {MOST} devices; remove one first")
        self._all[subscription.endpoint] = subscription
        self._write()

    def remove(self, endpoint: str) -> bool:
        if self._all.pop(endpoint, None) is None:
            return False
        self._write()
        return True

    def _write(self) -> None:
        data = msgspec.json.encode(_SubscriptionFile(tuple(self._all.values())))
        try:
            with replacement_of(self._path, mode=PRIVATE) as copy:
                copy.write_bytes(data)
        except OSError as error:
            raise LocalMistake(f"{self._path}: cannot be written: {error.strerror}") from None
