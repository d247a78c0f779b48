"""The method table of version 1, by who receives what."""

from __future__ import annotations

from dragoman.schema.method import Kind, Method, Receiver
from dragoman.schema.v1.methods import METHODS


def _received(receiver: Receiver, kind: Kind) -> dict[str, Method]:
    return {m.name: m for m in METHODS if m.kind == kind and m.receiver in (receiver, "both")}


AGENT_REQUESTS = _received("agent", "request")
AGENT_NOTIFICATIONS = _received("agent", "notification")
CLIENT_REQUESTS = _received("client", "request")
CLIENT_NOTIFICATIONS = _received("client", "notification")
