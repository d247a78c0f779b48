"""What the scripted model says to agents whose tools it has never seen.

A prompt carries a mark such as `[interop:write /project/made.txt]`. The first request after it is answered
with a call of whichever tool the agent offers for that: a tool that writes files, or else its shell. What
follows the call is answered with a short text, and so are requests that agents make on the side, for titles
and the like: these offer no tools. Parameters are filled by their names and schemas. An agent that offers a
tool to end its turn with gets the text as a call of that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from dragoman.testing.models import ModelRequest, ModelTurn, ToolDefinition, hold, say, turn
from dragoman.testing.models.turns import CallStep
from dragoman.wire.envelope import Json, JsonObject

MARK = re.compile(r"\[interop:(\w+)(?: ([^\]]+))?\]")
WORD = "pomegranate"
WRITTEN = "written by the scripted model\n"

WRITERS = ("write", "writefile", "writetofile", "createfile", "savefile", "editfile")
SHELLS = (
    *("bash", "shell", "execcommand", "runshellcommand", "shellcommand", "executecommand", "runcommand"),
    *("execute", "terminal", "runcommands", "executebash", "runterminalcmd", "localshell"),
)
STARTERS = ("agent", "task", "spawnagent", "delegate", "delegatetask", "createsubagent", "subagent")
FINISHERS = ("attemptcompletion",)
"""Names of tools without their case, hyphens and underscores."""

PATHS = ("file_path", "filePath", "path", "absolute_path", "filename", "file", "target_file")
CONTENTS = ("content", "contents", "file_text", "text", "new_content")
RESULTS = ("result",)
PROMPTS = ("prompt", "message", "goal", "task", "instructions", "query")
COMMANDS = ("command", "cmd", "script", "commands")
FIXED: Mapping[str, Json] = {
    "sandbox_permissions": "require_escalated",
    "with_escalated_permissions": True,
    "requires_approval": True,
    "justification": "a scripted step needs it",
    "description": "a scripted step",
    "security_risk": "LOW",
    "create": True,
}
"""Parameters that decide whether permission is asked for and whether a file may be new; sent if the tool has
them.
"""


def mark(step: str, argument: str = "") -> str:
    """The text of a prompt for a step."""
    return f"Please do this step. [interop:{step}{f' {argument}' if argument else ''}]"


def answer(request: ModelRequest) -> ModelTurn:
    """The turn for a request of any agent."""
    messages = request.messages
    marked = [(index, match) for index, message in enumerate(messages) if (match := _last_mark(message.text))]
    if not marked:
        return turn("ok")
    index, match = marked[-1]
    step, argument = match.group(1), match.group(2) or ""
    if step == "say":
        return _last_words(request.tools, "The word is ", f"{WORD}.")
    if any(message.calls or message.results for message in messages[index + 1 :]):
        return _last_words(request.tools, "Done.")
    if step == "hold":
        return turn(say("Waiting. "), hold(argument)) if request.tools else turn("ok")
    call = _call(step, argument, request.tools)
    return turn("ok") if call is None else turn(call)


def is_of_subagent(request: ModelRequest) -> bool:
    """Whether an agent asks that another one started with `starter_call`."""
    marks = [match.group(1) for message in request.messages if (match := _last_mark(message.text))]
    return marks[-1:] == ["say"]


def _last_words(tools: Mapping[str, ToolDefinition], *texts: str) -> ModelTurn:
    """The end of a turn, with the tool that the agent has for it."""
    for tool in _of_kind(tools, FINISHERS):
        if name := _first(tool, RESULTS):
            return turn(CallStep(tool.name, _filled(tool, {name: "".join(texts)})))
    return turn(say(*texts))


def write_call(tools: Mapping[str, ToolDefinition], path: str, text: str) -> CallStep | None:
    """A call that writes a file, with a tool for files or with the shell; None if there is neither."""
    for tool in _of_kind(tools, WRITERS):
        where, what = _first(tool, PATHS), _first(tool, CONTENTS)
        if where and what:
            return CallStep(tool.name, _filled(tool, {where: path, what: text}))
    return shell_call(tools, f"printf %s {shlex.quote(text)} > {shlex.quote(path)}")


def shell_call(tools: Mapping[str, ToolDefinition], command: str) -> CallStep | None:
    """A call that runs a command; None if the agent offers no shell."""
    for tool in _of_kind(tools, SHELLS):
        name = _first(tool, COMMANDS)
        if name:
            is_list = _schema(tool, name).get("type") == "array"
            words: list[Json] = [command] if name == "commands" else ["bash", "-lc", command]
            return CallStep(tool.name, _filled(tool, {name: words if is_list else command}))
    return None


def _call(step: str, argument: str, tools: Mapping[str, ToolDefinition]) -> CallStep | None:
    if step == "write":
        return write_call(tools, argument, WRITTEN)
    if step == "delegate":
        return starter_call(tools)
    return shell_call(tools, argument) if step == "run" else None


def starter_call(tools: Mapping[str, ToolDefinition]) -> CallStep | None:
    """A call that starts an agent, which is to say the word; None if there is no tool for that."""
    for tool in _of_kind(tools, STARTERS):
        if name := _first(tool, PROMPTS):
            given: JsonObject = {name: mark("say")}
            if _first(tool, ("subagent_type",)) and "enum" not in _schema(tool, "subagent_type"):
                named = re.search(r"\bgeneral(-purpose)?\b", f"{tool.description} {tool.parameters}")
                given["subagent_type"] = named.group() if named else "general-purpose"
            return CallStep(tool.name, _filled(tool, given))
    return None


def _last_mark(text: str) -> re.Match[str] | None:
    matches = list(MARK.finditer(text))
    return matches[-1] if matches else None


def _of_kind(tools: Mapping[str, ToolDefinition], names: Iterable[str]) -> list[ToolDefinition]:
    # Tools of an MCP server stand behind its name: `mcp__acp__Write`.
    by_name = {re.sub(r"[-_]", "", name.rpartition("__")[2]).lower(): tool for name, tool in tools.items()}
    return [by_name[name] for name in names if name in by_name]


def _first(tool: ToolDefinition, names: Iterable[str]) -> str | None:
    properties = tool.parameters.get("properties")
    return next((name for name in names if isinstance(properties, dict) and name in properties), None)


def _schema(tool: ToolDefinition, name: str) -> JsonObject:
    properties = tool.parameters.get("properties")
    schema = properties.get(name) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) else {}


def _filled(tool: ToolDefinition, given: Mapping[str, Json]) -> JsonObject:
    """The arguments with what the tool requires besides."""
    properties = tool.parameters.get("properties")
    names = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    values: JsonObject = {name: value for name, value in FIXED.items() if name in names}
    values.update(given)
    for name in required if isinstance(required, list) else []:
        values.setdefault(str(name), _example(_schema(tool, str(name))))
    return values


def _example(schema: JsonObject) -> Json:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    if _takes_null(schema):
        return None
    examples: Mapping[str, Json] = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}
    return examples.get(str(schema.get("type")), "scripted")


def _takes_null(schema: JsonObject) -> bool:
    """Whether nothing can be given: strict schemas require every parameter, and let it be null."""
    kinds, choices = schema.get("type"), schema.get("anyOf")
    return (isinstance(kinds, list) and "null" in kinds) or (
        isinstance(choices, list) and {"type": "null"} in choices
    )
