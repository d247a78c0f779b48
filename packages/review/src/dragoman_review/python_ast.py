"""Parses Python with the standard library, to check whether a text is valid Python. Pure; the text is never
run.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from dragoman_review.finding import Finding, RuleText, Severity
from dragoman_review.text_edits import TextLines

SYNTAX = RuleText(
    id="python/invalid-syntax",
    severity=Severity.HIGH,
    title="Syntax error: this is not Python",
    why="Python cannot import or run the file, and no other rule could check it.",
    languages=("python",),
)


def dotted_name(node: ast.AST) -> str | None:
    """Return a name with its attributes, as written: `os.path.join`; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def parse(lines: TextLines) -> ast.Module | tuple[int, str] | None:
    """Return the tree of a text, or its first syntax error; None if it is nested too deep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the reviewed text: rules say it better
        try:
            return ast.parse(lines.text)
        except SyntaxError as error:
            return lines.offset(error.lineno or 1, error.offset or 1), error.msg
        except ValueError as error:  # a NUL in it
            return 0, str(error)
        except (RecursionError, MemoryError):
            return None


def syntax_findings(path: str, lines: TextLines) -> Iterator[Finding]:
    """Return the first syntax error, if there is one."""
    tree = parse(lines)
    if isinstance(tree, tuple):
        at, why = tree
        yield SYNTAX.finding(lines.place(path, at, at), title=f"This is not Python: {why}")
