"""Calls that a change breaks: a Python function's parameters changed, and a call does not fit them.

Only what is certain is reported: functions of modules, without decorators, that are called by a name which
was imported from that module, with arguments that the old signature took and the new one does not. Pure.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from dragoman_review.finding import Finding, RuleText, Severity
from dragoman_review.python_ast import dotted_name, parse
from dragoman_review.source import ReviewSource
from dragoman_review.text_edits import TextLines

CALLER = RuleText(
    id="python/broken-caller",
    severity=Severity.HIGH,
    title="Call does not fit the changed signature of a function",
    why="A change gave a function other parameters, but this call still passes what it took before: it "
    "raises a TypeError. Found in reviews of changes, in whichever file the call is.",
    languages=("python",),
)


class Signature(NamedTuple):
    """The parameters of a function."""

    positional: tuple[str, ...]
    required_names: frozenset[str]
    keywords: frozenset[str]
    """Parameters that can be given by name."""
    takes_more: bool
    """Whether it accepts `*args`."""
    takes_any_keyword: bool

    @classmethod
    def of(cls, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Signature:
        arguments = function.args
        positional = tuple(item.arg for item in (*arguments.posonlyargs, *arguments.args))
        required_names = set(positional[: len(positional) - len(arguments.defaults)])
        keyword_names = [item.arg for item in arguments.kwonlyargs]
        required_names |= {
            name
            for name, default in zip(keyword_names, arguments.kw_defaults, strict=True)
            if default is None
        }
        return cls(
            positional,
            frozenset(required_names),
            frozenset([*(item.arg for item in arguments.args), *keyword_names]),
            arguments.vararg is not None,
            arguments.kwarg is not None,
        )

    def problem(self, call: ast.Call) -> str | None:
        """Return why a call does not fit; None if it does, or if that is unknown."""
        if any(isinstance(item, ast.Starred) for item in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        ):
            return None
        if len(call.args) > len(self.positional) and not self.takes_more:
            return f"it takes {len(self.positional)} positional arguments, and gets {len(call.args)}"
        names = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
        if not self.takes_any_keyword and (unknown := sorted(names - self.keywords)):
            return f"it has no parameter {unknown[0]}"
        given_names = names | set(self.positional[: len(call.args)])
        missing = [name for name in sorted(self.required_names) if name not in given_names]
        return f"its parameter {missing[0]} is not given" if missing else None


class ChangedFunction(NamedTuple):
    """A function before and after a change."""

    module: tuple[str, ...]
    """The path of its file, without the suffix: `src`, `shop`, `prices`."""
    name: str
    before: Signature
    after: Signature


def changed_functions(path: str, before: str, after: str) -> list[ChangedFunction]:
    """Return functions of a module whose parameters have changed."""
    old, new = _signatures(before), _signatures(after)
    module = module_of(path)
    return [
        ChangedFunction(module, name, old[name], new[name])
        for name in old.keys() & new.keys()
        if old[name] != new[name]
    ]


def module_of(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1:] == ("__init__",) else parts


def _signatures(text: str) -> dict[str, Signature]:
    """By name; what is defined twice or decorated is left out."""
    tree = _parse(TextLines(text))
    function_nodes = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    counts = Counter(node.name for node in function_nodes)
    return {
        node.name: Signature.of(node)
        for node in function_nodes
        if counts[node.name] == 1 and not node.decorator_list
    }


def _parse(lines: TextLines) -> ast.Module:
    tree = parse(lines)
    return tree if isinstance(tree, ast.Module) else ast.Module(body=[], type_ignores=[])


def broken_calls(
    source: ReviewSource, inside: str, functions: Sequence[ChangedFunction]
) -> Iterator[Finding]:
    """Return calls in one text that no longer fit the changed functions; `inside` is its
    path from the top.
    """
    lines = TextLines(source.text)
    tree = _parse(lines)
    targets = _called_names(tree, module_of(inside), inside.endswith("__init__.py"), functions)
    for node in ast.walk(tree):
        function = targets.get(dotted_name(node.func) or "") if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or function is None or function.before.problem(node):
            continue
        if problem := function.after.problem(node):
            start = lines.offset(node.lineno, 1)
            yield CALLER.finding(
                lines.place(source.path, start, start + len(lines.line(node.lineno))),
                title=f"Call does not fit the changed signature of {function.name}()",
                why=f"{'/'.join(function.module)}.py changes the parameters of {function.name}(), and this "
                f"call raises a TypeError now: {problem}.",
            )


def _called_names(
    tree: ast.Module, module: tuple[str, ...], is_package: bool, functions: Sequence[ChangedFunction]
) -> Mapping[str, ChangedFunction]:
    """Names of the functions in a module: `price`, `shop.price`."""
    names: dict[str, ChangedFunction] = {}
    package = module if is_package else module[:-1]
    nodes = list(ast.walk(tree))
    for function in functions:
        if function.module == module:
            names[function.name] = function
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if _is_same(tuple(alias.name.split(".")), function.module):
                        names[f"{alias.asname or alias.name}.{function.name}"] = function
            elif isinstance(node, ast.ImportFrom):
                names |= _imported_names(node, package, function)
    bound_counts = _bound_names(nodes)
    return {
        name: function
        for name, function in names.items()
        if bound_counts[name.partition(".")[0]]
        <= (function.module == module)  # its own definition counts once
    }


def _bound_names(nodes: Sequence[ast.AST]) -> Counter[str]:
    """Names that mean something else than an import somewhere in a text."""
    counts: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                counts[name] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                counts[name] += 1
            case _:
                pass
    return counts


def _imported_names(
    node: ast.ImportFrom, package: tuple[str, ...], function: ChangedFunction
) -> dict[str, ChangedFunction]:
    parts = tuple(node.module.split(".")) if node.module else ()
    base = (*package[: len(package) - node.level + 1], *parts)
    names = {}
    for alias in node.names:
        name = alias.asname or alias.name
        if node.level:
            is_module, is_member = base == function.module, (*base, alias.name) == function.module
        else:
            is_module = _is_same(parts, function.module)
            is_member = _is_same((*parts, alias.name), function.module)
        if is_module and alias.name == function.name:
            names[name] = function
        elif is_member:
            names[f"{name}.{function.name}"] = function
    return names


def _is_same(import_path: tuple[str, ...], module: tuple[str, ...]) -> bool:
    """Whether an absolute import names a module: packages may begin in any folder of the repository, so what
    stands before them must be folders that usually hold sources.
    """
    rest = module[: len(module) - len(import_path)]
    return (
        bool(import_path) and module[-len(import_path) :] == import_path and rest in ((), ("src",), ("lib",))
    )
