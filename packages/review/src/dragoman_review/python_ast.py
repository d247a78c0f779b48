"""Python without any tool: a text as a tree of the standard library, and rules that look at its nodes.

The rules themselves are in `python_bugs`, `python_security` and `python_flow`. They are what ruff would find
under the same names, so that a finding keeps its name whether ruff is installed or not; a rule that ruff has
not (in its stable set) is used beside it. Pure; nothing of the text is run.
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from dragoman_review.finding import Finding, Fix, RuleText, Severity
from dragoman_review.text_edits import TextLines

SYNTAX = RuleText(
    id="python/invalid-syntax",
    severity=Severity.HIGH,
    title="Syntax error: this is no Python",
    why="The file cannot be imported or run at all, and no other rule could look into it.",
    languages=("python",),
)


class Hit(NamedTuple):
    """A node that a rule reports."""

    node: ast.AST
    title: str = ""
    """More than the rule's own title says, if there is more."""
    fix: Fix | None = None


class Tree:
    """One parsed text. Positions of the tree are in bytes of UTF-8; here they become characters."""

    def __init__(self, lines: TextLines, module: ast.Module) -> None:
        self.lines = lines
        self.module = module

    @functools.cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """Every node; slow to make, so made only when a rule asks."""
        return tuple(ast.walk(self.module))

    @functools.cached_property
    def _modules(self) -> dict[str, str]:
        return dict(_imported_names(self.nodes))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The offsets of a node."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        return self._offset(line, column), self._offset(end_line, end_column)

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.lines.text[start:end]

    def called_name(self, node: ast.AST) -> str | None:
        """The full name of what a call calls, as far as imports tell: `subprocess.run`, `eval`."""
        return self.name(node.func) if isinstance(node, ast.Call) else None

    def name(self, node: ast.AST) -> str | None:
        head, dot, rest = (dotted_name(node) or "").partition(".")
        return f"{self._modules.get(head, head)}{dot}{rest}" if head else None

    def _offset(self, line: int, column: int) -> int:
        start = self.lines.offset(line, 1)
        text = self.lines.line(line)
        if not text.isascii():
            column = len(text.encode("utf-8", "replace")[:column].decode("utf-8", "replace"))
        return start + column


def dotted_name(node: ast.AST) -> str | None:
    """A name with its attributes, as it is written: `os.path.join`; None of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


Find: TypeAlias = Callable[[Tree], Iterator[Hit]]


class PythonRule(RuleText, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule about the tree says; `data/python-rules.toml` has them all."""

    languages: tuple[str, ...] = ("python",)
    ruff: str | None = None
    """The code under which ruff finds the same; None if only we do."""


def parse(lines: TextLines) -> Tree | tuple[int, str] | None:
    """The tree of a text, or where it ends to be Python and why; None if it is too deep to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the reviewed text: rules say it better
        try:
            return Tree(lines, ast.parse(lines.text))
        except SyntaxError as error:
            return lines.offset(error.lineno or 1, error.offset or 1), error.msg
        except ValueError as error:  # a NUL in it
            return 0, str(error)
        except (RecursionError, MemoryError):
            return None


def python_findings(
    path: str, lines: TextLines, rules: Mapping[PythonRule, Find], *, has_ruff: bool
) -> Iterator[Finding]:
    """What the rules find. With ruff at hand, only what ruff does not look for."""
    tree = parse(lines)
    if isinstance(tree, tuple) and not has_ruff:
        at, why = tree
        yield SYNTAX.finding(lines.place(path, at, at), title=f"This is no Python: {why}")
    if not isinstance(tree, Tree):
        return
    for rule, find in rules.items():
        if has_ruff and rule.ruff is not None:
            continue
        for hit in find(tree):
            place = lines.place(path, *tree.span(hit.node))
            yield rule.finding(place, title=hit.title, fix=hit.fix)


def _imported_names(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Local names of imported things, and their full names."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
