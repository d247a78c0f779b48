"""Chooses a node for a session without an owner: a suitable one with little load. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from dragoman_hub.cluster.membership import Node


def can_have(node: Node, agent: str, cwd: str, needs: Iterable[str] = ()) -> bool:
    """Whether the node offers the agent, meets its requirements, and may use the folder."""
    is_offered = not agent or agent in node.agents
    return is_offered and set(needs) <= set(node.labels) and (not node.roots or _has_root(node.roots, cwd))


def _has_root(roots: Sequence[str], cwd: str) -> bool:
    return not cwd or any(cwd == root or cwd.startswith(root.rstrip("/") + "/") for root in roots)


def place(
    nodes: Sequence[Node], *, agent: str, cwd: str, needs: Iterable[str] = (), home: str = ""
) -> Node | None:
    """The node with the fewest running turns and open sessions; among equals the client's own."""
    needs = tuple(needs)
    able = [node for node in nodes if node.state == "alive" and can_have(node, agent, cwd, needs)]
    if not able:
        return None
    return min(able, key=lambda one: (one.busy, one.sessions, one.name != home, one.name))


def heir(nodes: Sequence[Node], session: str, able: Iterable[str] = ()) -> str | None:
    """The node that takes over a dead node's session: all nodes compute the same one, and different ones
    for different sessions.
    """
    able_names = set(able)
    names = [
        node.name for node in nodes if node.state == "alive" and (not able_names or node.name in able_names)
    ]
    return max(names, key=lambda name: _weight(name, session), default=None)


def _weight(name: str, session: str) -> bytes:
    return hashlib.blake2b(f"{name}\0{session}".encode(), digest_size=8).digest()
