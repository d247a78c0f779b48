"""Builds an `Act` from an agent's messages: a tool call and its updates, or a use of files or terminals.

Pure. Every text in a tool's input is either understood or kept in `unknown_texts`: a name that we do not know
may hold a place or a command. Where an agent says two things of one call, both count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman_local.workspace.policy.act import READS, TOO_LARGE, Act, ActContext
from dragoman_local.workspace.policy.program_calls import TOOL_VERBS
from dragoman_local.workspace.policy.shell import CommandScript, read_arguments, read_line, unknown_command
from dragoman_local.workspace.policy.tool_inputs import (
    COMMAND_KEYS,
    FOLDER_KEYS,
    MOST_TEXTS,
    PATCH_KEYS,
    PATH_LISTS,
    PLACE_KEYS,
    VARIABLE_KEYS,
    FileChange,
    bounded,
    canonical_paths,
    changes_in,
    is_address,
    is_odd,
    is_place,
    merge_inputs,
    patched_paths,
    possible_places,
    prose_in,
    unknown_texts,
)

# One well-known editing tool calls its verbs commands.
_EDITOR_VERBS: Final = ("view", "create", "str_replace", "insert", "undo_edit")


def act_of_call(
    call: v1.ToolCallUpdate,
    setting: ActContext,
    *,
    session_id: str = "",
    known_call: v1.ToolCallUpdate | None = None,
) -> Act:
    """Return the question of a permission request. `known_call` is the agent's earlier report of the same
    call: the request may omit or repeat it, but can't remove a command, path or change from it.
    """
    calls = [each for each in (call, known_call) if each is not None]
    whole = fold_calls(call, known_call)
    inputs = [_input_of(each) for each in calls]
    tables = [each for each in inputs if isinstance(each, Mapping)]
    raw: Mapping[Any, Any] = reduce(merge_inputs, reversed(tables), {})
    kind, title, name = whole.kind or "other", whole.title or "", whole.name or ""
    content = _all(calls, "content")
    diffs = [item for item in content if isinstance(item, v1.Diff)]
    links = [
        item.content.uri
        for item in content
        if isinstance(item, v1.Content) and isinstance(item.content, v1.ResourceLink)
    ]
    runs = any(each.kind == "execute" for each in calls) or any(
        isinstance(item, v1.Terminal) for item in content
    )
    script = _join(scripts := _scripts_in(tables, kind="execute" if runs else kind, title=title))
    folders = _said(tables, FOLDER_KEYS)
    base = setting.roots[0] if setting.roots else "/"
    named = [*(place.path for place in _all(calls, "locations")), *(diff.path for diff in diffs), *links]
    named += [*_paths_in(raw), *patched_paths(raw), *_only_argument(raw, kind)]
    if script is None:
        # Whole paths in a title count as those of the input do; a command's title shows the command.
        named += [*folders, *(word for word in title.split() if is_place(word) and len(word) > 1)]
    understood = {
        *named,
        *folders,
        *(each.text for each in scripts),
        *((script.text, *chain.from_iterable(script.commands)) if script is not None else ()),
    }
    others = [each for each in inputs if not isinstance(each, Mapping)]
    texts = (text for each in (raw, *others) for text in unknown_texts(each))
    unknown, is_whole = bounded(text for text in texts if text not in understood)
    odd = [path for path in named if is_odd(path)]
    places = [text for text in unknown if is_place(text)]
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
        tool=name,
        title=title,
        paths=canonical_paths([*named, *places], base, setting.home),
        script=script,
        writes=bool(diffs or changes) or any(key in raw for key in PATCH_KEYS),
        changes=tuple(changes),
        fetches=script is None and any(is_address(text) for text in unknown),
        unknown_texts=tuple([*odd, *(text for text in unknown if not is_place(text))][:MOST_TEXTS]),
        possible_places=possible_places(
            [*odd, *unknown], [title, *prose_in(raw)], base=base, home=setting.home
        ),
        doubts=(
            *(() if is_whole else (TOO_LARGE,)),
            *_doubts(scripts, folders, unknown, raw, title),
            *_other_deeds(
                kind,
                (
                    title,
                    name,
                    *(str(key) for key in raw if type(raw[key]) in (int, float) or raw[key] is True),
                ),
            ),
            *_unasked_changes(call, known_call),
        ),
        roots=setting.roots,
        cwd=canonical_paths(folders[:1], base, setting.home)[0] if folders else "",
        variables=tuple(_variables_in(raw)) if script is not None else (),
        home=setting.home,
    )


def _doubts(
    scripts: Sequence[CommandScript],
    folders: Sequence[str],
    unknown: Sequence[str],
    raw: Mapping[Any, Any],
    title: str,
) -> Iterator[str]:
    """Parts of the agent's description that leave open what the call would do."""
    if len(scripts) > 1:
        yield f"the agent names {len(scripts)} different commands for it"
    if len(folders) > 1:
        yield "the agent names different folders for it"
    if not scripts:
        return
    flags = [str(key) for key, value in raw.items() if value is True]
    beside = [*unknown, *flags, *_paths_in(raw)]
    if beside:
        yield f"its input says more than the command: {beside[0][:200]}"
    if len(title) > 2 and title[0] == title[-1] == "`" and title[1:-1] != scripts[0].text:
        yield "its title names another command"


def _other_deeds(kind: str, names: Iterable[str]) -> Iterator[str]:
    """Where a call says that it reads, and its tool's name or a switch that it does something else."""
    for name in names if kind in READS else ():
        verb = re.match(r"[a-z]+|[A-Z][a-z]*", name.rpartition("__")[2].lstrip("_"))
        if verb is not None and verb[0].lower() in TOOL_VERBS:
            yield f"the tool claims to only read, but {name!r} begins with {verb[0]!r}"
            return


def _unasked_changes(call: v1.ToolCallUpdate, known_call: v1.ToolCallUpdate | None) -> Iterator[str]:
    asked, known = (
        {item.path for item in _all([each], "content") if isinstance(item, v1.Diff)} if each else set()
        for each in (call, known_call)
    )
    if asked and known - asked:
        yield f"the agent has announced a change of {min(known - asked)} that it does not ask for"


def _input_of(call: v1.ToolCallUpdate) -> object:
    """A tool's input; some agents send it as the text of its JSON."""
    if not isinstance(call.raw_input, str):
        return None if call.raw_input is UNSET else call.raw_input
    try:
        value = msgspec.json.decode(call.raw_input)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return call.raw_input
    return value if isinstance(value, dict | list) else call.raw_input


def act_of_request(
    method: str, params: Mapping[str, object], setting: ActContext, *, session_id: str = ""
) -> Act | None:
    """Return the act of a request for files or terminals; None if the request has no effect of its own."""
    path = params.get("path")
    if method in ("fs/read_text_file", "fs/write_text_file") and isinstance(path, str):
        kind: Literal["read", "write"] = "read" if method == "fs/read_text_file" else "write"
        text = content if isinstance(content := params.get("content"), str) else None
        return act_of_file(kind, path, setting, session_id=session_id, text=text)
    if method != "terminal/create":
        return None
    script, cwd = _read(params.get("command"), params.get("args"), ""), params.get("cwd")
    return _about_script(
        script, setting, cwd if isinstance(cwd, str) else "", _variables_in(params), session_id
    )


def act_of_server(server: Mapping[str, object], setting: ActContext) -> Act:
    """Return the act of using an MCP server that a client names: a program that the agent starts, or an
    address.
    """
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
    """Return the act of a file access. The path is the real one; a search has a pattern instead. `text` is
    the text to write.
    """
    writes = kind == "write"
    return Act(
        method="fs/write" if writes else "fs/read",
        agent=setting.agent,
        session_id=session_id,
        kind="edit" if writes else kind,
        paths=() if kind == "search" else (path,),
        title=path,
        writes=writes,
        changes=(FileChange(path=path, source="write", new=text),) if text is not None and writes else (),
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
    """Return the act of a command in a terminal; `line` if a shell parses it."""
    return _about_script(
        (read_arguments(words) if line is None else read_line(line)), setting, cwd, variables, session_id
    )


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
    """Fold all messages of an agent about a call: earlier values still apply if a request omits them."""
    if known_call is None:
        return call
    calls = (call, known_call)
    raw = [each.raw_input for each in reversed(calls) if isinstance(each.raw_input, Mapping)]
    return replace(
        call,
        kind=call.kind or known_call.kind,
        title=call.title or known_call.title,
        name=call.name or known_call.name,
        content=_each_once(_all(calls, "content")),
        locations=_each_once(_all(calls, "locations")),
        raw_input=reduce(merge_inputs, raw) if raw else call.raw_input or known_call.raw_input,
    )


def _each_once(items: Sequence[Any]) -> list[Any]:
    return [item for at, item in enumerate(items) if item not in items[:at]]


def _all(calls: Iterable[v1.ToolCallUpdate], field: str) -> list[Any]:
    return [item for each in calls if isinstance(value := getattr(each, field), list) for item in value]


def _paths_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    for key in (*PLACE_KEYS, *PATH_LISTS):
        value = raw.get(key)
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def _only_argument(raw: Mapping[Any, Any], kind: str) -> list[str]:
    """The meaning of the only argument of a tool."""
    word = raw.get("arguments")
    return [word] if kind == "read" and isinstance(word, str) and len(word.split()) == 1 else []


def _said(inputs: Sequence[Mapping[Any, Any]], keys: Sequence[str]) -> list[str]:
    """The different texts under these names."""
    found = (raw[key] for raw in inputs for key in keys if isinstance(raw.get(key), str) and raw[key])
    return _finished(dict.fromkeys(found))


def _finished(texts: Collection[str]) -> list[str]:
    """The beginning of another text was that text, before it was whole."""
    return [text for text in texts if not any(other != text and other.startswith(text) for other in texts)]


def _variables_in(raw: Mapping[Any, Any]) -> Iterable[str]:
    """The variables in a tool's input: an object, or a list of names and values."""
    for key in VARIABLE_KEYS:
        variables = raw.get(key)
        if isinstance(variables, Mapping):
            yield from (f"{name}={value}" for name, value in variables.items())
        for item in variables if isinstance(variables, list) else ():
            match item:
                case str():
                    yield item
                case {"name": str(name)}:
                    yield f"{name}={item.get('value', '')}"


def _scripts_in(inputs: Sequence[Mapping[Any, Any]], *, kind: str, title: str) -> Sequence[CommandScript]:
    """Every command that an agent has named for a call."""
    scripts: dict[str, CommandScript] = {}
    for raw in inputs:
        for key in COMMAND_KEYS:
            command = raw.get(key)
            verbs = _EDITOR_VERBS[: 1 if kind in READS else None]
            if command is None or (kind != "execute" and "path" in raw and command in verbs):
                continue
            script = _read(command, raw.get("args"), title)
            scripts.setdefault(script.text, script)
    return [scripts[text] for text in _finished(scripts)] or (
        [unknown_command(title)] if kind == "execute" else []
    )


def _join(scripts: Sequence[CommandScript]) -> CommandScript | None:
    if len(scripts) < 2:
        return scripts[0] if scripts else None
    return CommandScript(
        text="\n".join(script.text for script in scripts),
        commands=tuple(words for script in scripts for words in script.commands),
        objection="the line has more than one command",
        possible=tuple(words for script in scripts for words in (*script.commands, *script.possible)),
    )


def _read(command: object, args: object, title: str) -> CommandScript:
    if isinstance(command, str) and not args:
        return read_line(command)
    match [command] if isinstance(command, str) else command, args or []:
        case list() as words, list() as more if words and all(isinstance(each, str) for each in words + more):
            return read_arguments(words + more)
    return unknown_command(title)
