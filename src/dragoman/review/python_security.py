"""Rules about Python that lets others in. Pure; see `python_ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.finding import Severity
from dragoman.review.python_ast import Find, Hit, PythonRule, Tree

_SHELLS = frozenset(
    {
        *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
        *("commands.getoutput", "popen2.popen2"),
    }
)
_SUBPROCESS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
)
_PICKLES = frozenset(
    f"{module}.{name}" for module in ("pickle", "cPickle", "dill", "marshal") for name in ("load", "loads")
)
_WEAK = frozenset({"hashlib.md5", "hashlib.sha1"})
_HTTP = frozenset(
    f"{library}.{verb}"
    for library in ("requests", "httpx")
    for verb in ("get", "post", "put", "patch", "delete", "head", "options", "request", "Client", "Session")
)
_SQL = lazy_pattern(
    r"\s*(?:select\s.+\sfrom\s|insert\s+into\s|update\s.+\sset\s|delete\s+from\s)", re.IGNORECASE | re.DOTALL
)


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


def _has_argument(call: ast.Call) -> bool:
    return bool(call.args)


def _uses_shell(call: ast.Call) -> bool:
    return _is_keyword(call, "shell", True)


def _skips_certificates(call: ast.Call) -> bool:
    return _is_keyword(call, "verify", False)


def _is_for_security(call: ast.Call) -> bool:
    return not _is_keyword(call, "usedforsecurity", False)


def _loads_any_object(call: ast.Call) -> bool:
    loaders = [word.value for word in call.keywords if word.arg == "Loader"] + call.args[1:2]
    names = [getattr(loader, "attr", getattr(loader, "id", "")) for loader in loaders]
    return not any("Safe" in name or "Base" in name for name in names)


def _built_sql(tree: Tree) -> Iterator[Hit]:
    for node in tree.nodes:
        begin = _built_from(node)
        if begin is not None and _SQL.match(begin):
            yield Hit(node)


def _built_from(node: ast.AST) -> str | None:
    """The text of a string that is put together with something that is no literal; None of anything else."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "?" for part in node.values]
        return (
            "".join(map(str, parts)) if any(isinstance(p, ast.FormattedValue) for p in node.values) else None
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _literal(node.left)
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and not isinstance(node.right, ast.Constant)
    ):
        return _literal(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _literal(node.func.value)
    return None


def _literal(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


RULES = (
    PythonRule(
        "python/eval",
        Severity.HIGH,
        "eval runs code from a string",
        "If any part of the text comes from outside, so does the program that is run. ast.literal_eval reads "
        "values and runs nothing.",
        _calls("eval", "builtins.eval"),
        "S307",
    ),
    PythonRule(
        "python/exec",
        Severity.HIGH,
        "exec runs code from a string",
        "If any part of the text comes from outside, so does the program that is run.",
        _calls("exec", "builtins.exec"),
        "S102",
    ),
    PythonRule(
        "python/shell-true",
        Severity.HIGH,
        "subprocess with shell=True: possible command injection",
        "Blanks, quotes, semicolons and dollars in the arguments become part of the command. Give a list of "
        "arguments, without shell=True.",
        _calls_with(_SUBPROCESS, _uses_shell),
        "S602",
    ),
    PythonRule(
        "python/shell-call",
        Severity.HIGH,
        "os.system or os.popen: possible command injection",
        "Blanks, quotes, semicolons and dollars in the text become part of the command. subprocess.run with "
        "a list of arguments has no shell in between.",
        _calls_with(_SHELLS, _has_argument),
        "S605",
    ),
    PythonRule(
        "python/unpickled",
        Severity.MEDIUM,
        "pickle of untrusted data runs code: unsafe deserialization",
        "Whoever can write the data can run code here. Use JSON or another format that holds values only.",
        _calls_with(_PICKLES, _has_argument),
        "S301",
    ),
    PythonRule(
        "python/unsafe-yaml",
        Severity.HIGH,
        "yaml.load without SafeLoader: unsafe deserialization",
        "Whoever can write the document can run code here. yaml.safe_load makes plain values.",
        _calls_with(frozenset({"yaml.load"}), _loads_any_object),
        "S506",
    ),
    PythonRule(
        "python/weak-hash",
        Severity.MEDIUM,
        "Weak hash: MD5 or SHA-1",
        "For MD5 and SHA-1 two texts with the same hash can be made. Take sha256, or say "
        "usedforsecurity=False if nothing depends on it.",
        _calls_with(_WEAK, _is_for_security),
        "S324",
    ),
    PythonRule(
        "python/mktemp",
        Severity.MEDIUM,
        "tempfile.mktemp: race condition",
        "Between the name and the file somebody can put a link there. mkstemp and NamedTemporaryFile make "
        "the file at once.",
        _calls("tempfile.mktemp"),
        "S306",
    ),
    PythonRule(
        "python/unverified-tls",
        Severity.HIGH,
        "TLS certificate verification is disabled",
        "Anybody on the way can read and change what is sent. Add the missing authority instead of trusting "
        "everyone.",
        _calls_with(_HTTP, _skips_certificates),
        "S501",
    ),
    PythonRule(
        "python/built-sql",
        Severity.HIGH,
        "SQL built by string concatenation: possible SQL injection",
        "A value with a quote in it becomes part of the statement. Pass values as parameters; the driver "
        "knows how to quote.",
        _built_sql,
        "S608",
    ),
    PythonRule(
        "python/debugger",
        Severity.MEDIUM,
        "breakpoint or pdb left in code",
        "The program stops and waits for somebody who is not there.",
        _calls("breakpoint", "pdb.set_trace", "ipdb.set_trace", "pudb.set_trace"),
        "T100",
    ),
)
