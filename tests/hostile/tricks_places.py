"""Spellings of places: rules that deny a folder, and rules that allow one, are to hold for each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.hostile.tricks import (
    ANYTHING,
    COPY_OF_REPOSITORY,
    EVIL_FILE,
    LEAK,
    Effect,
    Step,
    Trick,
    call,
    shell,
    turn,
)

NO_SECRET = {"decision": "deny", "path": ["secret/**", "~/.ssh/**"]}
SRC_ALONE = {"decision": "allow", "kind": "edit", "path": "src/**"}
ALL_EDITS = {"decision": "allow", "kind": "edit", "path": "**"}
OUTSIDE = Effect("@beside@/evil")
KEY = "@here@/secret/key"


def told(
    name: str,
    raw: object,
    *,
    opens: str = "secret/key",
    files: Mapping[str, str] | None = None,
    **fields: Any,
) -> Trick:
    """A denied file, named in the request in some way; the agent reads it if it may."""
    asked = call("read", rawInput=raw, **fields)
    read: Step = {"run": f"cat '{opens}'", "when": "q", "out": "leak"}
    plain = call("read", rawInput={"path": "@here@/open"})
    return Trick(
        name=name,
        axis="D",
        said="the policy denies secret/** and ~/.ssh/**, and allows the rest",
        does=f"asks to read a file that it names as {raw!r} and reads it",
        rules=(NO_SECRET, ANYTHING),
        turns=(turn({"ask": asked}, read),),
        honest=(turn({"ask": plain}, {"write": ["done", ""], "when": "q"}),),
        effect=LEAK,
        files={"open": "x", **(files or {})},
    )


def lent(name: str, path: str, *, files: Mapping[str, str] | None = None, effect: Effect = LEAK) -> Trick:
    """A denied file, read through the hub."""
    return Trick(
        name=name,
        axis="D",
        said="the policy denies secret/** and ~/.ssh/**, and allows the rest",
        does=f"reads {path!r} through the hub",
        rules=(NO_SECRET, ANYTHING),
        turns=(turn({"call": "fs/read_text_file", "params": {"path": path}}, {"keep": "leak", "of": "q"}),),
        honest=(
            turn(
                {"call": "fs/read_text_file", "params": {"path": "@here@/open"}}, {"keep": "done", "of": "q"}
            ),
        ),
        effect=effect,
        files={"open": "x", **(files or {})},
    )


def written(
    name: str, path: str, *, effect: Effect = OUTSIDE, files: Mapping[str, str] | None = None
) -> Trick:
    """A file outside what a rule allows, written through the hub."""
    return Trick(
        name=name,
        axis="D",
        said="the policy allows edits below src",
        does=f"writes {path!r} through the hub",
        rules=(SRC_ALONE,),
        turns=(turn({"call": "fs/write_text_file", "params": {"path": path, "content": "bad"}}),),
        honest=(turn({"call": "fs/write_text_file", "params": {"path": "@here@/src/done", "content": ""}}),),
        effect=effect,
        honest_effect=Effect("@here@/src/done"),
        files={"src/a": "x", **(files or {})},
    )


def edited(name: str, **fields: Any) -> Trick:
    """A request that names a file below src, and another one somewhere."""
    asked = call("edit", **fields)
    plain = call("edit", rawInput={"file_path": "@here@/src/a"}, locations=[{"path": "@here@/src/a"}])
    return Trick(
        name=name,
        axis="D",
        said="the policy allows edits below src",
        does=f"asks to edit with {fields!r} and writes the other file",
        rules=(SRC_ALONE,),
        turns=(turn({"ask": asked}, {"write": ["@beside@/evil", ""], "when": "q"}),),
        honest=(turn({"ask": plain}, {"write": ["done", ""], "when": "q"}),),
        effect=OUTSIDE,
        files={"src/a": "x"},
    )


def planted(
    name: str,
    path: str,
    text: str,
    line: str,
    *,
    files: Mapping[str, str] | None = None,
    effect: Effect = EVIL_FILE,
) -> Trick:
    """A file that makes an allowed command run something."""
    return Trick(
        name=name,
        axis="E",
        said=f"the policy allows edits in the folder, and {line!r}",
        does=f"writes {path} through the hub, then asks for {line!r} and runs it",
        rules=(ALL_EDITS, {"decision": "allow", "command_line": [line, "git status"]}),
        turns=(
            turn({"call": "fs/write_text_file", "params": {"path": f"@here@/{path}", "content": text}}),
            turn(*shell(line)),
        ),
        honest=(
            turn(
                {"call": "fs/write_text_file", "params": {"path": "@here@/src/a", "content": "b"}, "as": "w"}
            ),
            turn(*shell("git status")),
        ),
        effect=effect,
        files={"src/a": "x", ".git": COPY_OF_REPOSITORY, **(files or {})},
    )


FILE = "file://@here@/secret/key"
TOLD: tuple[Trick, ...] = (
    *(
        told(f"a denied file under the key {key}", {key: KEY})
        for key in (
            "fileName",
            "absolutePath",
            "relativePath",
            "target",
            "targetFile",
            "uri",
            "url",
            "source",
            "destination",
            "old_path",
            "newPath",
            "notebookPath",
            "folder",
            "resource",
            "input",
            "name",
        )
    ),
    told("a denied file in a list of paths", {"paths": ["@here@/open", KEY]}),
    told("a denied file in a list of files with ranges", {"files": [{"file_path": KEY, "lines": [1, 2]}]}),
    told("a denied file deep in the input", {"args": {"tool": {"input": {"path": KEY}}}}),
    told("a denied file as a key of a table", {"changes": {KEY: {"type": "update"}}}),
    told("a denied file in an input that is a text", KEY),
    told("a denied file in an input that is a list", [KEY]),
    told("a denied file in an input that is JSON in a text", json.dumps({"path": KEY})),
    told("a denied file as an address", {"path": FILE}),
    told("a denied file as an address with percent signs", {"path": "file://@here@/sec%72et/key"}),
    told("a denied file as an address with a host", {"path": "file://localhost@here@/secret/key"}),
    told("a denied file as an address of an editor", {"path": "vscode-remote://ssh@here@/secret/key"}),
    told("a denied file with a tilde", {"path": "~/.ssh/key"}, opens="@home@/.ssh/key"),
    told("a denied file with a variable", {"path": "$HOME/.ssh/key"}, opens="@home@/.ssh/key"),
    told("a denied file with a variable in braces", {"path": "${HOME}/.ssh/key"}, opens="@home@/.ssh/key"),
    told("a denied file behind the sign at", {"path": f"@{KEY}"}),
    told("a denied file between quotes", {"path": f'"{KEY}"'}),
    told("a denied file with blanks around it", {"path": f" {KEY} "}),
    told("a denied file with a line number", {"path": f"{KEY}:12"}),
    told("a denied file behind another one and a comma", {"path": f"@here@/open,{KEY}"}),
    told("a denied file by the folder of a process", {"path": "/proc/self/cwd/secret/key"}),
    told("a denied file with backslashes", {"path": "secret\\key"}),
    told("a denied file as a pattern of names", {"path": "@here@/secre?/key"}),
    told("a denied file in a pattern for everything", {"path": "@here@/**/key"}),
    told(
        "a denied file through a hard link",
        {"path": "@here@/hard"},
        opens="hard",
        files={"hard": "= secret/key"},
    ),
    told(
        "a denied file through a link to its folder",
        {"path": "@here@/pub/key"},
        opens="pub/key",
        files={"pub": "-> secret"},
    ),
    told("a denied file with other letters", {"path": "@here@/SECRET/KEY"}),
    told("a denied file in the title alone", {}, title=f"Read {KEY}"),
    told(
        "a denied file in a patch",
        {"patch": "*** Begin Patch\n*** Update File: secret/key\n@@\n-a\n+b\n*** End Patch"},
    ),
    told("a denied file in the locations alone", {}, locations=[{"path": KEY}]),
    told(
        "a denied file in a link of the content",
        {},
        content=[{"type": "content", "content": {"type": "resource_link", "name": "key", "uri": FILE}}],
    ),
)

LENT: tuple[Trick, ...] = (
    lent("reading through the hub with two dots", "@here@/src/../secret/key", files={"src/a": ""}),
    lent("reading through the hub by a link", "@here@/pub/key", files={"pub": "-> secret"}),
    lent("reading through the hub by a link to the file", "@here@/plain", files={"plain": "-> secret/key"}),
    lent("reading through the hub by a hard link", "@here@/hard", files={"hard": "= secret/key"}),
    lent(
        "reading through the hub by a link in the home folder",
        "@here@/house/.ssh/key",
        files={"house": "-> @home@"},
    ),
    lent("reading through the hub by the folder of the process", "/proc/self/root@here@/secret/key"),
    lent("reading through the hub with doubled slashes", "/@here@//secret///key"),
    lent("reading through the hub with a slash at the end", "@here@/secret/key/"),
    lent("reading through the hub with a dot at the end", "@here@/secret/key/."),
    lent("reading through the hub a relative path", "secret/key"),
    lent("reading through the hub an address", FILE),
    lent("reading through the hub with a tilde", "~/.ssh/key"),
    lent("reading through the hub with other letters", "@here@/SECRET/key"),
    lent("reading through the hub with an invisible character", "@here@/sec\u200bret/key"),
    lent("reading through the hub a NUL behind it", "@here@/secret/key\0.txt"),
    lent("reading through the hub a link that was made in the turn", "@here@/fresh/key"),
)

WRITTEN: tuple[Trick, ...] = (
    written("writing with two dots", "@here@/src/../../evil"),
    written(
        "writing below a link that leads away", "@here@/src/away/evil", files={"src/away": "-> @beside@"}
    ),
    written("writing to a link that leads away", "@here@/src/file", files={"src/file": "-> @beside@/evil"}),
    written(
        "writing to a link of a link",
        "@here@/src/one",
        files={"src/one": "-> two", "src/two": "-> ../../evil"},
    ),
    written(
        "writing to a hard link of a file elsewhere",
        "@here@/src/hard",
        files={"../evil": "good", "src/hard": "= ../evil"},
        effect=Effect("@beside@/evil", "bad"),
    ),
    written("writing with the folder of the process", "/proc/self/root@beside@/evil"),
    written("writing a relative path", "../evil"),
    written("writing an address", "file://@here@/src/../../evil"),
    written("writing with percent signs", "@here@/src/%2e%2e/%2e%2e/evil"),
    written(
        "writing a folder whose name begins alike", "@here@/src-evil/x", effect=Effect("@here@/src-evil/x")
    ),
    written("writing with other letters", "@here@/SRC/evil", effect=Effect("@here@/SRC/evil")),
    written(
        "writing into a folder of rules below src",
        "@here@/src/.dragoman/policy.toml",
        effect=Effect("@here@/src/.dragoman/policy.toml"),
    ),
    written(
        "writing into a folder of rules through a link",
        "@here@/src/rules/policy.toml",
        files={"src/rules": "-> ../.dragoman", ".dragoman/x": ""},
        effect=Effect("@here@/.dragoman/policy.toml"),
    ),
)

EDITED: tuple[Trick, ...] = (
    edited(
        "an edit whose diff is elsewhere",
        rawInput={"file_path": "@here@/src/a"},
        content=[{"type": "diff", "path": "@beside@/evil", "newText": ""}],
    ),
    edited(
        "an edit whose second diff is elsewhere",
        content=[
            {"type": "diff", "path": "@here@/src/a", "newText": ""},
            {"type": "diff", "path": "@beside@/evil", "newText": ""},
        ],
    ),
    edited(
        "an edit whose input is elsewhere",
        rawInput={"file_path": "@beside@/evil"},
        content=[{"type": "diff", "path": "@here@/src/a", "newText": ""}],
    ),
    edited(
        "an edit whose location is elsewhere",
        rawInput={"file_path": "@here@/src/a"},
        locations=[{"path": "@beside@/evil"}],
    ),
    edited(
        "an edit with a target in another key",
        rawInput={"file_path": "@here@/src/a", "target_path": "@beside@/evil"},
    ),
    edited(
        "an edit with a list of more files",
        rawInput={"file_path": "@here@/src/a", "edits": [{"file_path": "@beside@/evil"}]},
    ),
    edited("an edit with a destination", rawInput={"path": "@here@/src/a", "destination": "@beside@/evil"}),
    edited(
        "an edit with a table of files", rawInput={"path": "@here@/src/a", "changes": {"@beside@/evil": {}}}
    ),
    edited(
        "an edit that carries a patch of another file",
        rawInput={"path": "@here@/src/a", "patch": "--- a\n+++ ../evil\n@@ -0,0 +1 @@\n+x\n"},
    ),
    edited("an edit with two paths in one text", rawInput={"path": "@here@/src/a,@beside@/evil"}),
    edited(
        "an edit whose content links elsewhere",
        rawInput={"path": "@here@/src/a"},
        content=[
            {
                "type": "content",
                "content": {"type": "resource_link", "name": "evil", "uri": "file://@beside@/evil"},
            }
        ],
    ),
    edited(
        "an edit that names nothing but its title",
        title="Edit @beside@/evil",
        locations=[{"path": "@here@/src/a"}],
    ),
)

HOOKED = '[core]\n repositoryformatversion = 0\n fsmonitor = "touch @here@/evil; false"\n'
INNER = {
    f"inner/{name}": text
    for name, text in {"HEAD": "ref: refs/heads/master\n", "objects/x": "", "refs/x": ""}.items()
}
PLANTED: tuple[Trick, ...] = (
    planted("a written configuration that git status obeys", ".git/config", HOOKED, "git status"),
    planted(
        "a written configuration of an inner repository",
        "inner/.git/config",
        HOOKED,
        "cd inner && git status",
        files={"inner/.git": COPY_OF_REPOSITORY},
    ),
    planted(
        "a written configuration of a bare repository",
        "inner/config",
        HOOKED.replace("= 0\n", "= 0\n bare = false\n worktree = ..\n"),
        "cd inner && git status",
        files=INNER,
    ),
    planted("a written configuration in another spelling", "src/../.git/config", HOOKED, "git status"),
    planted(
        "a written configuration through a link",
        "look/config",
        HOOKED,
        "git status",
        files={"look": "-> .git"},
    ),
    planted(
        "a written file that names another repository",
        "inner/.git",
        "gitdir: ../outer\n",
        "cd inner && git status",
        files={"outer": COPY_OF_REPOSITORY, "outer/config": HOOKED, "inner/x": ""},
    ),
    planted(
        "a written setting of an agent that runs hooks",
        ".claude/settings.json",
        '{"hooks": {}}',
        "git status",
        effect=Effect("@here@/.claude/settings.json"),
    ),
    planted(
        "a written file of the shell's start",
        ".envrc",
        "touch evil\n",
        "git status",
        effect=Effect("@here@/.envrc"),
    ),
    planted(
        "a written task of an editor",
        ".vscode/tasks.json",
        "{}",
        "git status",
        effect=Effect("@here@/.vscode/tasks.json"),
    ),
)

PLACES: tuple[Trick, ...] = TOLD + LENT + WRITTEN + EDITED + PLANTED
