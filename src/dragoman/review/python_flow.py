"""Rules about the order in which Python does things. Pure; see `python_ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from dragoman.review.finding import Severity
from dragoman.review.python_ast import Hit, PythonRule, Tree

COMPLEX = 15
"""Ways through a function that one can still hold in mind; ruff is told the same."""

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.match_case)


def _unreachable(tree: Tree) -> Iterator[Hit]:
    # Blocks only, without their expressions: this is run beside ruff, on every file.
    waiting: list[ast.AST] = [tree.module]
    while waiting:
        node = waiting.pop()
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list):
                waiting += block
                yield from _after_leaving(block)


def _after_leaving(block: list[ast.AST]) -> Iterator[Hit]:
    for step, following in pairwise(block):
        if isinstance(step, _LEAVES):
            # A yield that is never reached makes a function a generator, which is sometimes wanted.
            if not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(following)):
                yield Hit(following)
            return


def _jumps_in_finally(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Try | ast.TryStar):
            for step in node.finalbody:
                yield from _jumps(step, in_loop=False)


def _jumps(node: ast.AST, *, in_loop: bool) -> Iterator[Hit]:
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        yield Hit(node)
    if isinstance(node, _SCOPES):
        return
    looping = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
    for child in ast.iter_child_nodes(node):
        # Jumps are statements; an expression may be nested deeper than we can follow.
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _jumps(child, in_loop=looping)


def _returns_in_init(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for step in _own(node):
                value = step.value if isinstance(step, ast.Return) else None
                if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                    yield Hit(step)


def _blocking_sleeps(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.AsyncFunctionDef):
            for step in _own(node):
                if tree.called_name(step) == "time.sleep":
                    yield Hit(step)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside of it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _complex(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, _FUNCTIONS):
            ways = 1 + sum(map(_ways, _own(node)))
            if ways > COMPLEX:
                # The name, not the whole function: a finding about it is not one about each of its lines.
                spot = ast.Name(
                    node.name,
                    lineno=node.lineno,
                    col_offset=node.col_offset,
                    end_lineno=node.lineno,
                    end_col_offset=node.col_offset + len("def " + node.name),
                )
                yield Hit(
                    spot, title=f"{node.name} is too complex: cyclomatic complexity {ways}, limit {COMPLEX}"
                )


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return 1 if isinstance(node, _BRANCHES) else 0


RULES = (
    PythonRule(
        "python/unreachable",
        Severity.MEDIUM,
        "Unreachable code",
        "The line before it always leaves. Either it is dead and can go, or the line before it is in the "
        "wrong place.",
        _unreachable,
    ),
    PythonRule(
        "python/jump-in-finally",
        Severity.HIGH,
        "return, break or continue in finally swallows the exception",
        "return, break and continue in finally drop the exception that is on its way, also cancellation and "
        "Ctrl-C.",
        _jumps_in_finally,
        "B012",
    ),
    PythonRule(
        "python/return-in-init",
        Severity.HIGH,
        "__init__ returns a value",
        "Python raises a TypeError as soon as an object is made.",
        _returns_in_init,
        "PLE0101",
    ),
    PythonRule(
        "python/blocking-sleep",
        Severity.HIGH,
        "time.sleep in an async function blocks the event loop",
        "While it sleeps no other task runs. Await asyncio.sleep instead.",
        _blocking_sleeps,
        "ASYNC251",
    ),
    PythonRule(
        "python/complex-function",
        Severity.INFO,
        "Function is too complex (cyclomatic complexity)",
        "Every way wants a test and a place in the reader's mind. Functions with fewer ways can be named by "
        "what they do.",
        _complex,
        "C901",
    ),
)
