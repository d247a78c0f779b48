"""Creates a notifier from the hub's settings, or returns the reason if that is impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dragoman_hub.gate.admission import Grant
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.push.subscriptions import SubscriptionStore

MISSING = "the hub lacks the package cryptography: run pip install dragoman on its machine, and restart it"


def open_push(
    folder: Path,
    *,
    grant_of: Callable[[str], Grant | None],
    contact: str = "",
    hosts: Iterable[str] = (),
    may_be_private: bool = False,
) -> PushNotifier | str:
    """Open the key and the subscriptions in `folder`; return a text if a package is missing. Raises
    `LocalMistake`.
    """
    try:
        from dragoman_hub.push.encryption import VapidKey  # needs cryptography
    except ImportError:
        return MISSING
    return PushNotifier(
        SubscriptionStore(folder / "push.json"),
        VapidKey.open(folder / "vapid.pem", contact=contact or _contact_of(hosts)),
        grant_of=grant_of,
        may_be_private=may_be_private,
    )


def _contact_of(hosts: Iterable[str]) -> str:
    """Services want to know whom to turn to: the hub's own address, if it has a name."""
    for host in hosts:
        name = host.partition(":")[0]
        if "." in name and not name.replace(".", "").isdigit():
            return f"https://{name}/"
    return ""
