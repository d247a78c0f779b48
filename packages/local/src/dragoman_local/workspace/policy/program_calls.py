"""Reads a command's words as its program would, and reports whether all are understood.

Pure. `read_call` takes a command apart with the table of programs: bundled letters, values that are attached
or follow, and `--`. A program, a subcommand, an option or a spelling that the table does not hold is not
understood: `doubt` says so, and then no rule with a `*` in it allows the command.

A name in a list makes a command easier to deny. The table says which programs and options are understood:
only with those does a rule with a `*` allow a command.

The entries are data, in `program_options`. An entry is a program, or a program and
its subcommand, and its options:

    -x,--ex     two spellings of one option; no other spelling is the same option
    -x=         it takes a value, attached or as the next word; `-x=?` only an attached one
    -x>         what follows is a command
    (reads)     it changes no file
    (0), (1)    it takes no operand, or one
    (digits)    `-20` is an option
    (onedash)   long options have one dash, and letters are never bundled
    (any)       all its words are operands
    (script)    its one operand is a script; what stands behind that is the script's own
    (carries)   its operands are a command
    (project)   it runs the project's code: what it names must be inside, and `--` hands words on to that code
    (plain)     an operand with `=` in it is a setting
    (sed)       its first operand is a script of sed
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from dragoman_local.workspace.policy.program_options import PROGRAM_OPTIONS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _names(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell cmd elvish nu xonsh yash"
)

POSIX_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
"""Shells whose `-c` takes a line that we can read."""

RUNNERS: Final = _names("""
    sudo doas su pkexec runuser gosu setpriv capsh sudoedit run0 chroot unshare nsenter fakeroot
    systemd-run at batch crontab bwrap firejail env nice ionice chrt taskset stdbuf setsid setarch
    linux64 linux32 flock xargs parallel watch watchexec entr strace ltrace gdb lldb valgrind perf
    script expect unbuffer rlwrap busybox toybox ssh autossh mosh rsh nc ncat netcat socat telnet screen
    tmux zellij disown dtach caffeinate arch xvfb-run dbus-run-session systemd-inhibit proxychains
    proxychains4 torsocks tsocks proot chronic sem fakechroot ld.so ld-linux.so.2 ld-linux-x86-64.so.2
    make-jobserver sg newgrp daemonize start-stop-daemon reptyr nsjail minijail0 uwsgi cpulimit prlimit
    choom numactl chpst setuidgid s6-setuidgid softlimit find fd fdfind
    uv uvx npx bunx poetry pipenv pdm hatch rye conda mamba bundle rbenv pyenv asdf mise direnv nix nix-shell
    pipx pnpm yarn npm bun docker podman kubectl
    """)
"""Programs that run their arguments or their input: with other rights, elsewhere, repeatedly, or watched.
Denying rules search commands in their words. The list only turns questions into refusals.
"""

BUILTINS: Final = _names("""
    eval exec source . alias unalias trap set shopt enable hash builtin
    export readonly declare typeset local unset read mapfile readarray let
    getopts bind complete compgen coproc function return fc history setopt
    unsetopt zmodload autoload noglob nocorrect emulate bg fg jobs zcompile
    """)
"""Commands that change the meaning of the words after them."""

LOOKED_THROUGH: Final = frozenset({"nohup", "time", "command", "timeout"})
"""Programs that only run another command, and are read together with it."""

TREE_PROGRAMS: Final = _names("rm mv cp chmod chown chgrp tar bsdtar gtar pax zip 7z 7za 7zz rsync scp")
"""Programs for which a folder operand means all of its contents."""

RESERVED: Final = _names(
    "if then else elif fi do done case esac while until for in select foreach repeat end { } ! [[ ]] (("
)

HARMLESS_VARIABLES: Final = _names("""
    CI NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES LANG LANGUAGE TZ TERM
    DEBIAN_FRONTEND CLAUDECODE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED GIT_TERMINAL_PROMPT
    NODE_ENV RUST_LOG RUST_BACKTRACE PORT VERBOSE
    """)
"""Variables that only change how things look; any other may change what a program does."""

AGENT_MARKS: Final = frozenset({"CLAUDECODE=1"})
"""Variables that an agent sets for every command, so that programs know who runs them."""

TOOL_VERBS: Final = _names("""
    add append apply chmod clear commit copy cp create delete deploy destroy drop edit erase exec execute
    install kill merge modify move mv overwrite patch post publish purge push put remove rename replace reset
    rm run save send set submit truncate uninstall unlink update upload write
    """)
"""Beginnings of names of tools that do more than read, of any claimed kind."""

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|osascript|Rscript|R|ghci|irb|groovy"
    r"|sqlite3?|psql|mysql|mariadb|duckdb)"
    r"[\d.]*"
)


def is_interpreter(name: str) -> bool:
    """Whether a program without arguments runs its input."""
    return _INTERPRETER.fullmatch(name) is not None


_PLAIN_VALUE: Final = re.compile(r"(?!/|.*\.\.)[\w.:/,@+ -]*")


def is_harmless(assignment: str) -> bool:
    """Whether setting a variable (`NAME=value`, or `NAME` if the value is unknown) can't make a program run
    or load code. `make` and arithmetic of a shell run what is in a value.
    """
    name, _, value = assignment.partition("=")
    return (name in HARMLESS_VARIABLES or name.startswith("LC_")) and bool(_PLAIN_VALUE.fullmatch(value))


def name_of(program: str) -> str:
    """Return the last part of a program's path, without the ending on Windows."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


class ProgramOption(NamedTuple):
    """One option in all its spellings."""

    names: tuple[str, ...]
    takes: str
    """The kind of its value in the table."""


class ProgramEntry(NamedTuple):
    """The known options of one program, or of one of its subcommands."""

    options: dict[str, ProgramOption]
    marks: frozenset[str]


ALIASES: Final = {
    **dict.fromkeys(("egrep", "fgrep"), "grep"),
    **dict.fromkeys(("sh", "dash", "zsh", "ksh"), "bash"),
    "py.test": "pytest",
    "nodejs": "node",
    "fdfind": "fd",
}
"""Names with the same options."""


@cache
def has_subcommands(program: str) -> bool:
    return any(name == program and subcommand for name, subcommand in _table())


@cache
def _table() -> dict[tuple[str, str], ProgramEntry]:
    table: dict[tuple[str, str], ProgramEntry] = {}
    for block in PROGRAM_OPTIONS.strip().replace("\n ", " ").splitlines():
        program, *fields = block.split()
        subcommand = fields.pop(0) if fields and fields[0][0] not in "-(" else ""
        options = [_option(field) for field in fields if field.startswith("-")]
        table[program, subcommand] = ProgramEntry(
            {name: option for option in options for name in option.names},
            frozenset(field.strip("()") for field in fields if field.startswith("(")),
        )
    return table


def _option(field: str) -> ProgramOption:
    spellings = field.split(",")
    names = tuple(spelling.rstrip("=?>") for spelling in spellings)
    endings = [spelling[len(name) :] for spelling, name in zip(spellings, names, strict=True)]
    return ProgramOption(names, max(endings, key=len))


_FOLDERS: Final = frozenset(("", "/bin", "/usr/bin", "/usr/local/bin"))


def is_of_system(program: str) -> bool:
    """Whether a program is what its name says, and nothing that an agent has written."""
    return program.rpartition("/")[0] in _FOLDERS


MOST_LETTERS: Final = 20
"""The most options that may be letters of one word."""

_VERSIONED: Final = re.compile(r"(python|pip|node)[\d.]+")
_NUMBER: Final = re.compile(r"-\d+")
_ADDRESS: Final = r"(?:\d+|\$|/[^/\\\[\n]*/)"
_SED_SCRIPT: Final = re.compile(
    rf"(?:{_ADDRESS}(?:,{_ADDRESS})?)?(?:[pdq=]|s([/|#,:@])(?:(?!\1)[^\\\[\n])*\1(?:(?!\1)[^\\\n])*\1[gpI0-9]*)"
)
"""One command that prints, deletes or replaces, in words that every sed takes apart alike."""
_OPERANDS: Final = {
    "date": re.compile(r"(?:\+.*)?", re.DOTALL),
    "ps": re.compile(r"[aflruwx ]*"),
    "printf": re.compile(r"(?:[^%]|%%|%[^%a-zA-Z]*[hjlLtz]*[bcdiouxXeEfFgGaAqQs])*"),
}
"""Operands that only show something: `date 0101` sets the clock, `ps e` shows variables, `%n` sets one."""


class GivenFlag(NamedTuple):
    """One option of a command."""

    text: str
    option: ProgramOption | None
    """None if it is not in the table."""
    value: str | None = None


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """Return a program's name in the table, in any folder, case or version."""
    name = name_of(word).casefold()
    if version := _VERSIONED.fullmatch(name):
        name = version[1]
    return ALIASES.get(name, name)


@lru_cache(maxsize=256)
def read_call(words: tuple[str, ...]) -> ProgramCall:
    """Return the meaning of a command's words for its program."""
    return ProgramCall(words)


class ProgramCall:
    """A parsed command. Constructing parses it; nothing changes it later."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.program = program_name(words[0])
        self.subcommand = ""
        self.entry = _table().get((self.program, ""))
        self.flags: tuple[GivenFlag, ...] = ()
        self.operands: tuple[str, ...] = ()
        """The operands without the subcommand."""
        self.carried: ProgramCall | None = None
        """The command that it runs, if that is one of its operands."""
        self.doubt: str | None = None
        """The reason why it is not understood; None if it is."""
        self._words = deque(words[1:])
        name = words[0].rpartition("/")[2]
        if not is_of_system(words[0]) or name != name.casefold():
            self._object(f"{words[0]} is not a program of the system")
        self._read()

    @property
    def is_known(self) -> bool:
        """Whether the table has its program, even without these words."""
        return self.entry is not None or has_subcommands(self.program)

    @property
    def only_reads(self) -> bool:
        return self.doubt is None and self._has("reads")

    def places(self) -> Iterator[str]:
        """Return places of code that it may run, and of files that it may change, as far as its words name
        them.
        """
        if self.carried is not None:
            yield from self.carried.places()
        elif self._has("project") or self._has("script"):
            yield from (*self.operands, *(flag.value for flag in self.flags if flag.value))
        elif not self._has("reads"):
            has_script = self._has("sed") and not self._expressions
            yield from self.operands[1:] if has_script else self.operands

    @property
    def _expressions(self) -> list[str]:
        """The scripts of sed that are values of options."""
        return [flag.value or "" for flag in self.flags if flag.text in ("-e", "--expression")]

    def _has(self, mark: str) -> bool:
        return self.entry is not None and mark in self.entry.marks

    def _object(self, doubt: str) -> None:
        self.doubt = self.doubt or doubt

    def _read(self) -> None:
        wants_subcommand = has_subcommands(self.program)
        while self._words:
            word = self._words.popleft()
            if word.startswith("-") and len(word) > 1 and not self._has("any"):
                self._read_flag(word)
            elif wants_subcommand:
                wants_subcommand, self.subcommand = False, word
                self.entry = _table().get((self.program, word))
            else:
                self.operands += (word,)
                if self._has("script") or self._has("carries"):
                    self._take_rest()
        carries = any(flag.option and flag.option.takes == ">" for flag in self.flags)
        if self.operands and (carries or self._has("carries")):
            self.carried = read_call(self.operands)
        self.doubt = self.doubt or self._check()

    def _take_rest(self) -> None:
        self.operands += tuple(self._words)
        self._words.clear()

    def _read_flag(self, word: str) -> None:
        options = self.entry.options if self.entry is not None else {}
        name, equals, value = word.partition("=")
        if word == "--":
            self._take_rest()
            if self._has("project"):
                self._object(f"{self.program} passes on everything after --")
        elif word in options:
            self._take(word, options[word], None)
        elif word.startswith("--") or self._has("onedash"):
            self._take(name, options.get(name), value if equals else None)
        elif self._has("digits") and _NUMBER.fullmatch(word):
            self.flags += (GivenFlag(word, ProgramOption((word,), "")),)
        else:
            self._take_letters(word, options)

    def _take_letters(self, word: str, options: dict[str, ProgramOption]) -> None:
        for at in range(1, min(len(word), MOST_LETTERS)):
            name, rest = f"-{word[at]}", word[at + 1 :] or None
            option = options.get(name)
            if option is not None and option.takes:
                self._take(name, option, rest)
                return
            # What follows a letter that nobody knows may be its value, and may be more letters.
            self._take(name, option, rest if option is None else None)
        if len(word) > MOST_LETTERS:
            self._object(f"{self._title} is given more than {MOST_LETTERS} letters at once")

    def _take(self, name: str, option: ProgramOption | None, value: str | None) -> None:
        if option is None:
            self._object(f"the option {name} of {self._title} is not in the table of harmless options")
        elif option.takes == ">":
            self.operands += () if value is None else (value,)
            self._take_rest()
        elif option.takes == "=" and value is None:
            follows = self._words[0] if self._words else None
            if follows is None or (follows.startswith("-") and not _NUMBER.fullmatch(follows)):
                self._object(f"the option {name} of {self._title} has no value")
            else:
                value = self._words.popleft()
        elif not option.takes and value is not None:
            self._object(f"the option {name} of {self._title} takes no value")
        self.flags += (GivenFlag(name, option, value),)

    @property
    def _title(self) -> str:
        return f"{self.program} {self.subcommand}".rstrip()

    def _check(self) -> str | None:
        """Doubts about the operands, when all options are known."""
        if self.entry is None:
            return f"{self._title} is not in the table of programs"
        if self.carried is not None:
            return self.carried.doubt
        operands, flags = self.operands, self.flags
        starts = self._has("script") or self._has("carries")
        tells_version = bool(flags) and flags[-1].text in ("-V", "-v", "--version")
        scripts = self._expressions or operands[:1]
        most = 0 if self._has("0") else 1 if self._has("1") else len(operands)
        doubts = (
            (
                starts and len(operands) != 1 and not tells_version,
                f"Dragoman can't tell what {self._title} would run, or with which options",
            ),
            (starts and operands[:1] == ("-",), f"{self._title} would run its input"),
            (
                self._has("project") and any(each.startswith("@") for each in operands),
                f"{self._title} takes words from a file",
            ),
            (len(operands) > most, f"{self._title} is given {''.join(operands[-1:])}"),
            (
                self._has("plain") and any("=" in each for each in operands),
                f"{self._title} is given a setting",
            ),
            (
                self.program == "git" and any("::" in each for each in operands),
                "git is given an address that it may run",
            ),
            (
                self.program in _OPERANDS and not _OPERANDS[self.program].fullmatch(" ".join(operands)),
                f"{self.program} may do more than show something",
            ),
            (
                self._has("sed") and not all(map(_SED_SCRIPT.fullmatch, scripts)),
                "sed's script may do more than print, delete and replace",
            ),
        )
        return next((doubt for is_open, doubt in doubts if is_open), None)
