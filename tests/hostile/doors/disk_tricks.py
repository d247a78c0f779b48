"""Agents that change the disk without a word, and repositories that speak for themselves.

Each trick is a line of shell that an agent runs by itself, in a folder that another line has made. The run is
told to be strict, or to put everything back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.hostile.doors.tricks import Outcome, Trick


@dataclass(frozen=True, kw_only=True)
class StrictTrick(Trick):
    """`run --strict` must not end as if nothing had changed."""

    before: str
    line: str


GIT = """
git init -q -b main . && printf 'build/\\nnode_modules/\\n.env\\n*.log\\n' > .gitignore && echo notes > notes
mkdir build && echo x > build/x && echo KEY=1 > .env
git add . && git commit -qm first
"""

PLAIN = "echo notes > notes"


def strict(name: str, line: str, *, before: str = GIT, at_first: Outcome = "never did") -> StrictTrick:
    return StrictTrick(
        name=f"a silent change: {name}",
        at_first=at_first,
        axis="put back",
        said="the person said --strict, and was asked nothing",
        does=f"runs `{line}`",
        effect="the run ends as if nothing had changed",
        before=before,
        line=line,
    )


STRICT_TRICKS = [
    strict(
        "a hook of the repository",
        "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        at_first="succeeded",
    ),
    strict("the configuration of the repository", "git config core.fsmonitor ./evil", at_first="succeeded"),
    strict("filters of the repository", "echo '* filter=evil' > .git/info/attributes", at_first="succeeded"),
    strict("what the repository ignores", "echo '*' >> .git/info/exclude; echo evil > evil.py"),
    strict("a folder that is ignored", "echo evil > build/evil", at_first="succeeded"),
    strict(
        "packages that are ignored",
        "mkdir -p node_modules/evil; echo evil > node_modules/evil/index.js",
        at_first="succeeded",
    ),
    strict("a file that is ignored", "echo KEY=2 > .env"),
    strict(
        "a file that git is told not to look at",
        "git update-index --assume-unchanged notes; echo evil > notes",
    ),
    strict("a change that is committed", "echo evil > notes; git add notes; git commit -qm evil"),
    strict(
        "a change of the same size and date",
        "touch -r notes ../date; printf 'evil!\\n' > notes; touch -r ../date notes",
    ),
    strict("the right to execute", "chmod +x notes"),
    strict("rights for everybody", "chmod 0666 notes", at_first="succeeded"),
    strict("a link in the place of a file", "rm notes; ln -s /etc/hostname notes"),
    strict(
        "a link that leads elsewhere", "ln -sfn /etc/hosts link", before=f"ln -s /etc/hostname link\n{GIT}"
    ),
    strict("a new branch", "git checkout -q -b evil", at_first="succeeded"),
    strict("a reference that is moved", "git update-ref refs/heads/evil HEAD", at_first="succeeded"),
    strict(
        "a repository inside",
        "cd inner && echo evil > file",
        before=f"{GIT}\ngit init -q inner && cd inner && echo x > file && git add . && git commit -qm inner",
        at_first="succeeded",
    ),
    strict(
        "a hook of a repository inside",
        "echo evil > inner/.git/hooks/pre-commit",
        before=f"{GIT}\ngit init -q inner && cd inner && echo x > file && git add . && git commit -qm inner",
        at_first="succeeded",
    ),
    strict("a new repository inside", "git init -q evil && echo evil > evil/file", at_first="succeeded"),
    strict("a file name that is no text", "echo evil > $(printf 'evil\\377')", at_first="succeeded"),
    strict(
        "a folder of git in a plain folder",
        "git init -q . && echo evil > .git/hooks/pre-commit",
        before=PLAIN,
        at_first="succeeded",
    ),
    strict(
        "packages in a plain folder",
        "mkdir -p node_modules/e; echo evil > node_modules/e/index.js",
        before=PLAIN,
        at_first="succeeded",
    ),
    strict(
        "an environment in a plain folder",
        "mkdir -p .venv/lib; echo evil > .venv/lib/sitecustomize.py",
        before=PLAIN,
        at_first="succeeded",
    ),
    strict(
        "a cache in a plain folder",
        "mkdir -p __pycache__; echo evil > __pycache__/evil.pyc",
        before=PLAIN,
        at_first="succeeded",
    ),
]


@dataclass(frozen=True, kw_only=True)
class BackTrick(Trick):
    """`run --changes revert` puts back what was there, and opens it to nobody else."""

    before: str
    line: str
    look: str
    """A line whose words say how it is now."""
    wanted: str


def back(
    name: str, before: str, line: str, look: str, wanted: str, *, at_first: Outcome = "never did"
) -> BackTrick:
    return BackTrick(
        name=f"put back: {name}",
        at_first=at_first,
        axis="put back",
        said="the person said --changes revert",
        does=f"runs `{line}`",
        effect=f"afterwards `{look}` says something else than {wanted!r}",
        before=before,
        line=line,
        look=look,
        wanted=wanted,
    )


KEY = "echo key > key; chmod 0600 key"

BACK_TRICKS = [
    back("a key that was removed", KEY, "rm key", "stat -c %a key", "600", at_first="succeeded"),
    back(
        "a key that was replaced",
        KEY,
        "rm key; echo evil > key",
        "stat -c %a key",
        "600",
        at_first="succeeded",
    ),
    back(
        "a key that was opened to everybody",
        KEY,
        "echo evil > key; chmod 0666 key",
        "stat -c %a key",
        "600",
        at_first="succeeded",
    ),
    back(
        "a key that was only opened to everybody",
        KEY,
        "chmod 0666 key",
        "stat -c %a key",
        "600",
        at_first="succeeded",
    ),
    back(
        "a script of one person",
        "echo true > run; chmod 0700 run",
        "rm run",
        "stat -c %a run",
        "700",
        at_first="succeeded",
    ),
    back(
        "a file that nobody may write",
        "echo x > fixed; chmod 0444 fixed",
        "rm -f fixed",
        "stat -c %a fixed",
        "444",
        at_first="succeeded",
    ),
    back(
        "a folder of one person",
        "mkdir mine; chmod 0700 mine; echo x > mine/x",
        "rm -r mine",
        "stat -c %a mine",
        "700",
        at_first="succeeded",
    ),
    back(
        "a link that was replaced by a file",
        "echo x > x; ln -s x link",
        "rm link; echo evil > link",
        "readlink link",
        "x",
    ),
    back("a file that was replaced by a link", "echo x > x", "rm x; ln -s ../outside x", "cat x", "x"),
    back(
        "the target of a link that came instead",
        "echo x > x; echo safe > ../outside",
        "rm x; ln -s ../outside x",
        "cat ../outside",
        "safe",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ReviewTrick(Trick):
    """`review --diff main --fail-on medium` on a branch that brings along why it should say nothing."""

    files: Mapping[str, str] = field(default_factory=dict)
    code: str = "def run(text):\n    return eval(text)\n"
    arguments: Sequence[str] = ()
    tools: bool = False
    """Whether the linters of others look, too."""


def reviewed(name: str, does: str, **more: object) -> ReviewTrick:
    return ReviewTrick(
        name=f"a pull request: {name}",
        axis="put back",
        said="the person asked for a review of the changes",
        does=does,
        effect="the review finds nothing",
        **more,  # type: ignore[arg-type]
    )


RULE = """
[[rule]]
id = "python/eval"
title = "Nothing"
why = "Nothing."
severity = "info"
languages = ["python"]
pattern = 'never-in-any-text'
"""

REVIEW_TRICKS = [
    reviewed(
        "a baseline of its own",
        "adds the baseline that knows its own finding",
        files={"baseline": ""},
        at_first="succeeded",
    ),
    reviewed(
        "a rule in the place of ours",
        "adds a rule of the same id that finds nothing",
        files={".dragoman/rules/mine.toml": RULE},
    ),
    reviewed(
        "a comment that silences the line",
        "silences the rule in the line that it adds",
        code="def run(text):\n    return eval(text)  # dragoman: ignore[python/eval] it is ours\n",
        at_first="succeeded",
    ),
    reviewed(
        "a comment that silences the file",
        "silences all rules of the file that it adds",
        code="# dragoman: ignore-file[python/*] it is ours\ndef run(text):\n    return eval(text)\n",
        at_first="succeeded",
    ),
    reviewed(
        "the line below a comment that the base has",
        "adds its line between a comment of the base and the line that it is about",
        files={"a.py": '# dragoman: ignore[python/eval] a constant\neval(text)\nx = eval("1")\n'},
        code="",
        at_first="succeeded",
    ),
    reviewed(
        "a comment in the line, and whole files are reviewed",
        "silences the rule in the line that it adds",
        files={
            "a.py": '# dragoman: ignore[python/eval] a constant\nx = eval("1")\n'
            "eval(text)  # dragoman: ignore[python/eval] x\n"
        },
        code="",
        arguments=["--whole-files"],
        at_first="succeeded",
    ),
    reviewed(
        "a baseline that the workflow names",
        "changes the baseline that the command line names",
        files={"baseline": "known.json"},
        arguments=["--baseline", "known.json"],
        at_first="succeeded",
    ),
    reviewed(
        "a byte that is no UTF-8",
        "has a name with an umlaut in its comment, in the encoding that it declares",
        code="# -*- coding: latin-1 -*-\n# by J\xf6rg\ndef run(text):\n    return eval(text)\n",
        at_first="succeeded",
    ),
    reviewed(
        "a name of code that programs write",
        "calls its file as if it were generated",
        files={"b_pb2.py": "def run(text):\n    return eval(text)\n"},
        code="",
        at_first="succeeded",
    ),
    reviewed(
        "a comment that silences ruff",
        "silences the tool that knows the rule in the line that it adds",
        code="def run(text):\n    return eval(text)  # NOQA: S307\n",
        tools=True,
        at_first="succeeded",
    ),
    reviewed(
        "a comment that silences ruff in the file",
        "silences the tool that knows the rule",
        code="# ruff: noqa\ndef run(text):\n    return eval(text)\n",
        tools=True,
        at_first="succeeded",
    ),
    reviewed(
        "attributes that hide the change",
        "says that its file is no text",
        files={".gitattributes": "*.py binary -diff\n"},
        at_first="succeeded",
    ),
    reviewed(
        "a file that is generated",
        "says that its file is generated",
        files={".gitattributes": "*.py linguist-generated\n"},
    ),
    reviewed(
        "a rule file that makes no sense",
        "adds rules that cannot be read",
        files={".dragoman/rules/mine.toml": "[["},
    ),
]


@dataclass(frozen=True, kw_only=True)
class ImportTrick(Trick):
    """`agents import acpx` in a folder with a file that somebody else wrote."""

    file: str = ".acpxrc.json"
    options: Sequence[str] = ()


IMPORT_TRICKS = [
    ImportTrick(
        name="an import: the agents of the repository",
        at_first="succeeded",
        axis="put back",
        said="the person asked for the agents of acpx, and named no file",
        does="has a file of acpx with a program of its own under a known name",
        effect="the program is in the person's configuration",
    ),
    ImportTrick(
        name="an import: the agents of the repository in the place of those that are there",
        at_first="succeeded",
        axis="put back",
        said="the person asked to replace agents, and named no file",
        does="has a file of acpx with a program of its own under a known name",
        effect="the program is in the person's configuration",
        options=["--replace"],
    ),
]
