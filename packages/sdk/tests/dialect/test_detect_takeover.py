"""An edge that takes over in the middle, and gives requests other ids than those under which they went."""

from dragoman.dialect import Edge, EdgeSettings, Ledger, Message, Out
from dragoman.dialect.detect import RenumberedEdge, catch_up
from dragoman.dialect.message import answer, request


class Numbers(Edge):
    """Sends each request of the inside under an id of its own."""

    name = "numbers"

    def __init__(self) -> None:
        super().__init__(EdgeSettings(), Ledger())
        self.ids: dict[object, object] = {}

    def from_inside(self, message: Message) -> list[Out]:
        self.note_repair("an id", "made another")
        own = f"own-{message.id}"
        self.ids[own] = message.id
        return [("peer", request(own, str(message.method)))]

    def from_peer(self, message: Message) -> list[Out]:
        return [("inside", answer(self.ids.pop(message.id), message.result))]  # type: ignore[arg-type]


def test_an_edge_learns_what_was_said_and_says_nothing() -> None:
    edge = Numbers()
    said = [(False, request(1, "a")), (True, answer(1, {})), (False, request(2, "b"))]
    assert catch_up(edge, said) == {2: "own-2"}
    assert edge.ids == {"own-2": 2}
    assert edge.ledger.entries == []


def test_answers_to_open_requests_are_known_by_the_ids_that_they_have() -> None:
    edge = Numbers()
    renumbered = RenumberedEdge(edge, catch_up(edge, [(False, request(2, "b"))]), peer_answers=True)
    assert renumbered.succeeded_by() is renumbered
    assert renumbered.from_peer(answer(2, "done")) == [("inside", answer(2, "done"))]
    assert renumbered.succeeded_by() is edge


def test_an_edge_that_keeps_ids_needs_nobody_before_it() -> None:
    assert catch_up(Edge(EdgeSettings(), Ledger()), [(False, request(1, "a"))]) == {}
