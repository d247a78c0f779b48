"""The gate: every method, every scope, inside and outside of a token's folders, generated from its table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.schema.v1.methods import METHODS as PROTOCOL
from dragoman.transport.memory import memory_pair
from dragoman_hub.api.history_api import METHODS as HISTORY_METHODS
from dragoman_hub.api.history_api import HistoryApi, HistoryDoor
from dragoman_hub.clients.methods import OF_AGENT
from dragoman_hub.gate.admission import Grant, Scope
from dragoman_hub.gate.table import (
    AGENT_EXTENSION,
    FORBIDDEN,
    HISTORY,
    HUB,
    NOTIFICATIONS,
    REQUESTS,
    SESSION_EXTENSION,
    GateRow,
    Place,
    _file,
    check,
)
from tests.every import every
from tests.house import COUNTED
from tests.hub.clients.test_methods import SCOPES
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Stage, Talker, staged

PAGE = Path(__file__).parents[5] / "docs" / "hub-protocol.md"
ALL: tuple[Scope, ...] = get_args(Scope)
ROWS = {
    **{(name, True): row for name, row in REQUESTS.items()},
    **{(name, False): row for name, row in NOTIFICATIONS.items()},
    ("_vendor/session", True): SESSION_EXTENSION,
    ("vendor/unknown", True): SESSION_EXTENSION,
    ("_vendor/session", False): SESSION_EXTENSION,
    ("_vendor/agent", True): AGENT_EXTENSION,
    # In version 1 these are unknown words, which an agent might know.
    **{(name, True): SESSION_EXTENSION for name in HISTORY},
}


def raw(params: dict[str, Any]) -> dict[str, Raw]:
    return {name: Raw(msgspec.json.encode(value)) for name, value in params.items()}


def naming(kind: Place, path: str) -> Any:
    """A value of a parameter that names a place in this way."""
    return {
        "folder": path,
        "folders": [path],
        "servers": [{"name": "s", "command": f"{path}/server", "args": [], "env": []}],
        "blocks": [{"type": "resource_link", "name": "x", "uri": f"file://{path}/x.py"}],
        "anything": {"deep": [{"filePath": f"{path}/x.py"}]},
    }[kind]


def params_of(method: str, row: GateRow, paths: dict[str, str]) -> dict[str, Raw]:
    named = {name or "extra": naming(kind, paths[name]) for name, kind in row.places}
    about = {} if row is AGENT_EXTENSION else {"sessionId": "s"}
    return raw({**about, **named})


def may_pass(grant: Grant, method: str, params: dict[str, Raw], *, is_request: bool) -> bool:
    try:
        check(grant, method, params, agent="one", is_request=is_request)
    except ErrorAnswer as error:
        if error.code != FORBIDDEN:
            raise
        return False
    return True


def cells() -> Iterator[tuple[str, bool, GateRow, frozenset[Scope], dict[str, str]]]:
    """Every method × every set of scopes × each of its places inside or outside."""
    sets = [frozenset(chosen) for size in range(len(ALL) + 1) for chosen in combinations(ALL, size)]
    for (method, is_request), row in ROWS.items():
        names = [name for name, _ in row.places]
        for scopes in sets:
            yield method, is_request, row, scopes, dict.fromkeys(names, "/in")
            for outside in names:
                yield method, is_request, row, scopes, {**dict.fromkeys(names, "/in"), outside: "/out"}


def includes(scopes: frozenset[Scope]) -> set[Scope]:
    return set(scopes) | ({"observe"} if scopes & {"prompt", "admin"} else set())


def test_every_cell_of_the_table_is_as_its_row_says(record_property: Callable[[str, object], None]) -> None:
    count = 0
    for method, is_request, row, scopes, paths in cells():
        grant = Grant("g", scopes, roots=("/in",))
        allowed = not row.scopes or bool(includes(scopes) & set(row.scopes))
        allowed &= row.besides is None or row.besides in includes(scopes)
        expected = allowed and "/out" not in paths.values()
        params = params_of(method, row, paths)
        assert may_pass(grant, method, params, is_request=is_request) is expected, (method, scopes, paths)
        count += 1
    record_property(COUNTED, f"gate as values: {count} cells of methods × scopes × places")
    assert count > 16 * len(ROWS)


@pytest.mark.parametrize("method", [name for name, row in REQUESTS.items() if row.names_agent])
def test_a_token_for_some_agents_names_no_other(method: str) -> None:
    """The names are written down here once more: each of these methods does something with an agent."""
    row = REQUESTS[method]
    grant = Grant("limited", agents=("one",))
    for agent in ("two", "one"):
        named = {row.agent_param: agent} if row.agent_param else {"_meta": {"dragoman": {"agent": agent}}}
        params = raw({**named, "": "one"})
        assert may_pass(grant, method, params, is_request=True) is (agent == "one")
        if agent == "one":
            assert check(grant, method, params, agent="two").agent == "one", "what was judged is passed on"


def test_a_method_that_names_no_agent_is_not_judged_by_the_clients() -> None:
    grant = Grant("limited", agents=("one",))
    for method in ("session/list", "session/prompt"):
        assert check(grant, method, {}, agent="two").agent == "two"


@every(
    ("value", "expected"),
    [
        ("https://example.org/a/../b", True),
        ("src/a.py", True),
        ("x://../../../etc/passwd", False),
        ("/out/x://y", False),
        ("src/../../out", False),
        ("file:///out", False),
    ],
)
def test_no_spelling_of_a_place_leaves_the_folders(value: str, *, expected: bool) -> None:
    params = raw({"sessionId": "s", "deep": {"filePath": value}})
    assert may_pass(Grant("g", roots=("/in",)), "_theirs/act", params, is_request=True) is expected


def test_every_method_that_names_an_agent_is_judged_by_it() -> None:
    named = {name for name, row in REQUESTS.items() if row.names_agent}
    assert named == {
        *("initialize", "authenticate", "logout", "auth/status", "providers/list", "providers/set"),
        *("providers/disable", "session/new"),
        *(f"{HUB}agents/{act}" for act in ("check", "install", "uninstall")),
        f"{HUB}handover",
    }


def test_scopes_are_those_that_were_written_down_twice() -> None:
    """The second time by hand, so that a slip in the table is seen."""
    for method, scope in SCOPES.items():
        row = REQUESTS.get(method, AGENT_EXTENSION)
        assert scope in row.scopes, method


def test_the_page_names_each_method_of_the_hub_with_its_scopes() -> None:
    cells = (line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith(f"| `{HUB}"))
    promised = {words[0].strip("| `"): words[-1] for words in cells}
    rows = {name: " or ".join(row.scopes) for name, row in REQUESTS.items() if name.startswith(HUB)}
    assert sorted(promised) == sorted(rows), f"the table of methods in {PAGE} and the gate's differ"
    # What else a method asks for follows behind a comma.
    scopes = {name: text.removesuffix(" |").partition(",")[0] for name, text in promised.items()}
    assert scopes == rows, f"the last column in {PAGE} names other scopes than the gate's table"


async def test_every_handler_has_a_row_and_every_row_a_handler() -> None:
    async with staged({"one": obedient}) as stage:
        handled = {f"{HUB}{name}" for name in stage.hub.methods._ours._handlers}
        handled |= stage.hub.methods._handlers.keys() | OF_AGENT | {"session/prompt"}
    assert handled == REQUESTS.keys(), "REQUESTS of gate/table.py and handlers of hub/clients differ"
    assert HISTORY.keys() == HISTORY_METHODS


def test_places_go_on_as_they_were_read_and_a_prompt_as_it_was_said() -> None:
    servers, prompt = {"mcpServers": Raw(b"[ ]")}, {"prompt": Raw(b"[ ]")}
    assert bytes(check(Grant("owner"), "session/new", servers)["mcpServers"]) == b"[]"
    assert bytes(check(Grant("owner"), "session/prompt", prompt)["prompt"]) == b"[ ]"


@pytest.mark.parametrize(
    "method", ["fs/read_text_file", f"{HUB}later", "nonsense", "session", "", "initialised", *HISTORY]
)
def test_what_no_row_covers_is_refused(method: str) -> None:
    with pytest.raises(ErrorAnswer, match="Method not found"):
        check(Grant("owner"), method, {})


NAMES = st.sampled_from(["cwd", "path", "filePath", "file", "directories", "rootUri", "folder", "outputDir"])
NESTED = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(NAMES, NESTED, st.integers(0, 4), st.sampled_from(["/etc/passwd", "../../x", "file:///etc/passwd"]))
def test_a_place_in_an_extension_is_found_however_deep_it_is(
    name: str, beside: Any, depth: int, path: str
) -> None:
    value: Any = {name: path, "beside": beside}
    for _ in range(depth):
        value = [{"in": value}]
    grant = Grant("g", roots=("/in",))
    assert not may_pass(grant, "_x/y", raw({"sessionId": "s", "v": value}), is_request=True)


@pytest.mark.parametrize(
    "params",
    [
        {"text": "/explain this"},
        {"path": "src/main.py"},
        {"url": "https://example.org/a"},
        {"file": "/in/a/b.py"},
        {"uri": "file:///in/a%20b.py"},
        {"_meta": {"path": "/etc"}},
    ],
)
def test_an_extension_that_names_no_foreign_place_goes_on(params: dict[str, Any]) -> None:
    grant = Grant("g", roots=("/in",))
    assert may_pass(grant, "_x/y", raw({"sessionId": "s", **params}), is_request=True)


@pytest.mark.parametrize("uri", ["file:///out/x", "FILE:///out/x", "file:/out/x", "file://host/in/x"])
def test_files_that_a_prompt_links_to_are_places(uri: str) -> None:
    prompt = [{"type": "text", "text": "look"}, {"type": "resource_link", "name": "x", "uri": uri}]
    grant = Grant("g", roots=("/in",))
    assert not may_pass(grant, "session/prompt", raw({"sessionId": "s", "prompt": prompt}), is_request=True)


@every(
    ("uri", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("FILE:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file://localhost/a/b", "/a/b"),
        ("file://other/a/b", "//"),
        ("file://other", "//"),
        ("file://", "/"),
        ("file:", "/"),
        ("file:///a%20b?c=d#e", "/a b"),
        ("file:///a#b?c", "/a"),
        ("file:///a%23b", "/a#b"),
        ("https://a/b", ""),
        ("files:///a", ""),
        ("", ""),
    ],
)
def test_an_address_of_a_file_is_a_path_here_or_a_place_of_nobody(uri: str, path: str) -> None:
    assert _file(uri) == path


def test_an_mcp_server_of_the_search_path_lies_in_no_folder_of_a_token() -> None:
    server = {"name": "s", "command": "npx", "args": [], "env": []}
    remote = {"type": "http", "name": "h", "url": "https://example.org/mcp", "headers": []}
    grant = Grant("g", roots=("/in",))
    for servers, expected in (([server], False), ([remote], True)):
        params = raw({"cwd": "/in", "mcpServers": servers})
        assert may_pass(grant, "session/new", params, is_request=True) is expected
        assert may_pass(Grant("owner"), "session/new", params, is_request=True)


# Through the hub.


def confined(tmp_path: Path) -> tuple[Path, Path, Grant]:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    return inside, outside, Grant("guest", roots=(str(inside),))


async def test_a_fork_into_a_foreign_folder_is_refused_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    inside, outside, grant = confined(tmp_path)
    async with staged({"one": obedient}) as stage:
        client = await stage.client(grant).begin()
        session = await client.new(str(inside))
        for more in ({"cwd": str(outside)}, {"cwd": str(inside), "additionalDirectories": [str(outside)]}):
            refused = await client.refusal("session/fork", {"sessionId": session, "mcpServers": [], **more})
            assert refused["data"] == {"scope": "roots"}
        listed = await client.call("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [session]


async def test_a_load_with_a_foreign_folder_is_refused_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    inside, outside, grant = confined(tmp_path)
    async with staged({"one": obedient}) as stage:
        client = await stage.client(grant).begin()
        params = {"sessionId": "of-the-agent", "cwd": str(inside), "mcpServers": []}
        refused = await client.refusal("session/load", {**params, "additionalDirectories": [str(outside)]})
        assert refused["data"] == {"scope": "roots"}


async def test_history_in_the_thread_protocol_needs_the_scope_too() -> None:
    async with staged({"one": obedient}) as stage:
        owner = await stage.client().begin()
        await owner.new()
        for scopes, refused in (
            (frozenset[Scope]({"approve"}), True),
            (frozenset[Scope]({"observe"}), False),
        ):
            answer = await ask_for_threads(stage, Grant("one", scopes))
            assert ("error" in answer) is refused
            assert ("result" in answer) is not refused


async def ask_for_threads(stage: Stage, grant: Grant) -> dict[str, Any]:
    """The first word of a client of the thread protocol, without any introduction."""
    near, far = memory_pair()
    door = HistoryDoor(far, HistoryApi(stage.journal), stage.hub.owner, grant=grant)
    talker = Talker(near)
    door.start(Silent())
    near.write(b'{"id":1,"method":"getThreads","params":null}\n')
    answer = await talker.until(lambda one: one.get("id") == 1)
    await asyncio.gather(near.aclose(), door.aclose())
    return answer


class Silent:
    """Nobody behind the door."""

    def feed(self, block: bytes) -> None:
        raise AssertionError(block)

    def on_oversized(self, size: int) -> None: ...

    def on_end(self, reason: BaseException | None) -> None: ...


NOT_THROUGH_A_HUB = {"mcp/message"}
"""Servers that live in the client: the hub lends none, and offers none."""


def test_every_method_of_the_protocol_has_a_row() -> None:
    """What an agent may offer, a client may ask: a capability that the hub passes on is not refused here."""
    rows = REQUESTS.keys() | NOTIFICATIONS.keys()
    methods = {method.name for method in PROTOCOL._methods if method.receiver == "agent"}
    assert methods - rows == NOT_THROUGH_A_HUB
