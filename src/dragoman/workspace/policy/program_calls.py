"""A command read with the table of programs: its options, its operands, and what it would run besides itself.

Pure. `read_call` takes a command's words apart as its program would: bundled letters, values that are
attached or follow, long options with `=` or shortened, and `--`. `reason_not_to_allow` says why no rule may
allow a command, though its words are clear: it makes its program run or load something. `commands_within` are
the commands that a command runs for sure (`uv run git push`) or may run (an alias of git).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from dragoman.workspace.policy.git_options import GIT_SUBCOMMANDS
from dragoman.workspace.policy.partial_words import ANY
from dragoman.workspace.policy.program_table import (
    ALIASES,
    ProgramEntry,
    ProgramOption,
    entry_for,
    has_subcommands,
)
from dragoman.workspace.policy.programs import CODE_MODULES, SAFE_GIT_SETTINGS, name_of

_NOTHING: Final = ProgramEntry({}, frozenset())

MOST_INNER: Final = 32
"""How many words of a command are looked at as the beginning of another one."""


class GivenFlag(NamedTuple):
    """One option as it was given."""

    text: str
    option: ProgramOption | None
    """None if the table does not know it."""
    value: str | None = None


class ProgramCall(NamedTuple):
    """A command, taken apart."""

    program: str
    subcommand: str | None
    entry: ProgramEntry | None
    flags: tuple[GivenFlag, ...]
    operands: tuple[str, ...]
    """Without the subcommand."""


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """The name under which the table knows a program."""
    name = name_of(word)
    if entry_for(name) is None and not has_subcommands(name):
        name = name.casefold()
    name = ALIASES.get(name, name)
    # `python3.11` and `pip3` are what they are without their version.
    bare = name.rstrip("0123456789.-")
    is_in_table = entry_for(name) is not None or has_subcommands(name)
    return (
        bare if not is_in_table and bare and (entry_for(bare) is not None or has_subcommands(bare)) else name
    )


@lru_cache(maxsize=256)
def read_call(words: tuple[str, ...]) -> ProgramCall:
    """What a command's words mean to its program."""
    name = program_name(words[0])
    return _Parser(name, words[1:]).parse()


class _Parser:
    def __init__(self, name: str, words: Sequence[str]) -> None:
        self._name = name
        self._words = deque(words)
        self._entry = entry_for(name)
        self._wants_subcommand = has_subcommands(name)
        self._subcommand: str | None = None
        self._flags: list[GivenFlag] = []
        self._operands: list[str] = []

    def parse(self) -> ProgramCall:
        if self._name == "tar" and self._words and not self._words[0].startswith("-"):
            self._words[0] = f"-{self._words[0]}"  # its oldest form has no dash
        while self._words:
            word = self._words.popleft()
            if word == "--":
                self._operands += self._words
                break
            if word.startswith("-") and len(word) > 1:
                self._flag(word)
            else:
                self._operand(word)
            if self._is_over():
                self._operands += self._words
                break
        return ProgramCall(
            self._name, self._subcommand, self._entry, tuple(self._flags), tuple(self._operands)
        )

    def _operand(self, word: str) -> None:
        if not self._wants_subcommand:
            self._operands.append(word)
            return
        self._wants_subcommand = False
        self._subcommand = word
        # After its subcommand, git no longer takes the options of its own.
        below = entry_for(self._name, word)
        self._entry = (
            (below if below is not entry_for(self._name) else _NOTHING) if self._name == "git" else below
        )

    def _is_over(self) -> bool:
        if self._entry is None or "first" not in self._entry.marks or self._wants_subcommand:
            return False
        module = self._name in ("python", "pypy") and any(flag.text == "-m" for flag in self._flags)
        return bool(self._operands) or module

    def _flag(self, word: str) -> None:
        options = self._entry.options if self._entry is not None else {}
        if self._entry is not None and "onedash" in self._entry.marks:
            self._one_dash(word, options)
        elif word.startswith("--"):
            self._long(word, options)
        elif word in options:
            self._take(word, options[word], None)
        else:
            self._letters(word, options)

    def _long(self, word: str, options: dict[str, ProgramOption]) -> None:
        name, equals, value = word.partition("=")
        option = options.get(name)
        if option is None:
            # Most programs take a long option shortened. If it could be one that runs something, it is.
            candidates = [
                options[full] for full in options if full.startswith(name) and full.startswith("--")
            ]
            option = max(candidates, key=lambda each: each.runs, default=None)
            if len(set(candidates)) > 1 and option is not None and not option.runs:
                option = None
        self._take(name, option, value if equals else None)

    def _one_dash(self, word: str, options: dict[str, ProgramOption]) -> None:
        name, equals, value = word.partition("=")
        for spelling in (name, name.replace("--", "-", 1)):
            if spelling in options:
                self._take(spelling, options[spelling], value if equals else None)
                return
        prefixes = [
            option for option in options if word.startswith(option) and options[option].takes != "nothing"
        ]
        if prefixes:
            longest = max(prefixes, key=len)
            self._take(longest, options[longest], word[len(longest) :])
        else:
            self._flags.append(GivenFlag(name, None, value if equals else None))

    def _letters(self, word: str, options: dict[str, ProgramOption]) -> None:
        for at in range(1, len(word)):
            name = f"-{word[at]}"
            option = options.get(name)
            if option is not None and option.takes != "nothing":
                self._take(name, option, word[at + 1 :] or None)
                return
            self._take(name, option, None)
            if option is None and self._entry is None:
                continue
            if option is None and word[at + 1 :]:
                # What follows a letter that nobody knows may be its value, and may be more letters.
                self._flags[-1] = GivenFlag(name, None, word[at + 1 :])

    def _take(self, name: str, option: ProgramOption | None, value: str | None) -> None:
        if option is not None and option.takes == "value" and value is None and self._words:
            value = self._words.popleft()
        self._flags.append(GivenFlag(name, option, value))


# What a command runs.


def reason_not_to_allow(words: tuple[str, ...]) -> str | None:
    """Why no rule may allow this command by its words, or None."""
    call = read_call(words)
    if call.entry is not None and "runs" in call.entry.marks:
        return f"{_command_name(call)} runs what it is given, or what a person tells it"
    for flag in call.flags:
        if flag.option is not None and flag.option.runs and not _is_harmless(call, flag):
            return f"{_command_name(call)} is given {flag.text}, which makes it run or load something"
        if flag.option is None and call.entry is None and _SUSPECT.fullmatch(flag.text):
            return f"{_command_name(call)} is given {flag.text}, which sounds as if it ran something"
    check = _CHECKS.get(call.program)
    return check(call) if check is not None else None


_SUSPECT = re.compile(
    r"--([a-z-]+-)?(exec|execute|eval|shell|pager|editor|rsh|preload|command|program|cmd|askpass)"
)


def _command_name(call: ProgramCall) -> str:
    return call.program if call.subcommand is None else f"{call.program} {call.subcommand}"


def _is_harmless(call: ProgramCall, flag: GivenFlag) -> bool:
    value = flag.value or ""
    return call.program == "pytest" and flag.text == "-p" and value.startswith("no:")


def commands_within(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Commands that this one runs, or may run: rules that deny look at them as well."""
    call = read_call(words)
    marks = call.entry.marks if call.entry is not None else frozenset()
    if call.program in ("python", "pypy"):
        module = next((flag.value for flag in call.flags if flag.text == "-m" and flag.value), None)
        if module is not None:
            yield (module, *call.operands)
    if call.program.startswith("git-") and call.program[4:] in GIT_SUBCOMMANDS:
        yield ("git", call.program[4:], *words[1:])
    if "carries" in marks:
        for at in range(min(len(call.operands), MOST_INNER)):
            yield call.operands[at:]
    if call.program == "git" and call.subcommand is not None and call.subcommand not in GIT_SUBCOMMANDS:
        yield (ANY,)  # an alias: nobody knows what it stands for


def texts_that_run(words: tuple[str, ...]) -> Iterator[str]:
    """What a command's options hand to something that runs it, as text."""
    call = read_call(words)
    for flag in call.flags:
        if flag.option is not None and flag.option.runs and flag.value:
            yield flag.value
            # A setting is a name and a value; an alias of git that runs a line begins with `!`.
            yield flag.value.partition("=")[2].removeprefix("!")
            if call.program == "git" and re.match(r"alias\.", flag.value, re.IGNORECASE):
                yield "git " + flag.value.partition("=")[2].removeprefix("!")


# Programs whose operands decide.

_ADDRESS = r"(?:\d+|\$|/(?:\\.|[^/\\])*/I?)"
_UP_TO_END = r"(?:\\.|(?!(?P=end))[^\\])*(?P=end)"
_SUBSTITUTION = rf"s(?P<end>[/|#,:@!_%~]){_UP_TO_END}{_UP_TO_END}[gpiIM0-9]*"
_SED_COMMAND = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~]\d+)|~\d+)?)?\s*!?\s*"
    rf"(?:[pdqQ=lhHgGxnND]\d*|{_SUBSTITUTION})\s*(?:[;\n]|$)"
)
_AWK_RUNS = re.compile(r"system|getline|[|>@]|\bclose\b|\bfflush\b|\bload\b|\binclude\b")
_SQLITE_RUNS = re.compile(r"^\s*\.|load_extension|writefile|readfile|edit\s*\(|fts3_tokenizer", re.IGNORECASE)
_HARMLESS_MAKE = re.compile(r"(?:V|VERBOSE|DEBUG|CI|NO_COLOR|Q)=\w*|[A-Za-z_]\w*:?=\d*")


def _check_sed(call: ProgramCall) -> str | None:
    scripts = [flag.value or "" for flag in call.flags if flag.text in ("-e", "--expression")]
    for script in scripts or call.operands[:1]:
        at = 0
        while at < len(script):
            match = _SED_COMMAND.match(script, at)
            if match is None or match.end() == at:
                return "sed's script may run commands or write files"
            at = match.end()
    return None


def _check_awk(call: ProgramCall) -> str | None:
    if call.operands and _AWK_RUNS.search(call.operands[0]):
        return "awk's program may run commands or write files"
    return None


def _check_make(call: ProgramCall) -> str | None:
    for word in call.operands:
        if "=" in word and not _HARMLESS_MAKE.fullmatch(word):
            return f"make is given {word.partition('=')[0]}, which may be run"
    return None


def _check_git(call: ProgramCall) -> str | None:
    operands = call.operands
    if any(word.startswith(("ext::", "fd::")) for word in operands):
        return "git is given an address that is run"
    marks = call.entry.marks if call.entry is not None else frozenset()
    for verb in ("run", "foreach"):
        if f"runs-{verb}" in marks and verb in operands:
            return f"git {call.subcommand} {verb} runs a command"
    if "runs-config" in marks:
        return _check_git_config(call)
    return None


def _check_git_config(call: ProgramCall) -> str | None:
    reading = {"--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--list"}
    if any(flag.text in reading for flag in call.flags) or call.operands[:1] in (("get",), ("list",)):
        return None
    operands = call.operands[1:] if call.operands[:1] == ("set",) else call.operands
    if len(operands) < 2 and not any(flag.text in ("--add", "--replace-all") for flag in call.flags):
        return None  # it reads one
    if operands and any(fnmatchcase(operands[0].lower(), pattern) for pattern in SAFE_GIT_SETTINGS):
        return None
    return "git config changes a setting, and some settings run commands"


def _check_sqlite(call: ProgramCall) -> str | None:
    if any(_SQLITE_RUNS.search(word) for word in call.operands[1:]):
        return "sqlite3 is given a command of its own, which may run others"
    return None


def _check_python(call: ProgramCall) -> str | None:
    module = next((flag.value for flag in call.flags if flag.text == "-m"), None)
    if module is None:
        return None
    if module.partition(".")[0] in CODE_MODULES:
        return f"the module {module} runs what it is given"
    return reason_not_to_allow((module, *call.operands)) if module else None


def _check_compose(call: ProgramCall) -> str | None:
    if call.subcommand == "compose" and not {"run", "exec"}.isdisjoint(call.operands[:1]):
        return "docker compose runs a command"
    return None


def _check_java(call: ProgramCall) -> str | None:
    if any(flag.text.startswith(("-XX:On", "-XX:Flags")) for flag in call.flags):
        return "java is given a command to run"
    return None


_CHECKS: Final[dict[str, Callable[[ProgramCall], str | None]]] = {
    "sed": _check_sed,
    "awk": _check_awk,
    "make": _check_make,
    "git": _check_git,
    "sqlite3": _check_sqlite,
    "python": _check_python,
    "pypy": _check_python,
    "docker": _check_compose,
    "podman": _check_compose,
    "java": _check_java,
}


def goes_below(words: tuple[str, ...]) -> bool:
    """Whether a folder among the operands stands for all that is in it."""
    call = read_call(words)
    if call.entry is None:
        return False
    recursive = any(flag.option is not None and "-r" in flag.option.names for flag in call.flags) or any(
        flag.text in ("-R", "-a", "--archive") for flag in call.flags
    )
    return "below" in call.entry.marks or ("below-r" in call.entry.marks and recursive)
