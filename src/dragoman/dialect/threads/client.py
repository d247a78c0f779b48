"""A threads client in front of a v1 agent, in whichever direction its methods go."""

from __future__ import annotations

from dragoman.dialect.edge import Edge, Out, Settings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message
from dragoman.dialect.threads.coded_client import CodedClient
from dragoman.dialect.threads.exchange import NAME, ThreadsEdge
from dragoman.dialect.threads.written_client import WrittenClient


class ThreadsClient(Edge):
    """`settings.as_written` chooses the directions that the document prints over those of its code."""

    name = NAME

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        chosen = WrittenClient if settings.as_written else CodedClient
        self._edge: ThreadsEdge = chosen(settings, ledger)

    def from_peer(self, message: Message) -> list[Out]:
        return self._edge.from_peer(message)

    def from_inside(self, message: Message) -> list[Out]:
        return self._edge.from_inside(message)

    def from_host(self, message: Message) -> list[Out]:
        return self._edge.from_host(message)

    def peer_ended(self) -> list[Out]:
        return self._edge.peer_ended()

    def succeeded_by(self) -> Edge:
        return self._edge
