"""Clients of version 1 that the hub interprets: for their quirks, or for the words that they look for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman_hub.api.app import is_plain

LENDS = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


def first(**params: Any) -> bytes:
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1, **params}}
    return json.dumps(frame).encode()


@pytest.mark.parametrize(
    ("frame", "plain"),
    [
        (first(clientCapabilities=LENDS, clientInfo={"name": "zed", "version": "1"}), True),
        (first(clientCapabilities=LENDS, clientInfo={"name": "toad", "version": "0.6"}), False),
        (first(clientCapabilities=LENDS), False),
        (first(clientCapabilities={}), True),
    ],
)
def test_a_client_is_spoken_to_directly_unless_it_has_quirks_or_may_be_of_koog(
    frame: bytes, plain: bool
) -> None:
    assert is_plain(frame) is plain
