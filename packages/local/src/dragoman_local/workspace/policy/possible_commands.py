"""What commands might run besides: for rules that ask or deny.

Pure. `shell` says what is certain, and only that can be allowed. Here a command counts with every other that
it may carry: in its words, in texts that it is given, in what is fed to it. What nobody knows yet is a mark
in a word, as `partial_words` says; `(ANY,)` is a command that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from dragoman_local.workspace.policy.line_reader import ASSIGNS, LineCommand, LineReader, Words
from dragoman_local.workspace.policy.partial_words import ANY, has_unknown_part, is_known, without_marks
from dragoman_local.workspace.policy.program_calls import read_call
from dragoman_local.workspace.policy.programs import (
    BUILTINS,
    LOOKED_THROUGH,
    RESERVED,
    RUNNERS,
    SHELLS,
    is_harmless,
    is_interpreter,
    name_of,
)

MOST_COMMANDS: Final = 100
MOST_WORDS: Final = 1000
"""In all commands together. Beyond that, a line may run anything."""

_DEEPEST: Final = 5
_MOST_STARTS: Final = 48

# They run words that come from elsewhere behind those that are given.
_ADDERS: Final = frozenset({"xargs", "parallel", "find", "fd", "entr"})
# They change what words mean later in the line.
_CHANGERS: Final = frozenset(
    {
        *("alias", "enable", "hash", "shopt", "bind", "complete", "setopt", "unsetopt", "zmodload"),
        *("autoload", "emulate", "function", "fc", "history"),
    }
)
_BEFORE_COMMANDS: Final = RESERVED - {"for", "case", "select", "foreach", "repeat", "[[", "(("}
"""Words of the shell's language behind which a command stands."""


def possible_commands(reading: LineReader) -> tuple[Words, ...]:
    """What a line for a shell might run."""
    command_set = _CommandSet()
    command_set.add_line(reading, depth=0)
    return command_set.commands()


@lru_cache(maxsize=64)
def possible_in_arguments(words: Words) -> tuple[Words, ...]:
    """What a program might run that is started with these words, without a shell."""
    command_set = _CommandSet()
    command_set.add(LineCommand(tuple(map(without_marks, words)), is_piped=False, bodies=()), depth=0)
    return command_set.commands()


class _CommandSet:
    """The commands, each once."""

    def __init__(self) -> None:
        self._commands: dict[Words, None] = {}
        self._words_left = MOST_WORDS

    @property
    def _is_full(self) -> bool:
        return self._words_left <= 0 or len(self._commands) >= MOST_COMMANDS

    def commands(self) -> tuple[Words, ...]:
        if self._is_full:
            self._add_anything()
        return tuple(filter(None, self._commands))

    def _add_anything(self) -> None:
        self._commands[(ANY,)] = None

    def add_line(self, reading: LineReader, *, depth: int) -> None:
        if reading.is_open or depth > _DEEPEST:
            self._add_anything()
        for command in reading.commands:
            self._add_simple(command, depth=depth)

    def _add_simple(self, command: LineCommand, *, depth: int) -> None:
        """A command without the assignments and words of the shell's language before it."""
        for at, word in enumerate(command.words):
            if assignment := ASSIGNS.match(word):
                if not is_harmless(assignment[1]):
                    self._add_anything()
            elif word not in _BEFORE_COMMANDS:
                self.add(command._replace(words=command.words[at:]), depth=depth)
                return

    def add(self, command: LineCommand, *, depth: int) -> None:
        """A command, and whatever it might run besides."""
        words, is_piped, bodies = command
        self._words_left -= len(words)
        if self._is_full or depth > _DEEPEST:
            self._add_anything()
            return
        if words in self._commands and not is_piped and not bodies:
            return  # what is known already need not be looked into again
        self._commands[words] = None
        name = name_of(words[0])
        if has_unknown_part(words[0]) and len(words) > 1:
            self._add_carried(words[1:], depth=depth)  # it may turn out to be nothing
        if is_known(name):
            self._add_carried_by(name, command, depth=depth)

    def _add_carried_by(self, name: str, command: LineCommand, *, depth: int) -> None:
        words, is_piped, bodies = command
        call = read_call(words)
        is_shell = name in SHELLS
        if is_shell or is_interpreter(name):
            flags = [word.startswith(("-", "+")) for word in words[1:]]
            runs_unknown = (
                all(flags) or any(map(has_unknown_part, words)) if is_shell else any(flags) and call.doubt
            )
            if is_piped or bodies or runs_unknown:
                self._add_anything()
            self._add_texts(bodies, depth=depth)
        if call.carried is not None:
            self._add_carried(call.operands, depth=depth)
        if name in BUILTINS | LOOKED_THROUGH | SHELLS or (name in RUNNERS and call.doubt is not None):
            # Any of its words may be the beginning of a command, or a whole line.
            whole = (*words, ANY) if name in _ADDERS else words
            for at in range(1, min(len(whole), _MOST_STARTS)):
                self._add_carried(whole[at:], depth=depth)
            self._add_texts((*bodies, *words[1:], " ".join(words[1:]) if name == "eval" else ""), depth=depth)
            if len(whole) > _MOST_STARTS or any(word.startswith("-") and " " in word for word in words[1:]):
                self._add_anything()  # it is too long, or a line is attached to a flag
        if name.startswith("git-"):
            self._add_carried(("git", name[4:], *words[1:]), depth=depth)
        # An option that nobody knows may run anything; so may a word that changes what others mean.
        if name in _CHANGERS or (call.is_known and call.doubt is not None and not is_shell):
            self._add_anything()

    def _add_carried(self, words: Words, *, depth: int) -> None:
        self._add_simple(LineCommand(words, is_piped=False, bodies=()), depth=depth + 1)

    def _add_texts(self, texts: Iterable[str], *, depth: int) -> None:
        for text in texts:
            if text == ANY:
                self._add_anything()
            elif any(character in text for character in " \t\n;&|()`$<>"):
                self.add_line(LineReader(text, depth=depth), depth=depth + 1)
