"""A request is said again from where the client stands, and never twice what it has heard."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from dragoman_hub.cluster.pending_requests import PendingRequest, pending_request
from dragoman_hub.engine.ports import Position


def pending(method: str) -> PendingRequest:
    return pending_request(1, method, {"sessionId": Raw(b'"s"')}, session="s", node="a")


def after(frame: bytes) -> object:
    """Where the request asks the node to begin; None for the whole session."""
    params = json.loads(frame)["params"]
    return params.get("after", params.get("_meta", {}).get("dragoman", {}).get("after"))


@pytest.mark.parametrize("method", ["session/load", "session/resume", "_dragoman/hub/attach"])
def test_a_telling_that_broke_off_without_an_answer_goes_on_where_it_stopped(method: str) -> None:
    request = pending(method)
    request.reached = Position(21)
    assert after(request.frame_from(None)) == "21"


def test_a_load_that_has_not_begun_asks_for_everything_wherever_the_client_stands() -> None:
    request = pending("session/load")
    assert after(request.frame_from(Position(21))) is None
    request.is_begun = True
    assert after(request.frame_from(Position(21))) == "21"


def test_what_begins_nowhere_is_said_as_it_was() -> None:
    request = pending("session/prompt")
    assert request.frame_from(Position(21)) == request.frame
