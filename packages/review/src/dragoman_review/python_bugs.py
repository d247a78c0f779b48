"""Rules about Python that does not do what it seems to do. Pure; see `python_ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dragoman_review.finding import Edit, Fix
from dragoman_review.python_ast import Find, Hit, Tree

_MAKERS = frozenset(
    (
        "list",
        "dict",
        "set",
        "bytearray",
        "collections.defaultdict",
        "collections.deque",
        "collections.Counter",
    )
)
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_IS = re.compile(r"\bis(?:\s+(not))?\b")


def _mutable_defaults(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if isinstance(default, _MUTABLE) or (default and tree.called_name(default) in _MAKERS):
                    yield Hit(default)


def _bare_excepts(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.ExceptHandler) and node.type is None and not _reraises(node):
            at = tree.span(node)[0] + len("except")
            edit = Edit(at, at, " Exception")
            yield Hit(node, fix=Fix(title="Catch Exception only", edits=(edit,), safe=False))


def _reraises(handler: ast.ExceptHandler) -> bool:
    """Whether what was caught is always raised again."""
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def _tuple_asserts(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            yield Hit(node)


def _is_literals(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if not isinstance(node, ast.Compare):
            continue
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.Is | ast.IsNot) and (_is_literal(left) or _is_literal(right)):
                yield Hit(node, fix=_equality(tree, left, right))
            left = right


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Tuple | ast.List | ast.Dict):
        return True
    # Of True, False, None and ... there is only one each.
    return isinstance(node, ast.Constant) and type(node.value) in (str, bytes, int, float, complex)


def _equality(tree: Tree, left: ast.expr, right: ast.expr) -> Fix | None:
    """`==` for `is`, where it is all that stands between the two."""
    start, end = tree.span(left)[1], tree.span(right)[0]
    between = tree.lines.text[start:end]
    match = _IS.search(between)
    if not match or "#" in between or len(_IS.findall(between)) > 1:
        return None
    edit = Edit(start + match.start(), start + match.end(), "!=" if match[1] else "==")
    return Fix(title=f"Compare with {edit.text}", edits=(edit,), safe=True)


def _repeated_keys(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if not isinstance(node, ast.Dict):
            continue
        values: dict[tuple[type, object], str] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant):
                continue
            mark, dump = (type(key.value), key.value), ast.dump(value)
            if values.setdefault(mark, dump) != dump:
                yield Hit(key, title=f"Duplicate key {key.value!r} in a dict")


def _raised_not_implemented(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if not isinstance(node, ast.Raise):
            continue
        exception = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(exception, ast.Name) and exception.id == "NotImplemented":
            start, end = tree.span(exception)
            edit = Edit(start, end, "NotImplementedError")
            yield Hit(exception, fix=Fix(title="Raise NotImplementedError", edits=(edit,), safe=True))


FINDERS: dict[str, Find] = {
    "python/mutable-argument-default": _mutable_defaults,
    "python/bare-except": _bare_excepts,
    "python/assert-tuple": _tuple_asserts,
    "python/is-literal": _is_literals,
    "python/repeated-key": _repeated_keys,
    "python/raise-not-implemented": _raised_not_implemented,
}
