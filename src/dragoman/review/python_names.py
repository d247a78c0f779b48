"""Names of Python that some ways through a function leave without a value. Pure; see `python_ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeText
from dragoman.review.finding import Severity
from dragoman.review.python_ast import Hit, PythonRule, Tree

# A tree is made of few texts, so a quick look says whether one may have such a name: a short try that sets it
# and a handler that goes on, or branches for some values and none for the rest.
_MAY_BE_UNBOUND = lazy_pattern(
    r"\n([ \t]+)try:\n(?:\1[ \t][^\n]*\n){0,2}?\1[ \t]+(\w+) = [^\n]*\n(?:\1[ \t)\]}][^\n]*\n){0,2}"
    r"\1except[^\n]*:\n(?:\1[ \t][^\n]*\n){1,3}\1(?!except|else|finally|if)[^\n]*\b\2\b"
    r"|\n([ \t]+)if ([\w.]+) (?:==|in) [^\n]*:\n\3[ \t]+(\w+) = [^\n]*\n"
    r"(?:\3(?:elif \4 (?:==|in) [^\n]*:|[ \t][^\n]*)\n){2,9}?\3(?!else|elif)(?=\S)[^\n]*\b\5\b"
)


def may_be_unbound(code: CodeText) -> bool:
    """Whether a text may have a name without a value: quickly asked."""
    if not (code.has_any(("elif ",)) or code.has_any(("except",))):
        return False
    return _MAY_BE_UNBOUND.search(code.code) is not None


_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _unbound_names(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outside = {
                name
                for step in ast.walk(node)
                if isinstance(step, ast.Global | ast.Nonlocal)
                for name in step.names
            }
            yield from _in_body(node.body, {argument.arg for argument in _arguments(node)} | outside)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.arg]:
    yield from (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    yield from (argument for argument in (node.args.vararg, node.args.kwarg) if argument is not None)


def _in_body(body: Sequence[ast.stmt], names: set[str]) -> Iterator[Hit]:
    """Names that the first statement after a branch uses, and that not every way into it has set."""
    bound = set(names)
    for index, step in enumerate(body):
        missing: set[str] = set()
        if isinstance(step, ast.If):
            missing = _set_by_some_branches(step) - bound
        elif isinstance(step, ast.Try):
            missing = _set_by_try_alone(step) - bound
        following = body[index + 1] if index + 1 < len(body) else None
        if missing and following is not None and isinstance(following, ast.Return | ast.Expr | ast.Assign):
            for use in ast.walk(following):
                if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in missing:
                    yield Hit(use)
                    break
        bound |= _set_names([step])


def _set_names(steps: Sequence[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for step in steps:
        for node in ast.walk(step):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                names.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _ends(steps: Sequence[ast.stmt]) -> bool:
    """Whether some statements are left without reaching what follows them; a call may do that, too."""
    if any(isinstance(step, _LEAVES) for step in steps):
        return True
    last = steps[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        called = last.value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in {"exit", "_exit", "abort", "fail", "error", "skip", "die", "usage", "fatal"}
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.With | ast.AsyncWith | ast.Try | ast.Match | ast.While)


def _set_by_some_branches(step: ast.If) -> set[str]:
    """Names that every branch sets of a question about one value, which has no last branch for the rest."""
    branches: list[Sequence[ast.stmt]] = []
    subjects: set[str] = set()
    at: ast.If | None = step
    while at is not None:
        if not isinstance(at.test, ast.Compare) or not isinstance(at.test.ops[0], ast.Eq | ast.In):
            return set()
        if not isinstance(at.test.comparators[0], ast.Constant | ast.Tuple | ast.List | ast.Set):
            return set()
        subjects.add(ast.unparse(at.test.left))
        branches.append(at.body)
        if at.orelse and not (len(at.orelse) == 1 and isinstance(at.orelse[0], ast.If)):
            return set()
        at = at.orelse[0] if at.orelse and isinstance(at.orelse[0], ast.If) else None
    if len(branches) < 2 or len(subjects) > 1:
        return set()
    open_branches = [branch for branch in branches if not _ends(branch)]
    sets = [_assigned(branch) for branch in open_branches]
    return set.intersection(*sets) if sets else set()


def _assigned(steps: Sequence[ast.stmt]) -> set[str]:
    """Names that some statements set themselves, not a branch or a loop within them."""
    return _set_names([step for step in steps if isinstance(step, ast.Assign | ast.AnnAssign)])


def _set_by_try_alone(step: ast.Try) -> set[str]:
    """Names that a try sets, and a handler which goes on does not."""
    if step.finalbody or step.orelse or not step.handlers:
        return set()
    names = _assigned(step.body)
    open_handlers = [handler for handler in step.handlers if not _ends(handler.body)]
    if not open_handlers:
        return set()
    sets: list[set[str]] = [_set_names(handler.body) for handler in open_handlers]
    return {name for name in names if not all(name in others for others in sets)}


RULES = (
    PythonRule(
        "python/unbound-name",
        Severity.MEDIUM,
        "Name may have no value here: possibly undefined",
        "On one of the ways that lead here nothing was assigned to it, and its use raises. Give it a value "
        "first, or leave there.",
        _unbound_names,
    ),
)
