"""Who may import whom: the tables of ARCHITECTURE.md, enforced.

The tables are data; changing them takes an ADR. Boxes are in `tests/boxes.py`. A room is a folder below the
package of a box, or a module directly below `dragoman`; `face` stands for `dragoman/__init__.py`, which is
what `from dragoman import Agent` goes through. Imports inside functions and literal `import_module` calls
count: late is not invisible.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.boxes import ROOMS_WITHIN, box_of, modules, room_folders
from tests.every import every

LIBRARY = frozenset({"errors", "wire", "schema", "core", "dialect", "transport", "runtime", "sdk"})
LOCAL = frozenset({"system", "secrets", "journal", "sandbox", "workspace", "known"})
# What people outside write against: the face, and the messages and errors its handlers meet.
PUBLIC = frozenset({"face", "schema", "errors"})

MAY_IMPORT: dict[str, frozenset[str]] = {
    "version": frozenset(),
    "errors": frozenset(),
    "decoders": frozenset(),
    "system": frozenset({"errors"}),
    "wire": frozenset({"errors"}),
    "schema": frozenset(),
    "core": frozenset({"errors", "wire"}),
    "dialect": frozenset({"errors", "wire", "schema"}),
    "transport": frozenset({"errors", "wire"}),
    "secrets": frozenset(),
    "journal": frozenset({"errors", "system", "secrets"}),
    "runtime": frozenset({"errors", "wire", "core", "transport"}),
    "text": frozenset({"errors"}),
    "sandbox": frozenset({"errors", "system"}),
    "workspace": frozenset({"errors", "system", "schema", "transport", "text", "secrets", "sandbox"}),
    "interpreter": frozenset({"errors", "wire", "schema", "dialect", "runtime", "journal", "workspace"}),
    "sdk": LIBRARY - {"sdk"} | {"interpreter"},
    "blocking": frozenset({"errors", "runtime", "sdk"}),
    "testing": LIBRARY,
    "known": LIBRARY | {"system", "secrets"},
    "kit": LIBRARY | {"system", "journal", "workspace"},
    "contracts": frozenset({"errors", "wire", "journal", "testing"}),
    "review": frozenset({"errors", "system", "text", "secrets"}),
    "nats": frozenset({"errors", "journal"}),
    "hub": LIBRARY | LOCAL | {"kit", "nats", "review", "text"},
    "remote": LIBRARY | LOCAL | {"hub"},
    "check": frozenset({"errors", "wire", "schema", "transport", "text"}),
    "trace": frozenset({"errors", "wire", "transport", "runtime", "journal", "text", "secrets"}),
    "agents": PUBLIC | {"review", "text"},
    "tui": PUBLIC | {"text"},
    "web": PUBLIC,
    "apps": PUBLIC | LOCAL | {"text", "sdk", "dialect", "tui", "transport", "review", "wire"},
    "cli": PUBLIC
    | LOCAL
    | {"agents", "apps", "web", "transport", "hub", "check", "trace", "testing", "remote"}
    | {"sdk", "kit", "interpreter", "nats", "review", "dialect", "text"},
    "face": LIBRARY | {"kit"},
    "__main__": frozenset({"cli"}),
}

# Rooms of the hub, from the lowest to the highest; a room may import those of lower floors and of none above.
HUB_FLOORS: dict[str, int] = {
    "session": 0,
    "gate": 1,
    "engine": 2,
    "agents": 3,
    "lending": 3,
    "push": 3,
    "clients": 4,
    "judge": 5,
    "cluster": 6,
    "api": 6,
}
HUB_BASE = frozenset({"settings", "log_rate"})  # modules beside the rooms that any of them may import

PURE = ("errors", "wire", "schema", "core", "dialect", "text", "secrets")
FORBIDDEN_IN_PURE = frozenset(
    {"asyncio", "socket", "subprocess", "threading", "time", "random", "os", "logging", "sqlite3"}
)

# Parts of rooms that are pure although their room is not, and all that they may import besides themselves.
PURE_PARTS = {"dragoman_hub.session": frozenset({"errors", "wire", "schema", "decoders"})}

# msgspec is everyone's; each other distribution is imported in one room.
THIRD_PARTY: dict[str, frozenset[str]] = {
    "transport": frozenset({"httpx2", "websockets"}),
    "journal": frozenset({"cryptography", "keyring"}),
    "nats": frozenset({"nats"}),
    "sdk": frozenset({"acp"}),
    "kit": frozenset({"anyio", "mcp", "mcp_types"}),
    "hub": frozenset({"cryptography", "opentelemetry", "uvicorn"}),
    "testing": frozenset({"hypothesis", "pytest"}),
    "review": frozenset({"ast_grep_py"}),
    "agents": frozenset({"pydantic_ai"}),
    "tui": frozenset({"PIL", "textual", "textual_image"}),
    "text": frozenset({"markdown_it"}),
    "cli": frozenset({"segno"}),
}

# Distributions that two rooms import, and why.
IN_TWO_ROOMS = {"cryptography": "docs/adr/0038: both need a cipher, and neither should need the other"}

# Modules of a room that only these rooms may import, because more than the SDK must be installed for them.
RESERVED = {"dragoman.text.markdown": ("text", "tui", "apps")}

# In these two, an import that only a type checker sees is free: they name types of every room in signatures.
TYPING_IS_FREE = frozenset({"sdk", "testing"})


LATE_IMPORTS = 150
"""Import statements inside functions. Each makes a start faster, and hides what its module needs. Code that
needs something heavy goes into a module of its own, which imports at its top and is loaded late in one place.
"""


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    typing_only: bool
    is_late: bool = False
    """Whether it is a statement inside a function."""


class Imports(ast.NodeVisitor):
    """Collects every import of one module, relative ones resolved, with whether only type checkers see it."""

    def __init__(self, package: str, *, has_calls: bool) -> None:
        """`has_calls` if it calls `import_module`: then expressions are visited too, which takes long."""
        self.found: list[Import] = []
        self._package = package
        self._has_calls = has_calls
        self._typing_only = False
        self._in_function = False

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._in_function, before = True, self._in_function
        self.generic_visit(node)
        self._in_function = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def generic_visit(self, node: ast.AST) -> None:
        if self._has_calls:
            super().generic_visit(node)
            return
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            for child in getattr(node, part, ()):
                self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        origin = node.module or ""
        if node.level:
            parents = self._package.split(".")
            kept = parents[: len(parents) - node.level + 1]
            origin = ".".join([*kept, origin] if origin else kept)
        # `from dragoman import wire` enters a room, so the name belongs to the path.
        for alias in node.names:
            self._add(f"{origin}.{alias.name}", node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in ("import_module", "__import__") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                self._add(self._package + first.value if first.value.startswith(".") else first.value, node)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if getattr(node.test, "attr", getattr(node.test, "id", None)) != "TYPE_CHECKING":
            self.generic_visit(node)
            return
        self._typing_only, before = True, self._typing_only
        for child in node.body:
            self.visit(child)
        self._typing_only = before
        for child in node.orelse:
            self.visit(child)

    def _add(self, module: str, node: ast.stmt | ast.expr) -> None:
        is_late = self._in_function and isinstance(node, ast.Import | ast.ImportFrom)
        self.found.append(Import(module, node.lineno, self._typing_only, is_late))


def room_of(module: str) -> str:
    """`dragoman.wire.frame` is in wire; `dragoman` and what it exports is the face."""
    box, parts = box_of(module), module.split(".")
    if box in ROOMS_WITHIN:
        return parts[1] if len(parts) > 1 and parts[1] in ROOMS_WITHIN[box] else box
    name = parts[1] if len(parts) > 1 else "face"
    return name if name in MAY_IMPORT else "face"


def complaints(module: str, source: str, *, is_package: bool = False) -> Iterator[str]:
    """Each import of a module that its room does not allow."""
    room = room_of(module)
    part = next((part for part in PURE_PARTS if f"{module}.".startswith(f"{part}.")), "")
    for found in imports_in(source, module if is_package else module.rpartition(".")[0]):
        why = objection(room, found.module)
        if why is None and part:
            why = objection_of_part(part, found.module)
        if why is not None and not (found.typing_only and room in TYPING_IS_FREE):
            yield f"{module}:{found.line}: {why}"


def objection_of_part(part: str, imported: str) -> str | None:
    top = imported.split(".")[0]
    if box_of(imported) is None:
        return f"{part} is pure and may not import {top}" if top in FORBIDDEN_IN_PURE else None
    if imported.startswith(f"{part}.") or room_of(imported) in PURE_PARTS[part]:
        return None
    return f"{part} may not import {imported}"


def objection(room: str, imported: str) -> str | None:
    top = imported.split(".")[0]
    for module, rooms in RESERVED.items():
        if imported.startswith(module) and room not in rooms:
            return f"{room} may not import {module}"
    if box_of(imported) is not None:
        target = room_of(imported)
        allowed = MAY_IMPORT[room] | {room, "version", "decoders"}
        return None if target in allowed else f"{room} may not import {target}"
    if room in PURE and top in FORBIDDEN_IN_PURE:
        return f"{room} is pure and may not import {top}"
    if top in sys.stdlib_module_names or top == "msgspec" or top in THIRD_PARTY.get(room, ()):
        return None
    return f"{room} may not import {top}, which is not in the standard library"


def hub_objection(module: str, imported: str) -> str | None:
    """Why a module of the hub may not import another one: its room is not below."""
    if not (module.startswith("dragoman_hub.") and imported.startswith("dragoman_hub.")):
        return None
    room, target = module.split(".")[1], imported.split(".")[1]
    if room == target or room not in HUB_FLOORS or target in HUB_BASE or target in ROOMS_WITHIN["hub"]:
        return None
    floor = HUB_FLOORS.get(target, len(HUB_FLOORS))  # whatever is beside the rooms is above them
    return None if floor < HUB_FLOORS[room] else f"hub/{room} may not import hub/{target}"


def imports_in(source: str, package: str) -> list[Import]:
    return read(source, package)[0]


@cache
def read(source: str, package: str) -> tuple[list[Import], int]:
    """The imports of a module and how many statements it has, remembered: reading all modules as Python
    takes seconds.
    """
    visitor = Imports(package, has_calls="import_module" in source or "__import__" in source)
    tree = ast.parse(source)
    visitor.visit(tree)
    return visitor.found, statements(tree)


def statements(tree: ast.AST) -> int:
    """How many it has, without docstrings. They stand in blocks alone: nobody need look through all
    expressions for them.
    """
    found = 0
    left = [tree]
    while left:
        node = left.pop()
        found += isinstance(node, ast.stmt) and not _is_docstring(node)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, None)
            left += inner if isinstance(inner, list) else []
    return found


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def imports_of(module: str, path: Path) -> list[Import]:
    return read(path.read_text("utf-8"), package_of(module, path))[0]


def package_of(module: str, path: Path) -> str:
    """The package that its relative imports begin from."""
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def import_graph() -> dict[str, set[str]]:
    """Which module imports which, imports for type checkers included."""
    known = dict(modules())
    graph: dict[str, set[str]] = {module: set() for module in known}
    for module, path in known.items():
        for found in imports_of(module, path):
            target = found.module
            while target and target not in known:
                target = target.rpartition(".")[0]
            if target and target != module:
                graph[module].add(target)
    return graph


def circles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """Sets of modules that reach each other."""
    core = dict(graph)
    while leaves := [module for module, targets in core.items() if not targets & core.keys()]:
        for module in leaves:  # whoever imports nothing that is left is in no circle
            del core[module]
    core = {module: targets & core.keys() for module, targets in core.items()}
    reached = {module: reachable(core, module) for module in core}
    found = {
        frozenset({module, *(other for other in reached[module] if module in reached[other])})
        for module in core
        if module in reached[module]
    }
    return sorted(found, key=sorted)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        for target in graph[left.pop()] - seen:
            seen.add(target)
            left.append(target)
    return seen


def test_every_import_keeps_to_the_table() -> None:
    found = [
        line
        for module, path in modules()
        for line in complaints(module, path.read_text("utf-8"), is_package=path.name == "__init__.py")
    ]
    assert found == []


def test_no_room_of_the_hub_imports_one_above_it() -> None:
    found = [
        f"{module}:{found.line}: {why}"
        for module, path in modules()
        for found in imports_of(module, path)
        if (why := hub_objection(module, found.module))
    ]
    assert found == []


def late_lines(found: Iterable[Import]) -> set[int]:
    return {statement.line for statement in found if statement.is_late}


def test_few_imports_are_inside_functions() -> None:
    late = [f"{module}:{line}" for module, path in modules() for line in late_lines(imports_of(module, path))]
    assert len(late) <= LATE_IMPORTS, "\n".join(late)


def test_only_statements_inside_functions_are_late() -> None:
    text = (
        "import a\nif a:\n    from b import c\nclass C:\n    import d\n"
        "    async def f():\n        if a:\n            from e import f, g\n"
        "def h():\n    import i\n    import_module('j')\n"
    )
    assert late_lines(imports_in(text, "")) == {8, 10}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert [sorted(circle) for circle in circles(import_graph())] == []


def test_a_circle_is_found_however_long_it_is() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}
    assert circles(graph) == [frozenset({"a", "b", "c"})]


@every(
    ("module", "imported", "is_allowed"),
    [
        ("dragoman_hub.engine.log", "dragoman_hub.session.events", True),
        ("dragoman_hub.engine.log", "dragoman_hub.agents.pool", False),
        ("dragoman_hub.engine.log", "dragoman_hub.hub", False),
        ("dragoman_hub.agents.specs", "dragoman_hub.lending.lender", False),
        ("dragoman_hub.agents.specs", "dragoman_hub.settings", True),
        ("dragoman_hub.hub", "dragoman_hub.api.app", True),
    ],
)
def test_rooms_of_the_hub_have_an_order(module: str, imported: str, is_allowed: bool) -> None:
    assert (hub_objection(module, imported) is None) is is_allowed


def test_everything_under_a_package_is_a_room_of_the_table() -> None:
    assert set(room_folders()) <= MAY_IMPORT.keys() - {"face"}


def test_the_table_has_no_circle() -> None:
    order: list[str] = []
    while len(order) < len(MAY_IMPORT):
        ready = [room for room, needs in MAY_IMPORT.items() if room not in order and needs <= set(order)]
        assert ready, f"rooms in a circle: {MAY_IMPORT.keys() - set(order)}"
        order += ready


def test_a_third_party_package_is_imported_in_one_room_only() -> None:
    names = [name for allowed in THIRD_PARTY.values() for name in allowed]
    assert sorted({name for name in names if names.count(name) > 1}) == sorted(IN_TWO_ROOMS)


REFUSED = {
    "a room above": ("dragoman.wire.frame", "from dragoman.core import connection"),
    "a room above by plain import": ("dragoman.wire.frame", "import dragoman.core.connection"),
    "a room as a name of the package": ("dragoman.wire.frame", "from dragoman import core"),
    "a room by a relative path": ("dragoman.wire.frame", "from ..core import connection"),
    "a room by a bare relative path": ("dragoman.wire.frame", "from .. import core"),
    "a relative path from a package": ("dragoman.wire", "from ..core import connection"),
    "inside a function": ("dragoman.wire.frame", "def f():\n    import dragoman.core"),
    "by import_module": (
        "dragoman.wire.frame",
        "import importlib\nimportlib.import_module('dragoman.core')",
    ),
    "for a type checker": (
        "dragoman.wire.frame",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dragoman.core",
    ),
    "in the else of a type check": (
        "dragoman.sdk.agent.agent",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import dragoman_hub",
    ),
    "after a type check": (
        "dragoman.sdk.agent.agent",
        "if TYPE_CHECKING:\n    pass\nfrom dragoman import hub",
    ),
    "the face from below": ("dragoman.runtime.link", "from dragoman import Agent"),
    "a room's inside from an app": ("dragoman_app.agents.echo", "from dragoman.runtime import link"),
    "the sdk from the examiner": ("dragoman_check.agent", "import dragoman.sdk"),
    "a clock in a pure room": ("dragoman.core.turns", "from time import monotonic"),
    "a loop in a pure room": ("dragoman.core.turns", "import asyncio.events"),
    "the system in errors": ("dragoman.errors", "import os"),
    "an extra elsewhere": ("dragoman.runtime.link", "import websockets"),
    "a module with an extra from elsewhere": (
        "dragoman_check.rule",
        "from dragoman.text.markdown import parse",
    ),
    "a neighbour of a pure part": ("dragoman_hub.session.machine", "from dragoman_hub import log"),
    "a neighbour whose name begins alike": (
        "dragoman_hub.session.machine",
        "from dragoman_hub.sessions import x",
    ),
    "a room that only the part's room may import": (
        "dragoman_hub.session.machine",
        "from dragoman_local.journal import Stored",
    ),
    "a clock in a pure part": ("dragoman_hub.session.machine", "import time"),
    "a stranger": ("dragoman.sdk.agent.agent", "import requests"),
}

ALLOWED = {
    "a room below": ("dragoman.core.connection", "from dragoman.wire import Envelope"),
    "its own room": ("dragoman.core.connection", "from .debts import Debts\nfrom dragoman.core import turns"),
    "errors by a relative path": ("dragoman.core.connection", "from ..errors import LocalMistake"),
    "the face from an app": ("dragoman_app.agents.echo", "from dragoman import Agent, serve"),
    "msgspec": ("dragoman.schema.codec", "import msgspec.json"),
    "a harmless library module in a pure room": ("dragoman.core.turns", "from collections import deque"),
    "a type in the sdk": (
        "dragoman.sdk.agent.agent",
        "if typing.TYPE_CHECKING:\n    from dragoman.core import x",
    ),
    "an extra at home": ("dragoman.transport.websocket", "import websockets"),
    "a module with an extra from its users": (
        "dragoman_app.tui.app",
        "from dragoman.text.markdown import parse",
    ),
    "a pure part itself": (
        "dragoman_hub.session.machine",
        "from dragoman_hub.session.state import SessionState\nfrom dragoman_hub.session import events",
    ),
    "what a pure part may import": ("dragoman_hub.session.machine", "from dragoman.wire import request"),
    "a clock beside a pure part": ("dragoman_hub.session_of_old", "import time"),
    "the loop above the pure rooms": ("dragoman.runtime.link", "import asyncio"),
}


@every(("module", "source"), REFUSED.values(), ids=REFUSED)
def test_the_checker_refuses(module: str, source: str) -> None:
    assert len(list(complaints(module, source, is_package=module == "dragoman.wire"))) == 1


@every(("module", "source"), ALLOWED.values(), ids=ALLOWED)
def test_the_checker_allows(module: str, source: str) -> None:
    assert list(complaints(module, source)) == []
