"""The register and the bus within one process keep every promise, and the check notices those that do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from dragoman_local.journal.shared_state import Bus, Register
from tests.journal.shared_state_checks import check_shared
from tests.journal.shared_state_memory import MemoryNode, SharedMemory


class Node(NamedTuple):
    register: Register
    bus: Bus


class Together:
    """Nodes of the same word share a memory."""

    def __init__(self, kind: type[MemoryNode] = MemoryNode) -> None:
        self._kind = kind
        self._memories: dict[str, SharedMemory] = {}

    @asynccontextmanager
    async def node(self, word: str) -> AsyncIterator[Node]:
        memory = self._memories.setdefault(word, SharedMemory())
        made = self._kind(memory)
        memory.nodes.append(made)
        yield Node(made, made)


async def test_what_nodes_share_in_memory_keeps_its_promises() -> None:
    await check_shared(Together().node)


class Careless(MemoryNode):
    async def update(self, key: str, value: bytes, revision: int) -> int:
        return self._memory.put(key, value)


class Deaf(MemoryNode):
    def send(self, subject: str, data: bytes) -> None:
        if data != b"7":
            super().send(subject, data)


@pytest.mark.bound(60)
@pytest.mark.parametrize(("kind", "broken"), [(Careless, "older revision"), (Deaf, "arrives in order")])
async def test_a_node_that_breaks_a_promise_is_told_which(
    kind: type[MemoryNode], broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.journal.shared_state_checks.BOUND", 0.5)
    with pytest.raises(AssertionError, match=broken):
        await check_shared(Together(kind).node)
