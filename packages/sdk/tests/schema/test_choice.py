"""Unions without one deciding tag: the tag is looked at before the shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.schema import SchemaError, Unknown, examine, read, v1, v2, write
from tests.every import every

STDIO: dict[str, Any] = {"name": "n", "command": "/bin/x", "args": [], "env": []}
HTTP: dict[str, Any] = {"type": "http", "name": "n", "url": "https://x.org", "headers": []}


def servers(*entries: Any) -> bytes:
    return json.dumps({"cwd": "/", "mcpServers": entries}).encode()


def test_the_tag_decides_which_server_it_is() -> None:
    message = read(servers(STDIO, HTTP, {**HTTP, "type": "sse"}), v1.NewSessionRequest)
    assert [type(server) for server in message.mcp_servers] == [
        v1.McpServerStdio,
        v1.McpServerHttp,
        v1.McpServerSse,
    ]
    assert json.loads(write(message))["mcpServers"] == [STDIO, HTTP, {**HTTP, "type": "sse"}]


def test_a_stdio_server_that_says_so_is_one_and_keeps_saying_it() -> None:
    said = {**STDIO, "type": "stdio"}
    message = read(servers(said), v1.NewSessionRequest)
    assert isinstance(message.mcp_servers[0], v1.McpServerStdio)
    assert json.loads(write(message))["mcpServers"] == [said]


@every("tag", ["ws", "HTTP", "stdio ", "", None, 1, ["stdio"], {"type": "stdio"}])
def test_an_entry_of_another_kind_never_starts_a_process(tag: Any) -> None:
    with pytest.raises(SchemaError, match=r"\$\.mcpServers\[0\]"):
        read(servers({**STDIO, "type": tag}), v1.NewSessionRequest)


def test_an_http_entry_that_lacks_its_url_is_no_stdio_entry() -> None:
    with pytest.raises(SchemaError, match=r"\$\.mcpServers\[0\].url: is missing"):
        read(servers({**STDIO, "type": "http", "headers": []}), v1.NewSessionRequest)


def test_login_methods_of_other_kinds_vanish_instead_of_passing_for_the_agents_own() -> None:
    methods = [
        {"id": "a", "name": "A"},
        {"id": "b", "name": "B", "type": "env_var"},
        {"id": "c", "name": "C", "type": "terminal"},
    ]
    raw = json.dumps({"protocolVersion": 1, "authMethods": methods}).encode()
    message, deviations = examine(raw, v1.InitializeResponse)
    assert message.auth_methods == [
        v1.AuthMethodAgent(id="a", name="A"),
        v1.AuthMethodTerminal(id="c", name="C"),
    ]
    assert deviations == [("$.authMethods[1]", "bad item", "")]


def test_in_v2_an_unknown_server_is_kept_but_is_no_known_one() -> None:
    message = read(servers({**STDIO, "type": "ws"}), v2.NewSessionRequest)
    assert isinstance(message.mcp_servers, list)
    assert isinstance(message.mcp_servers[0], Unknown)
    with pytest.raises(SchemaError, match="type: is missing"):
        read(servers(STDIO), v2.NewSessionRequest)


@pytest.mark.parametrize("extra", [{}, {"type": "id"}, {"type": "_slider"}])
def test_a_string_value_is_a_value_id_whatever_the_type_says(extra: dict[str, str]) -> None:
    whole = {"sessionId": "s", "configId": "c", "value": "v", **extra}
    message = read(json.dumps(whole).encode(), v1.SetSessionConfigOptionRequest)
    assert isinstance(message, v1.SetSessionConfigValueRequest)
    assert message.value == "v"
    assert json.loads(write(message)) == whole


def test_a_boolean_value_needs_its_type() -> None:
    whole = {"sessionId": "s", "configId": "c", "value": True}
    with pytest.raises(SchemaError, match="value: expected string, got boolean"):
        read(json.dumps(whole).encode(), v1.SetSessionConfigOptionRequest)
    message = read(json.dumps({**whole, "type": "boolean"}).encode(), v1.SetSessionConfigOptionRequest)
    assert message == v1.SetSessionConfigBooleanRequest(session_id="s", config_id="c", value=True)


def test_resources_are_told_apart_by_what_they_hold() -> None:
    text = read(b'{"type":"resource","resource":{"uri":"u","text":"t"}}', v1.ContentBlock)
    blob = read(b'{"type":"resource","resource":{"uri":"u","blob":"YQ=="}}', v1.ContentBlock)
    assert text.resource == v1.TextResourceContents(uri="u", text="t")
    assert blob.resource == v1.BlobResourceContents(uri="u", blob="YQ==")
    with pytest.raises(SchemaError, match=r"\$.resource: needs text or blob"):
        read(b'{"type":"resource","resource":{"uri":"u"}}', v1.ContentBlock)
    with pytest.raises(SchemaError, match=r"\$.resource: expected object, got string"):
        read(b'{"type":"resource","resource":"u"}', v1.ContentBlock)


def test_options_are_flat_or_grouped_but_never_both() -> None:
    def select(options: Any) -> bytes:
        return json.dumps(
            {"type": "select", "id": "i", "name": "n", "currentValue": "a", "options": options}
        ).encode()

    flat = {"value": "a", "name": "A"}
    group = {"group": "g", "name": "G", "options": [flat]}
    assert read(select([flat]), v1.SessionConfigOption).options == [
        v1.SessionConfigSelectOption(value="a", name="A")
    ]
    assert isinstance(read(select([group]), v1.SessionConfigOption).options[0], v1.SessionConfigSelectGroup)
    assert read(select([]), v1.SessionConfigOption).options == []
    wrong: list[Any] = [[flat, group], [group, flat], [{"name": "A"}], [1], "a", {}]
    for mixed in wrong:
        with pytest.raises(SchemaError, match=r"\$.options"):
            read(select(mixed), v1.SessionConfigOption)


def test_leniency_works_inside_a_choice() -> None:
    raw = b'{"type":"resource","resource":{"uri":"u","text":"t","mimeType":7,"new":1}}'
    message, deviations = examine(raw, v1.ContentBlock)
    assert message.resource.text == "t"
    assert {deviation.kind for deviation in deviations} == {"bad value", "unknown field"}


@pytest.mark.parametrize("version", [v1, v2])
def test_items_of_an_unknown_type_are_kept_and_those_without_type_are_titled(version: Any) -> None:
    assert isinstance(read(b'{"type":"_x","anyOf":[]}', version.MultiSelectItems), Unknown)
    titled = read(b'{"anyOf":[{"const":"c","title":"t"}]}', version.MultiSelectItems)
    assert isinstance(titled, version.TitledMultiSelectItems)
