"""Who answers each request of the protocol."""

from __future__ import annotations

from itertools import product

import pytest

from dragoman.schema import waits
from dragoman.schema.method import Method
from dragoman.schema.v1.methods import METHODS as V1
from dragoman.schema.v2.methods import METHODS as V2
from dragoman.schema.waits import AGENT_ANSWERERS, CLIENT_ANSWERERS, PROXY_ANSWERERS, answerer, bound

TABLES = {"agent": AGENT_ANSWERERS, "client": CLIENT_ANSWERERS, "proxy": PROXY_ANSWERERS}
REQUESTS = [method for methods in (V1, V2) for method in methods if method.kind == "request"]


@pytest.mark.parametrize("method", REQUESTS, ids=lambda method: f"{method.receiver} {method.name}")
def test_every_request_of_every_version_has_a_row(method: Method) -> None:
    receivers = TABLES if method.receiver == "both" else (method.receiver,)
    for receiver in receivers:
        assert method.name in TABLES[receiver], (
            f"who answers {method.name} at a {receiver}? see schema/waits.py"
        )


def test_no_row_is_for_a_method_that_is_none() -> None:
    known = {(method.receiver, method.name) for method in REQUESTS}
    rows = {(receiver, name) for receiver, table in TABLES.items() for name in table}
    assert {name for _, name in rows - known} == {waits.STEERING, waits.INJECT}


def test_only_a_machine_has_a_deadline() -> None:
    for receiver, seconds in product(("agent", "client"), (30.0, None)):
        for name in TABLES[receiver]:
            is_machine = TABLES[receiver][name] == "machine"
            given = bound(name, seconds, receiver=receiver)  # type: ignore[arg-type]
            assert given == (seconds if is_machine else None)


def test_an_extension_may_be_answered_by_a_person_at_a_client_and_by_a_program_at_an_agent() -> None:
    assert answerer("_house/choose", receiver="client") == "person"
    assert answerer("_house/choose", receiver="agent") == "machine"


def test_a_hub_may_ask_a_person_before_it_opens_a_session() -> None:
    assert bound("session/new", 30.0, receiver="agent", is_hub=True) is None
    assert bound("session/list", 30.0, receiver="agent", is_hub=True) == 30.0
