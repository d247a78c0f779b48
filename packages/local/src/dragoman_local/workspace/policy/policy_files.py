"""Reads policies and orders them in layers; keeps a person's answers for always as rules.

A project is trusted if the user's file says so (`trust = ["~/work/mine"]`), never because it says so itself.
`policy_paths` knows where the files are.

The file of answers has the language of a policy, so that a person can read and delete them. Each rule has a
comment above it that says when it was made and what was asked. The file is replaced as a whole, so that
nobody ever reads half of it, and locked meanwhile, so that two programs lose nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from dragoman.decoders import convert
from dragoman.schema import v1
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman.system.files import CAREFUL, lock, open_regular
from dragoman.system.folders import user_folder
from dragoman.system.replacement import PRIVATE, replacement_of
from dragoman.text.sanitize import sanitize_line
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.policy import globs
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call
from dragoman_local.workspace.policy.commands import literal_pattern
from dragoman_local.workspace.policy.globs import is_plain, literal
from dragoman_local.workspace.policy.policy import Approve, Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_parser import PolicyError, Rulebook, read_policy, rule_lines
from dragoman_local.workspace.policy.policy_paths import policy_paths, project_file
from dragoman_local.workspace.policy.rules import PolicyRule
from dragoman_local.workspace.policy.shell import read_line

MOST_BYTES: Final = 1_048_576
"""The most bytes of a policy: reading a larger file would be a way to stop us."""

PARSED: Final = 256
"""The texts whose rules are cached: parsing takes a hundred times as long as reading."""


def load_policy(
    *,
    roots: Sequence[str] = (),
    file: str | None = None,
    rules: Rulebook | None = None,
    approve: Approve | None = None,
    environ: Mapping[str, str] | None = None,
) -> Policy:
    """Load every layer; a named file must exist, unless its `rules` were read before."""
    where = policy_paths(environ)
    books = [] if file is None else [(file, read_file(file) if rules is None else rules, False)]
    user = read_if_there(where.policy)
    if project := project_file(roots):
        books.append((project, read_if_there(project), not is_trusted(roots[0], user.trust, home=where.home)))
    books.append((where.policy, user, False))
    layers = [
        PolicyLayer(name=name, rules=book.rules, default=book.default, only_stricter=only_stricter)
        for name, book, only_stricter in books
    ]
    own = [f"{root.rstrip('/')}/.dragoman" for root in roots]
    # With tokens of a hub one can answer questions.
    data = str(user_folder("data", os.environ if environ is None else environ))
    protected_paths = [where.config, where.state, data, *own, *([file] if file else [])]
    return Policy(
        layers=tuple(layer for layer in layers if layer.rules or layer.default is not None),
        remembered_rules=read_if_there(where.remembered_file).rules,
        approve=approve,
        protected_paths=tuple(
            f"{globs.literal(os.path.abspath(path))}{below}"
            for path in protected_paths
            for below in ("", "/**")
        ),
    )


def is_trusted(folder: str, trust: Sequence[str], *, home: str) -> bool:
    """Whether the user has trusted this folder, with its links resolved."""
    return globs.permits(
        [glob for glob in trust if glob.startswith(("/", "~/"))],
        os.path.realpath(folder),
        roots=(),
        home=home,
    )


def read_text(path: str) -> str | None:
    """Return a file's text, or None if there is none. Only plain files are read: others might never end."""
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PolicyError(path, 0, f"cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise PolicyError(path, 0, f"is larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(path, data[: error.start].count(b"\n") + 1, "is not UTF-8 text") from None


def read_file(path: str) -> Rulebook:
    """Return the rules of a file; `PolicyError` if it is missing or invalid."""
    text = read_text(path)
    if text is None:
        raise PolicyError(path, 0, "there is no such file")
    return _parse(text, path)


def read_if_there(path: str) -> Rulebook:
    return _parse(read_text(path) or "", path)


_parse = lru_cache(maxsize=PARSED)(read_policy)
"""A file is read for every decision, so that a change counts at once; the same text is parsed once."""


HEAD = "# Answers that were given for good. Delete a rule, and you are asked again.\nversion = 1\n"


MOST_LINE: Final = 1000
"""The most characters of a command line that a user would still copy."""

NOT_KEPT: Final = "Always: this answer cannot be remembered; you will be asked again."


def cover_text(act: Act) -> str:
    """Return a sentence about the extent of a remembered yes, for the person who is about to give it."""
    fields = _conditions(act, "allow")
    if fields is None:
        return NOT_KEPT
    where = act.roots[0] if act.script is None else act.start
    sessions = "" if where == act.roots[0] else f", in sessions of {_short(act.roots[0], act)}"
    return f"Always covers {_deed(act, fields)} in {_short(where, act)}{sessions}, for {act.agent}."


def _deed(act: Act, fields: Mapping[str, Sequence[str]]) -> str:
    if act.script is not None:
        return f"`{act.script.text}`{' to the letter,' if 'command_line' in fields else ''}"
    kinds = " and ".join(_KINDS.get(kind, f"the kind {kind}") for kind in sorted(act.kinds))
    tool = f" by the tool {act.tool}" if act.tool else ""
    if not act.paths:
        return f"every use of the tool {act.tool}, whatever its input,"
    return f"{kinds} of {', '.join(_short(path, act) for path in act.paths)}{tool},"


_KINDS: Final = {
    "read": "reads",
    "edit": "changes",
    "delete": "deletions",
    "move": "moves",
    "search": "searches",
    "fetch": "fetches",
    "other": "any use",
}


def _short(path: str, act: Act) -> str:
    """A path as a shell would let one write it."""
    root = act.roots[0]
    if path.startswith(f"{root}/") and act.script is None:
        return path[len(root) + 1 :]
    is_at_home = act.home and (path == act.home or path.startswith(f"{act.home}/"))
    return f"~{path[len(act.home) :]}" if is_at_home else path


def rule_text(act: Act, decision: Literal["allow", "deny"], *, now: datetime) -> str | None:
    """Return the rule that answers exactly this question again, or None if it is not clear enough for one."""
    fields = _conditions(act, decision)
    if fields is None:
        return None
    what = sanitize_line(redact(act.script.text if act.script else act.title or act.kind), exact=True)
    lines = [
        f"# {now.astimezone(UTC):%Y-%m-%d %H:%M} UTC, asked by {sanitize_line(act.agent)}: {what}",
        "[[rule]]",
        f'decision = "{decision}"',
        *(f"{key} = {toml_value(values)}" for key, values in fields.items()),
    ]
    return "\n".join(lines) + "\n"


def allow_line(act: Act) -> str:
    """Return the command line that allows exactly this for always; empty if there is none."""
    conditions = _conditions(act, "allow")
    if conditions is None or (act.tool and act.tool in TOOL_KINDS) or len(act.kinds) > 1:
        return ""
    words = ["dragoman", "policy", "allow", "--agent", act.agent, "--cwd", act.roots[0]]
    if act.script is not None:
        if act.start not in act.roots:
            return ""  # the same words in another folder
        words += ["--command", act.script.text]
    else:
        words += ["--kind", *act.kinds, *(("--tool", act.tool) if act.tool else ())]
        words += [word for path in act.paths for word in ("--path", path)]
    line = shlex.join(words)
    return line if line.isprintable() and len(line) <= MOST_LINE else ""


def act_of_line(line: str, *, home: str) -> Act | None:
    """The act of a command line that `allow_line` has made; None for any other line."""
    said: dict[str, list[str]] = {}
    try:
        words = shlex.split(line)[3:]
        for name, value in zip(words[::2], words[1::2], strict=True):
            said.setdefault(name, []).append(value)
        call = convert(
            {
                "toolCallId": "",
                "kind": "".join(said.get("--kind", ["other"])),
                "locations": [{"path": path} for path in said.get("--path", ())],
                "name": "".join(said.get("--tool", ())),
            },
            v1.ToolCallUpdate,
        )
    except (ValueError, msgspec.ValidationError):
        return None
    agent, root = ("".join(said.get(name, ())) for name in ("--agent", "--cwd"))
    act = act_of_call(call, ActContext(agent=agent, roots=(root,), home=home))
    if "--command" in said:
        act = replace(act, script=read_line("".join(said["--command"])))
    return act if allow_line(act) == line else None


def _conditions(act: Act, decision: Literal["allow", "deny"]) -> dict[str, Sequence[str]] | None:
    """The conditions that a rule needs to mean exactly this. It belongs to one agent and one project."""
    if not act.agent or not act.roots or act.doubts or act.method == "mcp":
        return None  # whoever wrote a rule that asks about an MCP server wants to be asked
    fields: dict[str, Sequence[str]] = {
        "agent": [literal(act.agent)],
        "project": place_patterns(act.roots[0]),
    }
    if act.script is not None:
        if act.objection() is not None:
            return None
        # The same words do something else in another folder. A rejection holds in the whole project.
        if decision == "allow":
            fields["folder"] = place_patterns(act.start)
        # Keep one plain command as such; what is more than that, only as the very line that it is.
        if act.script.commands == (tuple(shlex.split(act.script.text)),):
            return {**fields, "command": [literal_pattern(act.script.commands[0])]}
        return {**fields, "command_line": [act.script.text]}
    fields["kind"] = sorted(act.kinds)
    if act.tool:
        fields["tool"] = [literal(act.tool)]
    if act.paths:
        # Where a text may name another path, no rule for paths would ever hold.
        is_clear = decision == "deny" or (not act.unknown_texts and all(map(is_plain, act.paths)))
        return {**fields, "path": [*map(literal, act.paths)]} if is_clear else None
    # A tool without a name and without a path, or with another input, could be anything the next time.
    return fields if act.tool and act.is_clear and not act.possible_places else None


def place_patterns(path: str) -> Sequence[str]:
    """Return a folder as named, and its real path: agents use the one, terminals the other."""
    return [literal(spelling) for spelling in dict.fromkeys((path, os.path.realpath(path)))]


def toml_value(values: Sequence[str]) -> str:
    """Return one text or a list: TOML writes both like JSON, except for controls that JSON
    does not escape.
    """
    text = json.dumps(values if len(values) > 1 else values[0], ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f]", lambda control: f"\\u{ord(control[0]):04x}", text)


class RememberedRules:
    """The file of remembered answers. Constructing reads nothing."""

    def __init__(self, path: str) -> None:
        self.path = path

    def rules(self) -> tuple[PolicyRule, ...]:
        return read_if_there(self.path).rules

    def remember(
        self, act: Act, decision: Literal["allow", "deny"], *, now: datetime | None = None
    ) -> str | None:
        """Store an answer; return its rule, or None if no rule can express it: then it is asked again."""
        if block := rule_text(act, decision, now=now or datetime.now(UTC)):
            self.add(block, head=HEAD)
        return block

    def add(self, block: str, *, head: str = "") -> None:
        """Append rules to the file; `head` begins a new one."""
        self._change(lambda text: f"{(text or head).rstrip()}\n\n{block}".lstrip())

    def take_back(self, block: str) -> None:
        """Delete a rule that `remember` has just kept."""
        self._change(lambda text: "".join(text.rpartition(block)[::2]))

    def forget(self, line: int) -> bool:
        """Delete the rule that begins in a line, with its comment; return whether there was one."""

        def without(text: str) -> str:
            lines, starts = text.splitlines(keepends=True), _blocks(text)
            if line not in starts:
                return text
            end = min((start for header, start in starts.items() if header > line), default=len(lines))
            return "".join(lines[: starts[line]] + lines[end:])

        return self._change(without)

    def _change(self, edit: Callable[[str], str]) -> bool:
        """Edit the text, while nobody else does; return whether it is another one then."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | CAREFUL, 0o600)
        try:
            lock(descriptor)
            before = read_text(self.path) or ""
            after = edit(before)
            if after != before:
                read_policy(after, self.path)  # what we write must be readable, or nobody could start again
                with replacement_of(Path(self.path), mode=PRIVATE) as copy:
                    copy.write_bytes(after.encode())
        finally:
            os.close(descriptor)
        return after != before


def _blocks(text: str) -> dict[int, int]:
    """The line of each rule's header, with the index of the line where its comment begins."""
    is_comment = [line.lstrip().startswith("#") for line in text.splitlines()]
    return {
        header: header - 1 - len([*takewhile(bool, reversed(is_comment[: header - 1]))])
        for header in rule_lines(text)
    }
