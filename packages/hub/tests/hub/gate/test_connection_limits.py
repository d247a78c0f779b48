"""Which connections are closed when there are too many that showed no token."""

from __future__ import annotations

from dragoman_hub.gate.connection_limits import ConnectionLimits, UnadmittedConnections


class Line:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def added(held: UnadmittedConnections, address: str, count: int) -> list[Line]:
    lines = [Line() for _ in range(count)]
    for line in lines:
        held.add(line, address)
    return lines


def aborted(lines: list[Line]) -> list[int]:
    return [number for number, line in enumerate(lines) if line.aborted]


def test_an_address_that_has_too_many_loses_its_own_oldest() -> None:
    held = UnadmittedConnections(ConnectionLimits(unadmitted=10, unadmitted_per_address=3))
    quiet = added(held, "10.0.0.1", 1)
    loud = added(held, "10.0.0.2", 5)
    assert (aborted(quiet), aborted(loud), len(held)) == ([], [0, 1], 4)


def test_when_there_are_too_many_the_address_that_has_the_most_loses_its_oldest() -> None:
    held = UnadmittedConnections(ConnectionLimits(unadmitted=4, unadmitted_per_address=3))
    quiet = added(held, "10.0.0.1", 1)
    loud = added(held, "10.0.0.2", 3)
    newest = added(held, "10.0.0.3", 1)
    assert (aborted(quiet), aborted(loud), aborted(newest), len(held)) == ([], [0], [], 4)


def test_one_connection_of_each_of_many_addresses_is_closed_in_the_order_of_arrival() -> None:
    held = UnadmittedConnections(ConnectionLimits(unadmitted=3, unadmitted_per_address=3))
    lines = [added(held, f"10.0.0.{number}", 1)[0] for number in range(5)]
    assert aborted(lines) == [0, 1]


def test_an_admitted_connection_is_not_closed() -> None:
    held = UnadmittedConnections(ConnectionLimits(unadmitted=2, unadmitted_per_address=2))
    owner, *_ = added(held, "10.0.0.1", 1)
    held.discard(owner)
    held.discard(owner)  # whoever is admitted and then leaves is discarded twice
    added(held, "10.0.0.1", 5)
    assert (owner.aborted, len(held)) == (False, 2)
    assert (held.close([owner, *held.all()]), owner.aborted, len(held)) == (2, False, 0)
