"""Rules about the order in which Python does things. Pure; see `python_ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from dragoman_review.python_ast import Find, Hit, Tree

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


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
            # A yield that is never reached makes a function a generator, and a function makes its names
            # cells: both are sometimes wanted.
            wanted = (ast.Yield, ast.YieldFrom, ast.FunctionDef)
            if not any(isinstance(node, wanted) for node in ast.walk(following)):
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


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside of it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


FINDERS: dict[str, Find] = {
    "python/unreachable": _unreachable,
    "python/jump-in-finally": _jumps_in_finally,
    "python/return-in-init": _returns_in_init,
}
