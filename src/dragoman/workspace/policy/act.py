"""What is to be decided: one thing that an agent wants to do, in the words of the policy.

Pure. An `Act` is made from a permission request, or from an access to something that is lent. What
an agent calls a tool is a claim: a call that holds a command counts as `execute` and one that holds a diff as
`edit`, whatever kind it says it is. `_meta` is never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from dragoman.schema import v1
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman.workspace.policy.globs import absolute, is_beneath, is_plain
from dragoman.workspace.policy.partial_words import ANY
from dragoman.workspace.policy.program_calls import read_call
from dragoman.workspace.policy.programs import is_harmless, name_of, runs_code
from dragoman.workspace.policy.shell import CommandScript, read_arguments, read_line, unknown_command

Method: TypeAlias = Literal["permission", "fs/read", "fs/write", "terminal", "mcp"]

METHODS: Final[tuple[Method, ...]] = ("permission", "fs/read", "fs/write", "terminal", "mcp")
READS: Final = frozenset({"read", "search", "think"})
WRITES: Final = frozenset({"edit", "delete", "move"})

_FILE_KEYS: Final = ("path", "file_path", "filePath", "filepath", "filename", "file", "target_file")
_PLACE_KEYS: Final = ("abs_path", "absolute_path", "notebook_path", "directory", "dir_path")
_PATH_LISTS: Final = ("paths", "file_paths", "files")
_COMMAND_KEYS: Final = ("command", "cmd")
_VARIABLE_KEYS: Final = ("env", "environment", "variables")
_FOLDER_KEYS: Final = ("cwd", "workdir", "working_directory")

MOST_FOLDERS: Final = 32
"""A command that goes to more folders may be anywhere."""

_GOES: Final = frozenset({"cd", "pushd", "popd", "chdir"})

# One well-known editing tool calls its verbs commands.
_EDITOR_VERBS: Final = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})


class Act(Struct, frozen=True, kw_only=True):
    """One thing that an agent wants to do."""

    method: Method
    agent: str = ""
    """The name by which its user calls it; what an agent calls itself proves nothing."""
    session_id: str = ""
    requester: str = ""
    """Which subagent asks, and for whom; nothing if it is the agent of the session itself."""
    kind: str = "other"
    """The kind that the agent says."""
    tool: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    """Absolute; where text could not tell, `..` stays in."""
    script: CommandScript | None = None
    """The command, if there is one."""
    writes: bool = False
    """Whether it shows a change of files."""
    roots: tuple[str, ...] = ()
    cwd: str = ""
    """Where a command would start; nothing if nobody says."""
    variables: tuple[str, ...] = ()
    """What the agent sets in a command's environment: `NAME=value`, or `NAME` if that is all we know."""
    home: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """What it really is, with what it says it is if that is no less."""
        if self.script is not None:
            real = "execute"
        elif self.writes:
            real = "edit"
        else:
            return frozenset({self.kind})
        return frozenset({real} if self.kind in READS or self.kind == "other" else {real, self.kind})

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The files that it changes, if it changes any."""
        return self.paths if self.kinds & WRITES or self.method == "fs/write" else ()

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, and stays where the session lives as far as it says where."""
        return self.kinds <= READS and self.is_inside

    @property
    def is_inside(self) -> bool:
        return all(is_plain(path) and self._is_in_roots(path) for path in self.paths)

    def objection(self) -> str | None:
        """Why its command must not be permitted by a rule, however well it reads."""
        if self.script is None:
            return None
        if self.script.objection is not None:
            return self.script.objection
        if self.cwd and self.roots and not (is_plain(self.cwd) and self._is_in_roots(self.cwd)):
            return "it would start outside the folders of the session"
        if self.roots and any(not self._is_in_roots(folder) for folder in self.folders()[1:]):
            return "it goes to a folder outside the session"
        names = [variable.partition("=")[0] for variable in self.variables]
        for name in names:
            if runs_code(name):
                return (
                    f"the agent sets the variable {name} for it, with which programs run or load other code"
                )
        unknown = [name for name in names if not is_harmless(name)]
        return f"the agent sets the variable {unknown[0]} for it" if unknown else None

    @property
    def start(self) -> str:
        """Where its command starts: in the session's first folder if nobody says."""
        return self.cwd or (self.roots[0] if self.roots else "/")

    @property
    def runs_other_code(self) -> bool:
        """Whether variables are set with which even a harmless command may do anything."""
        return any(runs_code(variable.partition("=")[0]) for variable in self.variables)

    def folders(self) -> Sequence[str]:
        """Where its commands may run: where they start, and wherever they go."""
        folders = [self.start]
        for target in self._targets():
            if len(folders) > MOST_FOLDERS:
                return [*folders, f"/{ANY}"]
            folders.append(absolute(target, folders[-1], home=self.home or "/"))
        return list(dict.fromkeys(folders))

    def _targets(self) -> Iterable[str]:
        for words in (*self.script.commands, *self.script.possible) if self.script is not None else ():
            if words[:1] and words[0] in _GOES:
                # Without an argument it goes home, with a dash to a place that text cannot tell.
                yield from [word for word in words[1:] if not word.startswith("-")] or ["~"]
            elif words[:1] and name_of(words[0]) == "git":
                # Each `-C` counts from the one before.
                yield from (flag.value for flag in read_call(words).flags if flag.text == "-C" and flag.value)

    def _is_in_roots(self, path: str) -> bool:
        return any(is_beneath(path, root) for root in self.roots)


class ActContext(Struct, frozen=True, kw_only=True):
    """Where a question comes up."""

    agent: str = ""
    roots: tuple[str, ...] = ()
    """The session's folders; the first is the one that relative paths count from."""
    home: str = ""


def act_of_call(
    call: v1.ToolCallUpdate,
    setting: ActContext,
    *,
    session_id: str = "",
    known_call: v1.ToolCallUpdate | None = None,
) -> Act:
    """The question that a permission request asks. `known_call` is what the agent reported about the same
    call before: the request may leave that out or repeat it, but it takes no command, path or change back.
    """
    calls = [each for each in (call, known_call) if each is not None]
    raw: dict[Any, Any] = {}
    for each in reversed(calls):
        raw |= each.raw_input if isinstance(each.raw_input, Mapping) else {}
    kind = _first(calls, "kind", str) or "other"
    title = _first(calls, "title", str) or ""
    diffs = [item for item in _all(calls, "content") if isinstance(item, v1.Diff)]
    locations: Sequence[v1.ToolCallLocation] = _all(calls, "locations")
    runs = any(each.kind == "execute" for each in calls)
    script = _script_in(raw, kind="execute" if runs else kind, title=title)
    base = setting.roots[0] if setting.roots else "/"
    paths = [*(place.path for place in locations), *(diff.path for diff in diffs), *_paths_in(raw)]
    folder = next((raw[key] for key in _FOLDER_KEYS if isinstance(raw.get(key), str)), "")
    return Act(
        method="permission",
        agent=setting.agent,
        session_id=session_id,
        kind=kind if kind in TOOL_KINDS else "other",
        tool=_first(calls, "name", str) or "",
        title=title,
        paths=_absolute_paths(paths, base),
        script=script,
        writes=bool(diffs),
        roots=setting.roots,
        cwd=_absolute_paths([folder], base)[0] if folder else "",
        variables=tuple(_variables_in(raw)) if script is not None else (),
        home=setting.home,
    )


def act_of_request(
    method: str, params: Mapping[str, object], setting: ActContext, *, session_id: str = ""
) -> Act | None:
    """What an agent asks of a client that lends files and terminals; None if it has no effect of its own."""
    path = params.get("path")
    if method in ("fs/read_text_file", "fs/write_text_file") and isinstance(path, str):
        kind: Literal["read", "write"] = "read" if method == "fs/read_text_file" else "write"
        return act_of_file(kind, path, setting, session_id=session_id)
    if method != "terminal/create":
        return None
    cwd = params.get("cwd")
    script = _read(params.get("command"), params.get("args"), "")
    folder = cwd if isinstance(cwd, str) else ""
    return _about_script(script, setting, folder, _variables_in(params), session_id)


def act_of_server(server: Mapping[str, object], setting: ActContext) -> Act:
    """What a client wants an agent to use: a program that the agent starts, or an address."""
    command = server.get("command")
    script = None if command is None else _read(command, server.get("args"), "")
    name, url = server.get("name"), server.get("url")
    return Act(
        method="mcp",
        agent=setting.agent,
        kind="fetch" if script is None else "execute",
        tool=name if isinstance(name, str) else "",
        title=url if isinstance(url, str) else "" if script is None else script.text,
        script=script,
        roots=setting.roots,
        variables=tuple(_variables_in(server)),
        home=setting.home,
    )


def act_of_file(
    kind: Literal["read", "write", "search"], path: str, setting: ActContext, *, session_id: str = ""
) -> Act:
    """What a lent file is wanted for. The path is the real one; a search has a pattern in its place."""
    return Act(
        method="fs/write" if kind == "write" else "fs/read",
        agent=setting.agent,
        session_id=session_id,
        kind="edit" if kind == "write" else kind,
        paths=() if kind == "search" else (path,),
        title=path,
        writes=kind == "write",
        roots=setting.roots,
        home=setting.home,
    )


def act_of_command(
    words: Sequence[str],
    setting: ActContext,
    *,
    cwd: str = "",
    variables: Iterable[str] = (),
    session_id: str = "",
) -> Act:
    """What would be run in a lent terminal."""
    return _about_script(read_arguments(words), setting, cwd, variables, session_id)


def _about_script(
    script: CommandScript, setting: ActContext, cwd: str, variables: Iterable[str], session_id: str
) -> Act:
    return Act(
        method="terminal",
        agent=setting.agent,
        session_id=session_id,
        kind="execute",
        title=script.text,
        script=script,
        roots=setting.roots,
        cwd=cwd,
        variables=tuple(variables),
        home=setting.home,
    )


def _first(calls: Iterable[v1.ToolCallUpdate], field: str, kind: type) -> Any:
    return next((value for each in calls if isinstance(value := getattr(each, field), kind) and value), None)


def _all(calls: Iterable[v1.ToolCallUpdate], field: str) -> list[Any]:
    return [item for each in calls if isinstance(value := getattr(each, field), list) for item in value]


def _absolute_paths(paths: Iterable[str], base: str) -> tuple[str, ...]:
    whole = (path if path.startswith("/") else f"{base}/{path}" for path in paths if path)
    # A path that needs no thought is brought into one spelling; `..` is left for the rules to see.
    return tuple(dict.fromkeys(absolute(path, "/") if is_plain(path) else path for path in whole))


def _paths_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    for key in (*_FILE_KEYS, *_PLACE_KEYS):
        if isinstance(raw.get(key), str):
            yield raw[key]
    for key in _PATH_LISTS:
        if isinstance(raw.get(key), list):
            yield from (item for item in raw[key] if isinstance(item, str))


def _variables_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    """What a tool's input sets in the environment: an object, or a list of names and values."""
    for key in _VARIABLE_KEYS:
        variables = raw.get(key)
        if isinstance(variables, Mapping):
            yield from (f"{name}={value}" for name, value in variables.items())
        for item in variables if isinstance(variables, list) else ():
            if isinstance(item, str):
                yield item
            elif isinstance(item, Mapping) and isinstance(item.get("name"), str):
                yield f"{item['name']}={item.get('value', '')}"


def _script_in(raw: Mapping[Any, Any], *, kind: str, title: str) -> CommandScript | None:
    for key in _COMMAND_KEYS:
        command = raw.get(key)
        if command is None or (kind != "execute" and "path" in raw and _is_editor_verb(command)):
            continue
        return _read(command, raw.get("args"), title)
    return unknown_command(title) if kind == "execute" else None


def _is_editor_verb(command: object) -> bool:
    return isinstance(command, str) and command in _EDITOR_VERBS


def _read(command: object, args: object, title: str) -> CommandScript:
    if isinstance(command, str):
        if not args:
            return read_line(command)
        command, extra = [command], args
        if isinstance(extra, list):
            command = [*command, *extra]
        else:
            return unknown_command(title)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return read_arguments(command)
    return unknown_command(title)
