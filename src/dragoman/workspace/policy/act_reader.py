"""Makes an `Act` of what an agent sends: a tool call with its announcements, or the use of something lent.

Pure. Every text in a tool's input is either understood or kept in `unknown_texts`: a name that we do not know
may hold a place or a command. Where an agent says two things of one call, both count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal
from urllib.parse import unquote

from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman.workspace.policy.act import TOO_LARGE, Act, ActContext
from dragoman.workspace.policy.changes import (
    CHANGE_KEYS,
    PLACE_KEYS,
    FileChange,
    changes_in,
)
from dragoman.workspace.policy.globs import absolute, is_plain
from dragoman.workspace.policy.shell import CommandScript, read_arguments, read_line, unknown_command

_PATH_LISTS: Final = ("paths", "file_paths", "files")
COMMAND_KEYS: Final = ("command", "cmd")
VARIABLE_KEYS: Final = ("env", "environment", "variables")
_FOLDER_KEYS: Final = ("cwd", "workdir", "working_directory")

_PROSE_KEYS: Final = frozenset(
    (
        *(key for key in CHANGE_KEYS if key != "edits"),
        *("description", "reason", "explanation", "prompt", "query", "pattern", "regex", "message", "title"),
        *("call_id", "turn_id", "subagent_type", "language", "model", "todos", "plan", "available_decisions"),
    )
)
"""Members of a tool's input whose texts name no place and no command."""

# One well-known editing tool calls its verbs commands.
_EDITOR_VERBS: Final = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})


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
    inputs = [each.raw_input for each in calls if isinstance(each.raw_input, Mapping)]
    scripts = _scripts_in(inputs, kind="execute" if runs else kind, title=title)
    folders = _said(inputs, _FOLDER_KEYS)
    doubts = [f"the agent names {len(scripts)} different commands for it"] if len(scripts) > 1 else []
    doubts += ["the agent names different folders for it"] if len(folders) > 1 else []
    script = _join(scripts)
    base = setting.roots[0] if setting.roots else "/"
    paths = [*(place.path for place in locations), *(diff.path for diff in diffs), *_paths_in(raw)]
    variables = tuple(_variables_in(raw)) if script is not None else ()
    understood = {
        *paths,
        *(variable.partition("=")[2] for variable in variables),
        *folders,
        *((script.text, *_all_words(script)) if script is not None else ()),
    }
    whole_texts = [each.raw_input for each in calls if isinstance(each.raw_input, str) and each.raw_input]
    unknown_texts, is_whole = _bounded(
        text for text in chain(whole_texts, _unknown_in(raw)) if text not in understood
    )
    doubts += [] if is_whole else [TOO_LARGE]
    places = [text for text in unknown_texts if _is_place(text)]
    changes = [
        replace(change, path=canonical_paths([change.path], base, setting.home)[0])
        for change in changes_in(replace(call, content=diffs, raw_input=raw))
        if change.path
    ]
    return Act(
        method="permission",
        agent=setting.agent,
        session_id=session_id,
        kind=kind if kind in TOOL_KINDS else "other",
        tool=_first(calls, "name", str) or "",
        title=title,
        paths=canonical_paths([*paths, *places], base, setting.home),
        script=script,
        writes=bool(diffs or changes),
        changes=tuple(changes),
        unknown_texts=tuple(text for text in unknown_texts if not _is_place(text)),
        doubts=tuple(doubts),
        roots=setting.roots,
        cwd=canonical_paths(folders[:1], base, setting.home)[0] if folders else "",
        variables=variables,
        home=setting.home,
    )


def act_of_request(
    method: str, params: Mapping[str, object], setting: ActContext, *, session_id: str = ""
) -> Act | None:
    """What an agent asks of a client that lends files and terminals; None if it has no effect of its own."""
    path = params.get("path")
    if method in ("fs/read_text_file", "fs/write_text_file") and isinstance(path, str):
        kind: Literal["read", "write"] = "read" if method == "fs/read_text_file" else "write"
        content = params.get("content")
        text = content if isinstance(content, str) and kind == "write" else None
        return act_of_file(kind, path, setting, session_id=session_id, text=text)
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
    kind: Literal["read", "write", "search"],
    path: str,
    setting: ActContext,
    *,
    session_id: str = "",
    text: str | None = None,
) -> Act:
    """What a lent file is wanted for. The path is the real one; a search has a pattern in its place.
    `text` is what would be written.
    """
    return Act(
        method="fs/write" if kind == "write" else "fs/read",
        agent=setting.agent,
        session_id=session_id,
        kind="edit" if kind == "write" else kind,
        paths=() if kind == "search" else (path,),
        title=path,
        writes=kind == "write",
        changes=() if text is None else (FileChange(path=path, source="write", new=text),),
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
    line: str | None = None,
) -> Act:
    """What would be run in a lent terminal; `line` if a shell takes it apart."""
    script = read_arguments(words) if line is None else read_line(line)
    return _about_script(script, setting, cwd, variables, session_id)


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


def fold_calls(call: v1.ToolCallUpdate, known_call: v1.ToolCallUpdate | None) -> v1.ToolCallUpdate:
    """All that an agent has said of a call: what a request leaves out was said before, and still stands."""
    if known_call is None:
        return call
    calls = (call, known_call)
    raw = [each.raw_input for each in calls if isinstance(each.raw_input, Mapping)]
    return replace(
        call,
        kind=call.kind or known_call.kind,
        title=call.title or known_call.title,
        name=call.name or known_call.name,
        content=_each_once(_all(calls, "content")),
        locations=_each_once(_all(calls, "locations")),
        raw_input={**raw[-1], **raw[0]} if raw else call.raw_input or known_call.raw_input,
    )


def _each_once(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += [item] if item not in found else []
    return found


def _first(calls: Iterable[v1.ToolCallUpdate], field: str, kind: type) -> Any:
    return next((value for each in calls if isinstance(value := getattr(each, field), kind) and value), None)


def _all(calls: Iterable[v1.ToolCallUpdate], field: str) -> list[Any]:
    return [item for each in calls if isinstance(value := getattr(each, field), list) for item in value]


def canonical_paths(paths: Iterable[str], base: str, home: str) -> tuple[str, ...]:
    whole = [_canonical(path, home) for path in paths if path]
    whole = [path if path.startswith("/") else f"{base}/{path}" for path in whole]
    # A path that needs no thought is brought into one spelling; `..` is left for the rules to see.
    return tuple(dict.fromkeys(absolute(path, "/") if is_plain(path) else path for path in whole))


_HOMES: Final = ("~", "$HOME", "${HOME}")
_FILE_URL: Final = "file://"


def _canonical(path: str, home: str) -> str:
    """A path as the disk spells it: agents also write `file:///x`, `~/x` and `$HOME/x`."""
    if path[: len(_FILE_URL)].lower() == _FILE_URL:
        rest = unquote(path[len(_FILE_URL) :])
        path = rest if rest.startswith("/") else f"/{rest.partition('/')[2]}"
    for spelling in _HOMES:
        if home and (path == spelling or path.startswith(f"{spelling}/")):
            return home + path[len(spelling) :]
    return path


def _is_place(text: str) -> bool:
    """Whether a text can hardly be anything but a path."""
    if len(text) > _MOST_PATH or "\n" in text:
        return False
    return text.startswith(("/", "./", "../", *(f"{home}/" for home in _HOMES))) or (
        text[: len(_FILE_URL)].lower() == _FILE_URL
    )


_MOST_PATH: Final = 4096


def _paths_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    for key in PLACE_KEYS:
        if isinstance(raw.get(key), str):
            yield raw[key]
    for key in _PATH_LISTS:
        if isinstance(raw.get(key), list):
            yield from (item for item in raw[key] if isinstance(item, str))


_DEEPEST: Final = 32

_MOST_TEXTS: Final = 256
_MOST_CHARACTERS: Final = 65_536
"""How many texts are kept that nobody understands, and how many characters of them."""


def _bounded(texts: Iterable[str | None]) -> tuple[list[str], bool]:
    """The texts up to the bound, and whether those are all; None is one that cannot be read."""
    kept: list[str] = []
    left = _MOST_CHARACTERS
    for text in texts:
        if text is None or len(kept) == _MOST_TEXTS or len(text) > left:
            return kept, False
        kept.append(text)
        left -= len(text)
    return kept, True


def _unknown_in(raw: Mapping[Any, Any]) -> Iterator[str | None]:
    """Every text of a tool's input under a name that does not tell what it is; None for what is too deep."""
    known = {*PLACE_KEYS, *_PATH_LISTS, *COMMAND_KEYS, *_FOLDER_KEYS, *VARIABLE_KEYS, "args"}
    waiting: list[tuple[object, int]] = [
        (value, 0)
        for key, value in raw.items()
        if key not in _PROSE_KEYS and not (key in known and _is_text(value))
    ]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            if value:
                yield value
        elif depth > _DEEPEST:
            yield None
        elif isinstance(value, Mapping):
            waiting += [(item, depth + 1) for key, item in value.items() if key not in _PROSE_KEYS]
        elif isinstance(value, list):
            waiting += [(item, depth + 1) for item in value]


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in value)
    )


def _said(inputs: Sequence[Mapping[Any, Any]], keys: Sequence[str]) -> list[str]:
    """The different texts under these names; one that is the beginning of another was not finished yet."""
    texts = dict.fromkeys(
        raw[key] for raw in inputs for key in keys if isinstance(raw.get(key), str) and raw[key]
    )
    return [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]


def _variables_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    """What a tool's input sets in the environment: an object, or a list of names and values."""
    for key in VARIABLE_KEYS:
        variables = raw.get(key)
        if isinstance(variables, Mapping):
            yield from (f"{name}={value}" for name, value in variables.items())
        for item in variables if isinstance(variables, list) else ():
            if isinstance(item, str):
                yield item
            elif isinstance(item, Mapping) and isinstance(item.get("name"), str):
                yield f"{item['name']}={item.get('value', '')}"


def _scripts_in(inputs: Sequence[Mapping[Any, Any]], *, kind: str, title: str) -> Sequence[CommandScript]:
    """Every command that an agent has named for a call."""
    scripts: dict[str, CommandScript] = {}
    for raw in inputs:
        for key in COMMAND_KEYS:
            command = raw.get(key)
            if command is None or (kind != "execute" and "path" in raw and _is_editor_verb(command)):
                continue
            script = _read(command, raw.get("args"), title)
            scripts.setdefault(script.text, script)
    whole = [
        script
        for text, script in scripts.items()
        if not any(other != text and other.startswith(text) for other in scripts)
    ]
    return whole or ([unknown_command(title)] if kind == "execute" else [])


def _join(scripts: Sequence[CommandScript]) -> CommandScript | None:
    if len(scripts) < 2:
        return scripts[0] if scripts else None
    commands = tuple(words for script in scripts for words in script.commands)
    return CommandScript(
        text="\n".join(script.text for script in scripts),
        commands=commands,
        objection="it is more than one command",
        possible=tuple(words for script in scripts for words in (*script.commands, *script.possible)),
    )


def _all_words(script: CommandScript) -> Iterable[str]:
    return (word for words in script.commands for word in words)


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
