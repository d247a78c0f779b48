"""This node's end of all links: numbers the messages that it sends, and detects lost ones.

One subject a node; a link's words arrive there in the order of their sending or not at all. Both ends say now
and then how far they have come, so that a loss is noticed even when nothing follows it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Protocol

from dragoman.runtime.owner import TaskOwner
from dragoman_hub.cluster import link_messages as words
from dragoman_hub.cluster.link_messages import Word
from dragoman_local.journal.shared_state import Bus, Subscription

log = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
SILENT_BEATS = 10
"""The beats without a message after which a link's other end counts as gone."""


class LinkEnd(Protocol):
    """The receiver of a link's messages."""

    def on_word(self, word: Word, /) -> None: ...
    def broken(self, why: str, /) -> None:
        """Read no more messages. Called once, unless we closed it ourselves."""


class NodeLink:
    """One end of a link, made by `Links`."""

    __slots__ = ("_links", "_sent_count", "end", "last_number", "name", "node", "silent")

    def __init__(self, links: Links, name: str, node: str, end: LinkEnd) -> None:
        self.name = name
        self.node = node
        """The node at its other end."""
        self.end = end
        self.last_number = 0  # the number of the last word
        self.silent = 0  # beats since anything was heard
        self._sent_count = 0
        self._links = links

    def say(self, kind: int, *, session: str = "", position: str = "", payload: bytes = b"") -> None:
        self._sent_count += 1
        switch = self._links
        switch.send(
            self.node, Word(self.name, switch.node, kind, self._sent_count, session, position, payload)
        )

    def beat(self) -> None:
        self._links.send(self.node, Word(self.name, self._links.node, words.BEAT, self._sent_count))

    def close(self, why: str = "") -> None:
        """Close the link, with a message to the other end. A second call has no effect."""
        if self._links.forget(self):
            self._links.say_close(self.node, self.name, why)


class Links:
    """All links of this node. `on_opened` gets links from other nodes, and returns their end here; None
    refuses.
    """

    def __init__(
        self, bus: Bus, node: str, life: str, *, on_opened: Callable[[NodeLink, Word], LinkEnd | None]
    ) -> None:
        self._bus = bus
        self.node = node
        self._life = life
        self._on_opened = on_opened
        self._links: dict[str, NodeLink] = {}
        self._numbers = itertools.count(1)
        self._owner: TaskOwner | None = None
        self._listening: Subscription | None = None

    async def start(self) -> None:
        self._listening = await self._bus.listen(f"n.{self.node}", self._hear)
        self._owner = TaskOwner("cluster switch")
        self._owner.start(self._beat())

    def greet(self, node: str) -> None:
        """Announce this node, which knows no links of its earlier process. Without it, the other node would
        notice only at the next beat, and clients would wait.
        """
        self.send(node, Word("", self.node, words.HELLO, 0))

    async def aclose(self) -> None:
        for link in list(self._links.values()):
            link.close("the node is leaving")
        if self._owner is not None:
            await self._owner.aclose()
        if self._listening is not None:
            await self._listening.aclose()

    def open(self, node: str, end: LinkEnd) -> NodeLink:
        """Open a link of this node; the caller sends its first message."""
        link = NodeLink(self, f"{self._life}-{next(self._numbers)}", node, end)
        self._links[link.name] = link
        return link

    def forget(self, link: NodeLink) -> bool:
        return self._links.pop(link.name, None) is not None

    def send(self, node: str, word: Word) -> None:
        self._bus.send(f"n.{node}", words.encode(word))

    def lost_node(self, node: str) -> None:
        """Drop the links to a node that is gone or starts again."""
        for link in [link for link in self._links.values() if link.node == node]:
            self._break(link, f"node {node} is gone, or begins anew")

    def lose_all(self) -> None:
        """Drop all links: we are cut off, or must not act any more."""
        for link in list(self._links.values()):
            self._break(link, "this node has lost its lease")

    # Inside.

    def _hear(self, subject: str, data: bytes, answer: str) -> None:
        word = words.decode(data)
        if word is None:
            log.warning("a message of another node cannot be read (%d bytes)", len(data))
            return
        if word.kind == words.HELLO:
            self.lost_node(word.sender)
            return
        link = self._links.get(word.link)
        if link is None:
            self._welcome(word)
            return
        link.silent = 0
        if word.kind == words.CLOSE:
            self._break(link, word.payload.decode(errors="replace"))
        elif word.kind == words.BEAT:
            if word.number != link.last_number:
                self._fail(link)
        elif word.number != link.last_number + 1:
            self._fail(link)
        else:
            link.last_number = word.number
            link.end.on_word(word)

    def _welcome(self, word: Word) -> None:
        """A word on a link that we do not have."""
        if word.kind == words.CLOSE:
            return
        if word.kind != words.OPEN or word.number != 1:  # it was opened with a life of ours before this one
            self.say_close(word.sender, word.link, "the link is not known here")
            return
        link = NodeLink(self, word.link, word.sender, _NoEnd())
        link.last_number = 1
        self._links[link.name] = link
        end = self._on_opened(link, word)
        if end is None:
            link.close("this node takes no guests now")
        else:
            link.end = end

    def say_close(self, node: str, link: str, why: str) -> None:
        self.send(node, Word(link, self.node, words.CLOSE, 0, payload=why.encode()))

    def _fail(self, link: NodeLink) -> None:
        log.info("a link to node %s has lost messages", link.node)
        link.close("messages were lost")
        link.end.broken("messages were lost")

    def _break(self, link: NodeLink, why: str) -> None:
        if self.forget(link):
            link.end.broken(why)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for link in list(self._links.values()):
                link.silent += 1
                if link.silent > SILENT_BEATS:
                    self._fail(link)
                else:
                    link.beat()


class _NoEnd:
    def on_word(self, word: Word, /) -> None:
        pass

    def broken(self, why: str, /) -> None:
        pass
