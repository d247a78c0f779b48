"""Rules about Python that lets others in. Pure; see `python_ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from dragoman_review.python_ast import Find, Hit, Tree

_SHELLS = frozenset(
    {
        *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
        *("commands.getoutput", "popen2.popen2"),
    }
)
_SUBPROCESS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
)
_HTTP = frozenset(
    f"{library}.{verb}"
    for library in ("requests", "httpx")
    for verb in ("get", "post", "put", "patch", "delete", "head", "options", "request", "Client", "Session")
)
UNSAFE_LOADERS = frozenset(
    f"yaml.{name}"
    for name in ("Loader", "UnsafeLoader", "FullLoader", "CLoader", "CFullLoader", "CUnsafeLoader")
)
_STATEMENT = re.compile(r"\b(?:select|insert\s+into|update|delete\s+from)\s", re.IGNORECASE)
_SQL = re.compile(
    r"\s*(?:select\s.+\sfrom\s|insert\s+into\s|update\s.+\sset\s|delete\s+from\s)", re.IGNORECASE | re.DOTALL
)
# A value in quotes: a name of a table can be no parameter, and a number mostly is one of our own.
_VALUE_FOLLOWS = re.compile(r"(?:[=<>(,]|\blike)\s*'%?$", re.IGNORECASE)
_OURS = re.compile(
    r"^[A-Z][A-Z0-9_]+$|^(?:int|len|float)\(|(?i:mark|holder|quote|escape|param|repr|literal|adapt)"
)
_PERCENT = re.compile(r"(?<!%)%(?:\(\w+\))?[sr]")
_BRACES = re.compile(r"(?<!\{)\{[^{}]*\}(?!\})")


def _calls(*names: str) -> Find:
    call_names = frozenset(names)

    def find(tree: Tree) -> Iterator[Hit]:
        for node in tree.nodes:
            if tree.called_name(node) in call_names:
                yield Hit(node)

    return find


def _calls_with(names: frozenset[str], accept: Callable[[ast.Call], bool]) -> Find:
    def find(tree: Tree) -> Iterator[Hit]:
        for node in tree.nodes:
            if isinstance(node, ast.Call) and tree.called_name(node) in names and accept(node):
                yield Hit(node)

    return find


def _is_keyword(call: ast.Call, name: str, *values: object) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value in values
        for word in call.keywords
    )


def _is_not_constant(call: ast.Call) -> bool:
    """Whether the first argument is more than a text that stands there."""
    return bool(call.args) and not isinstance(call.args[0], ast.Constant)


def _uses_shell(call: ast.Call) -> bool:
    return _is_keyword(call, "shell", True) and _is_not_constant(call)


def _skips_certificates(call: ast.Call) -> bool:
    return _is_keyword(call, "verify", False)


def _loads_any_object(call: ast.Call) -> bool:
    """Whether a loader of the library makes objects; one of the project's own mostly makes plain values."""
    loaders = [word.value for word in call.keywords if word.arg in ("Loader", None)] + call.args[1:2]
    return not loaders or any(ast.unparse(loader) in UNSAFE_LOADERS for loader in loaders)


def _built_sql(tree: Tree) -> Iterator[Hit]:
    # Cheap, and said of few texts: this is run beside ruff, on every file.
    if not _STATEMENT.search(tree.lines.text):
        return
    inner: set[int] = set()
    for node in tree.nodes:
        pieces = _pieces(node) if id(node) not in inner else None
        if pieces is None:
            continue
        inner |= {id(child) for child in ast.walk(node)}
        before = ""
        for piece in pieces:
            if isinstance(piece, str):
                before += piece
            elif _SQL.match(before) and _VALUE_FOLLOWS.search(before) and not _OURS.search(tree.text(piece)):
                yield Hit(node)
                break
            else:
                before += "?"


def _pieces(node: ast.AST) -> list[str | ast.expr] | None:
    """A string that is put together, as its texts and the values between them; None of anything else."""
    match node:
        case ast.JoinedStr(values=values):
            return [
                part.value if isinstance(part, ast.FormattedValue) else _literal(part) or ""
                for part in values
            ]
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text)), right=right):
            values = right.elts if isinstance(right, ast.Tuple) else [right]
            return _filled(_PERCENT.split(text), values)
        case ast.BinOp(op=ast.Add()):
            left = _pieces(node.left) or [_literal(node.left) or node.left]
            return [*left, *(_pieces(node.right) or [_literal(node.right) or node.right])]
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(text)))):
            return _filled(_BRACES.split(text), [*node.args, *(keyword.value for keyword in node.keywords)])
        case _:
            return None


def _filled(texts: list[str], values: list[ast.expr]) -> list[str | ast.expr]:
    """Texts with values between them; the last value stands for those that are missing."""
    pieces: list[str | ast.expr] = [texts[0]]
    for number, text in enumerate(texts[1:]):
        pieces += (values[min(number, len(values) - 1)], text) if values else (text,)
    return pieces


def _literal(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


FINDERS: dict[str, Find] = {
    "python/eval": _calls_with(frozenset({"eval", "builtins.eval"}), _is_not_constant),
    "python/exec": _calls_with(frozenset({"exec", "builtins.exec"}), _is_not_constant),
    "python/shell-true": _calls_with(_SUBPROCESS, _uses_shell),
    "python/shell-call": _calls_with(_SHELLS, _is_not_constant),
    "python/unsafe-yaml": _calls_with(frozenset({"yaml.load"}), _loads_any_object),
    "python/mktemp": _calls("tempfile.mktemp"),
    "python/unverified-tls": _calls_with(_HTTP, _skips_certificates),
    "python/built-sql": _built_sql,
}
