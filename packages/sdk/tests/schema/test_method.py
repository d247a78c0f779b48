"""The method tables: complete by the schema, found by name, kind and receiver."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.schema import v1, v2
from dragoman.schema.v1.methods import METHODS as V1
from dragoman.schema.v2.methods import METHODS as V2

from .published_schemas import definitions, needs_schemas

SIDES = {"both": "protocol"}


@needs_schemas
@pytest.mark.parametrize(("version", "table"), [("v1", V1), ("v2", V2)])
def test_every_method_of_the_schema_is_in_the_table_with_its_types(version: str, table: Any) -> None:
    known, stable = definitions(version), definitions(version, "schema")
    module = {"v1": v1, "v2": v2}[version]
    expected = set()
    for name, schema in known.items():
        if "x-method" in schema and not name.endswith("Response"):
            expected.add((schema["x-method"], name.endswith("Request"), schema["x-side"]))
            kind: Any = "request" if name.endswith("Request") else "notification"
            receiver: Any = {"protocol": "both"}.get(schema["x-side"], schema["x-side"])
            method = table.get(
                schema["x-method"], kind=kind, receiver="agent" if receiver == "both" else receiver
            )
            assert method.params is getattr(module, name)
            assert method.stable == (name in stable)
            if kind == "request":
                assert method.result is getattr(module, name.removesuffix("Request") + "Response")
    found = {
        (method.name, method.kind == "request", SIDES.get(method.receiver, method.receiver))
        for method in table
    }
    assert found == expected
    assert len(table) == len(expected)


def test_the_same_name_may_be_two_methods() -> None:
    request = V1.get("mcp/message", kind="request", receiver="client")
    note = V1.get("mcp/message", kind="notification", receiver="agent")
    assert request is not None
    assert request.params is v1.MessageMcpRequest
    assert note is not None
    assert note.params is v1.MessageMcpNotification
    assert V1.get("mcp/message", kind="request", receiver="agent") is None


def test_methods_of_the_protocol_itself_go_to_everyone() -> None:
    found = {
        V1.get("$/cancel_request", kind="notification", receiver=side)
        for side in ("agent", "client", "proxy")
    }
    (method,) = found
    assert method is not None
    assert (method.receiver, method.kind, method.preempts) == ("both", "notification", True)
    assert method.params is v1.CancelRequestNotification


@pytest.mark.parametrize("table", [V1, V2])
def test_only_cancels_overtake(table: Any) -> None:
    assert {method.name for method in table if method.preempts} == {"session/cancel", "$/cancel_request"}


@pytest.mark.parametrize("table", [V1, V2])
def test_what_is_about_a_session_says_so(table: Any) -> None:
    scoped = {method.name for method in table if method.session_scoped}
    assert {
        "session/prompt",
        "session/update",
        "session/cancel",
        "session/request_permission",
        "elicitation/create",
    } <= scoped
    assert not scoped & {
        "initialize",
        "session/new",
        "session/list",
        "$/cancel_request",
        "proxy/successor",
        "mcp/message",
    }


CAPABILITIES = {
    ("v1", "agent"): v1.AgentCapabilities,
    ("v1", "client"): v1.ClientCapabilities,
    ("v2", "agent"): v2.AgentCapabilities,
    ("v2", "client"): v2.ClientCapabilities,
}


@needs_schemas
@pytest.mark.parametrize(("version", "table"), [("v1", V1), ("v2", V2)])
def test_every_capability_path_exists_in_what_the_receiver_advertises(version: str, table: Any) -> None:
    known = definitions(version)
    gated = [method for method in table if method.capability]
    assert gated
    for method in gated:
        schema = known["AgentCapabilities" if method.receiver == "agent" else "ClientCapabilities"]
        for step in method.capability.split("."):
            field = schema["properties"][step]
            refs = [
                part["$ref"] for part in (*field.get("anyOf", ()), *field.get("allOf", ())) if "$ref" in part
            ]
            schema = known[refs[0].rpartition("/")[2]] if refs else {}
