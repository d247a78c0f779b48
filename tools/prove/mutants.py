"""Which mistakes can be made in a source, and how one of them is made.

The operators are fixed: none was chosen by looking at what the tests find. A mutant is one change at one
place. It is named by its file, its operator and a number that counts the places of that operator in the file.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

AREAS: dict[str, tuple[str, ...]] = {
    "gate": ("packages/hub/src/dragoman_hub/gate",),
    "judge": ("packages/hub/src/dragoman_hub/judge",),
    "consent": ("packages/local/src/dragoman_local/workspace/policy",),
    "session": ("packages/hub/src/dragoman_hub/session", "packages/hub/src/dragoman_hub/engine"),
    "clients": ("packages/hub/src/dragoman_hub/clients",),
    "lending": ("packages/hub/src/dragoman_hub/lending",),
    "store": (
        "packages/local/src/dragoman_local/journal",
        "packages/local/src/dragoman_local/workspace/tree_store.py",
        "packages/local/src/dragoman_local/workspace/packed_contents.py",
    ),
    "sandbox": ("packages/local/src/dragoman_local/sandbox",),
    "dialects": ("packages/sdk/src/dragoman/dialect",),
}
"""Where a mistake costs a person most, by the name of the promise."""

LOGGERS = ("log", "logger")
LEVELS = ("debug", "info", "warning", "error", "critical", "exception")
"""What logs: leaving out a line of the log breaks no promise. A `log` that stores is another thing."""

DECLARED = ("frozen", "kw_only", "slots", "repr")
"""Options of `dataclass` that the type checker holds and no act shows."""

LABELS = {"ThreadPoolExecutor": "thread_name_prefix", "create_task": "name"}
"""Names of threads and tasks, which only who debugs them sees."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One mistake. `line` is the first line that differs, in the source as it is; `within` the function."""

    area: str
    path: str
    within: str
    operator: str
    number: int
    line: int
    last_line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.operator}:{self.number}"


_NO_EARLIER = (ast.Return, ast.Pass, ast.FunctionDef, ast.AsyncFunctionDef)
"""Before these nothing is lost by going back at once, or nothing has been done."""

Place = tuple[ast.expr | ast.stmt | ast.keyword, str, Callable[[], None]]
"""Where a mistake is made, what it looks like then, and what makes it."""


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _set(owner: ast.AST, field: str, value: object) -> None:
    setattr(owner, field, value)


def negated_conditions(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Constant):
            test = node.test
            other = _not(test)
            yield test, ast.unparse(other), partial(_set, node, "test", other)
        elif isinstance(node, ast.comprehension):
            for index, test in enumerate(node.ifs):
                yield test, f"not ({ast.unparse(test)})", partial(node.ifs.__setitem__, index, _not(test))
        elif isinstance(node, ast.match_case) and node.guard is not None:
            guard = node.guard
            yield guard, f"not ({ast.unparse(guard)})", partial(_set, node, "guard", _not(guard))


def dropped_calls(tree: ast.AST) -> Iterator[Place]:
    for block in _blocks(tree):
        for index, statement in enumerate(block):
            if isinstance(statement, ast.Expr):
                value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
                if isinstance(value, ast.Call) and not _logs(value):
                    yield statement, "pass", partial(block.__setitem__, index, ast.Pass())


def early_returns(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            for index in range(start, len(node.body)):
                statement = node.body[index]
                if not isinstance(statement, _NO_EARLIER) and not _is_ellipsis(statement):
                    yield statement, "return", partial(node.body.insert, index, ast.Return(value=None))


def swapped_branches(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            swapped = ast.IfExp(test=node.test, body=node.orelse, orelse=node.body)
            yield node, ast.unparse(swapped), partial(_swap, node)
        elif isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
            yield node.test, f"{ast.unparse(node.test)}, with its branches swapped", partial(_swap, node)


def widened_scopes(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for value in node.values:
                rest = [other for other in node.values if other is not value]
                shown = ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(op=ast.And(), values=rest))
                yield value, shown, partial(_set, node, "values", [*rest, ast.Constant(value=True)])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all":
            yield node, ast.unparse(node).replace("all(", "any(", 1), partial(_set, node.func, "id", "any")


def forgotten_fields(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _logs(node):
            for keyword in node.keywords:
                if keyword.arg is not None and not _declares(node, keyword):
                    rest = [other for other in node.keywords if other is not keyword]
                    yield keyword, f"(without {keyword.arg})", partial(_set, node, "keywords", rest)


OPERATORS: dict[str, Callable[[ast.AST], Iterator[Place]]] = {
    "negate": negated_conditions,
    "drop-call": dropped_calls,
    "return-early": early_returns,
    "swap": swapped_branches,
    "widen": widened_scopes,
    "forget-field": forgotten_fields,
}


def mutants_of(text: str, path: str, area: str) -> list[Mutant]:
    """Every mistake that can be made in the source."""
    tree = ast.parse(text)
    functions = _functions(tree)
    return [
        Mutant(
            area=area,
            path=path,
            within=_within(functions, place.lineno),
            operator=operator,
            number=number,
            line=place.lineno,
            last_line=place.end_lineno or place.lineno,
            before=ast.unparse(place),
            after=after,
        )
        for operator, places in OPERATORS.items()
        for number, (place, after, _) in enumerate(places(tree))
    ]


def mutated(text: str, mutant: Mutant) -> str:
    """The source with the mistake in it, without its comments."""
    tree = ast.parse(text)
    for number, (_, _, change) in enumerate(OPERATORS[mutant.operator](tree)):
        if number == mutant.number:
            change()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise LookupError(f"{mutant.path} has no place {mutant.number} for {mutant.operator}")


def every_mutant(root: Path, areas: Sequence[str] = tuple(AREAS)) -> dict[str, list[Mutant]]:
    """All mistakes that can be drawn, by area."""
    found: dict[str, list[Mutant]] = {}
    for area in areas:
        files = [
            path
            for place in AREAS[area]
            for path in sorted([root / place] if place.endswith(".py") else (root / place).rglob("*.py"))
        ]
        found[area] = [
            mutant
            for path in files
            for mutant in mutants_of(path.read_text("utf-8"), path.relative_to(root).as_posix(), area)
        ]
    return found


def draw(all_mutants: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """So many of them: each area in turn, each operator alike, then any place. The seed decides alone."""
    chance = random.Random(seed)
    left = {area: _by_operator(mutants) for area, mutants in all_mutants.items() if mutants}
    drawn: list[Mutant] = []
    while left and len(drawn) < count:
        for area in list(left):
            if len(drawn) == count:
                break
            operators = left[area]
            operator = chance.choice(sorted(operators))
            places = operators[operator]
            drawn.append(places.pop(chance.randrange(len(places))))
            if not places:
                del operators[operator]
            if not operators:
                del left[area]
    return drawn


def _by_operator(mutants: Sequence[Mutant]) -> dict[str, list[Mutant]]:
    found: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        found.setdefault(mutant.operator, []).append(mutant)
    return found


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _swap(node: ast.If | ast.IfExp) -> None:
    body, orelse = node.body, node.orelse
    _set(node, "body", orelse)
    _set(node, "orelse", body)


def _is_ellipsis(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _logs(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in LOGGERS
        and call.func.attr in LEVELS
    )


def _declares(call: ast.Call, keyword: ast.keyword) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return LABELS.get(name) == keyword.arg or (name == "dataclass" and keyword.arg in DECLARED)


def _functions(tree: ast.AST) -> list[tuple[int, int, str]]:
    """First and last line of each function and class, and its name with those around it; outer ones first."""
    found: list[tuple[int, int, str]] = []

    def look(node: ast.AST, around: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = around
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{around}.{child.name}".removeprefix(".")
                found.append((child.lineno, child.end_lineno or child.lineno, name))
            look(child, name)

    look(tree, "")
    return found


def _within(functions: Sequence[tuple[int, int, str]], line: int) -> str:
    return next((name for first, last, name in reversed(functions) if first <= line <= last), "")
