"""Rules about Python that does not do what it seems to do. Pure; see `python_ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dragoman.review.finding import Edit, Fix, Severity
from dragoman.review.python_ast import Hit, PythonRule, Tree

_MAKERS = frozenset(
    {
        "list",
        "dict",
        "set",
        "bytearray",
        "collections.defaultdict",
        "collections.deque",
        "collections.Counter",
    }
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


def _silent_excepts(tree: Tree) -> Iterator[Hit]:
    broad = {"Exception", "BaseException"}
    for node in tree.nodes:
        if not isinstance(node, ast.ExceptHandler) or not all(
            isinstance(step, ast.Pass) for step in node.body
        ):
            continue
        if node.type is None or tree.name(node.type) in broad:
            yield Hit(node)


def _tuple_asserts(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            yield Hit(node)


def _false_asserts(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value is False:
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


def _none_comparisons(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            pairs = zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False)
            for operator, left, right in pairs:
                if isinstance(operator, ast.Eq | ast.NotEq) and (_is_none(left) or _is_none(right)):
                    yield Hit(left if _is_none(left) else right)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _self_comparisons(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            if isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id == right.id:
                yield Hit(node, title=f"{left.id} compared with itself")


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


def _empty_f_strings(tree: Tree) -> Iterator[Hit]:
    # The specification after a colon is an f-string of its own in the tree, but not in the text.
    inner = {id(node.format_spec) for node in tree.nodes if isinstance(node, ast.FormattedValue)}
    for node in tree.nodes:
        if not isinstance(node, ast.JoinedStr) or id(node) in inner:
            continue
        if not any(isinstance(part, ast.FormattedValue) for part in node.values):
            yield Hit(node)


RULES = (
    PythonRule(
        "python/mutable-argument-default",
        Severity.HIGH,
        "Mutable default argument",
        "A default is made once, when the function is defined. What one call puts into it, the next call "
        "finds there. Take None and make a new one inside.",
        _mutable_defaults,
        "B006",
    ),
    PythonRule(
        "python/bare-except",
        Severity.MEDIUM,
        "Bare except catches SystemExit and KeyboardInterrupt",
        "Ctrl-C, sys.exit and the cancellation of tasks are exceptions too. Name what can be handled here.",
        _bare_excepts,
        "E722",
    ),
    PythonRule(
        "python/try-except-pass",
        Severity.LOW,
        "try-except-pass: the error is ignored",
        "When this goes wrong nobody will ever know. Catch what is expected, and log the rest.",
        _silent_excepts,
        "S110",
    ),
    PythonRule(
        "python/assert-tuple",
        Severity.HIGH,
        "Assertion on a tuple is always true",
        "A tuple that is not empty is true. The parentheses around condition and message are too many.",
        _tuple_asserts,
        "F631",
    ),
    PythonRule(
        "python/assert-false",
        Severity.LOW,
        "assert False is removed by python -O",
        "Python drops asserts when it optimises, and the program goes on where it should not. Raise "
        "AssertionError instead.",
        _false_asserts,
        "B011",
    ),
    PythonRule(
        "python/is-literal",
        Severity.HIGH,
        "Comparison of a literal with is: use ==",
        "Whether two equal values are one object is up to the interpreter, so this is true today and false "
        "tomorrow. Compare with ==.",
        _is_literals,
        "F632",
    ),
    PythonRule(
        "python/none-comparison",
        Severity.LOW,
        "Comparison with None by ==: use is",
        "A class may say that it equals None, as arrays do for each of their elements. There is only one "
        "None: use `is`.",
        _none_comparisons,
        "E711",
    ),
    PythonRule(
        "python/comparison-with-itself",
        Severity.MEDIUM,
        "Value compared with itself",
        "The answer is known before; one of the two names is probably the wrong one.",
        _self_comparisons,
        "PLR0124",
    ),
    PythonRule(
        "python/repeated-key",
        Severity.HIGH,
        "Duplicate key in a dict",
        "The last value wins and the others are lost without a word.",
        _repeated_keys,
        "F601",
    ),
    PythonRule(
        "python/raise-not-implemented",
        Severity.MEDIUM,
        "raise NotImplemented instead of NotImplementedError",
        "It is a value that operators return; raising it is a TypeError about something else. "
        "NotImplementedError is meant.",
        _raised_not_implemented,
        "F901",
    ),
    PythonRule(
        "python/empty-f-string",
        Severity.INFO,
        "f-string without placeholders",
        "Either the f is too much, or the braces are missing that were meant.",
        _empty_f_strings,
        "F541",
    ),
)
