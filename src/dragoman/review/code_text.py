"""A text as lines of code, for rules that follow values through a function in any language. Pure.

Comments are blanked, and so are strings but for what they interpolate, so that a pattern sees code
alone; every offset stays what it was. Functions are found by their first line and their indentation.
That is no parser: it is right for code that is indented as its language indents, and it costs a
fraction of a parse.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.lexer import LexicalSpan, spans
from dragoman.review.vocabulary import Vocabulary

_HEADS = {
    "python": r"(?:async\s+)?def\s+\w+\s*\(",
    "go": r"func\b|.*\bfunc\s*\([^)]*\)[^{]*\{$",
    "rust": r"(?:pub(?:\([\w ]+\))?\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+\w+",
    "kotlin": r"(?:[\w@]+\s+)*fun\b",
    "java": r"(?!(?:else|if|for|while|switch|catch|try|do|return|new|class|interface|synchronized|throw)\b)"
    r"(?:[@\w<>\[\],.? ]+\s)?\w+\s*\([^;]*\{$",
}
_SCRIPT_HEAD = (
    r".*\bfunction\b.*\{$|.*=>\s*[{(]?$|.*=>\s*\{|"
    r"(?!(?:if|for|while|switch|catch|else|return)\b)(?:[\w#]+\s+)*[\w#$]+\s*\([^;]*\)[^;={]*\{$"
)
# A head begins with this word, or with others before it, in its first line.
_HEAD_WORDS = {"python": "def", "rust": "fn", "kotlin": "fun"}
_HEAD = {
    **{language: lazy_pattern(pattern) for language, pattern in _HEADS.items()},
    **dict.fromkeys(("javascript", "typescript", "tsx"), lazy_pattern(_SCRIPT_HEAD)),
}
LANGUAGES = frozenset({*_HEAD, "bash"})

_BRACES = re.compile(r"\{([^{}]*)\}")
_DOLLARS = re.compile(r"\$\{[^{}]*\}|\$\w+")
_LONG_LINE = re.compile(r"[^\n]{1001,}")
_TRIPLES = ('"""', "'''")
_SOFT = re.compile(r"[^\n]")
_LONGEST_HEAD = 20
"""Lines that the parameters of a function may take."""


class CodeHit(NamedTuple):
    """A rule, by its id, and where it was broken, as offsets."""

    rule: str
    start: int
    end: int


class CodeLine(NamedTuple):
    """A line without comments and plain strings."""

    number: int
    indent: int
    text: str
    """Stripped."""
    start: int
    """The offset of its first character that is no blank."""
    balance: int
    """How many more round and square brackets open than close."""


class Statement(NamedTuple):
    """A line with those that its open brackets make part of it."""

    text: str
    start: int
    line: CodeLine


class Function:
    """The lines of one function, its head first. A text without functions is one."""

    def __init__(self, head: CodeLine, body: Sequence[CodeLine]) -> None:
        self.head = head
        self.body = body

    @functools.cached_property
    def statements(self) -> Sequence[Statement]:
        """Many rules ask for them; they are made once."""
        return tuple(self._statements())

    @functools.cached_property
    def _starts(self) -> Sequence[int]:
        return [statement.start for statement in self.statements]

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        last = self.body[-1]
        return last.start + len(last.text)

    def statements_at(self, places: Sequence[int]) -> Sequence[int]:
        """The indexes of the statements that hold one of some offsets, which are in order."""
        first = bisect_left(places, self.head.start)
        places = places[first : bisect_left(places, self.end, first)]
        starts = self._starts if places else ()
        return sorted({bisect_right(starts, place) - 1 for place in places})

    def _statements(self) -> Iterator[Statement]:
        parts: list[str] = []
        first: CodeLine | None = None
        depth = 0
        is_quoted = False
        for line in self.body:
            first = first or line
            parts.append(line.text)
            depth += line.balance
            # A text of several lines: what follows its end belongs to the statement that it began in.
            if "`" in line.text or '"""' in line.text:
                is_quoted ^= (line.text.count("`") + line.text.count('"""')) % 2 == 1
            if is_quoted:
                continue
            # A block of code within brackets, such as a callback, is told line by line.
            if depth <= 0 or line.text.endswith(("{", "}", "};", ";")):
                yield Statement(" ".join(parts), first.start, first)
                parts, first, depth = [], None, 0
        if first is not None:
            yield Statement(" ".join(parts), first.start, first)


class CodeText:
    """One text."""

    def __init__(
        self,
        text: str,
        language: str,
        lexical_spans: Sequence[LexicalSpan] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.text = text
        self.language = language
        self._vocabulary = vocabulary or Vocabulary(text)
        self._places: dict[str, Sequence[int]] = {}
        self.spans = spans(text, language) if lexical_spans is None else lexical_spans
        self.code = _mask(text, language, self.spans)
        self.lines = tuple(_lines(self.code))

    @functools.cached_property
    def lower_code(self) -> str:
        """For rules that ask whether a word is there at all, in any case."""
        return self.code.lower()

    def has_any(self, words: Sequence[str], *, in_any_case: bool = False) -> bool:
        """Whether the code has one of some words. `in_any_case` is for words in lower case."""
        may_be = self._vocabulary.present(words)
        text = self.lower_code if in_any_case and may_be else self.code
        return any(word in text for word in may_be)

    def part(self, function: Function) -> str:
        """The code of a function."""
        return self.code[function.head.start : function.end]

    def functions_with(self, words: Sequence[str], *, in_any_case: bool = False) -> Iterator[Function]:
        """The functions that have one of some words, which is all that most rules look at.

        Each word is looked for once in the whole text. `in_any_case` is for words in lower case.
        """
        return self.functions_at(self.places(words, in_any_case=in_any_case))

    def functions_at(self, places: Sequence[int]) -> Iterator[Function]:
        """The functions that hold one of some offsets, which are in order."""
        for function in self.functions if places else ():
            at = bisect_left(places, function.head.start)
            if at < len(places) and places[at] < function.end:
                yield function

    @functools.cached_property
    def _starts(self) -> Sequence[int]:
        return [line.start for line in self.lines]

    def indexes_with(self, words: Sequence[str]) -> Sequence[int]:
        """Which lines have one of some words. To find the words costs less than to ask every line."""
        return self.indexes_at(self.places(words))

    def indexes_at(self, places: Iterable[int]) -> Sequence[int]:
        """Which lines hold one of some offsets."""
        starts = self._starts
        return sorted({bisect_right(starts, place) - 1 for place in places})

    def places(self, words: Sequence[str], *, in_any_case: bool = False) -> Sequence[int]:
        """Where some words are, in order. Rules share words, and each is looked for once."""
        may_be = self._vocabulary.present(words)
        if in_any_case:
            return sorted(place for word in may_be for place in _places(self.lower_code, word))
        return self.places_of_own(may_be)

    def places_of_own(self, words: Iterable[str]) -> Sequence[int]:
        """Where some words are that come from the text itself, in order."""
        places: list[int] = []
        for word in words:
            if word not in self._places:
                self._places[word] = tuple(_places(self.code, word))
            places += self._places[word]
        places.sort()
        return places

    def has_word(self, phrase: str) -> bool:
        """Whether a phrase that comes from the text itself is in it, and begins a word there."""
        return any(not is_in_word(self.code[at - 1 : at]) for at in _places(self.code, phrase))

    def text_has_any(self, words: Sequence[str]) -> bool:
        """Whether the text, with its comments and strings, has one of some words."""
        return any(word in self.text for word in self._vocabulary.present(words))

    def block(self, index: int) -> Sequence[CodeLine]:
        """The lines below one that are indented deeper."""
        indent = self.lines[index].indent
        end = index + 1
        while end < len(self.lines) and self.lines[end].indent > indent:
            end += 1
        return self.lines[index + 1 : end]

    @functools.cached_property
    def functions(self) -> Sequence[Function]:
        """Every function, the inner ones within the outer ones too; the whole text if there is none."""
        head = _HEAD.get(self.language)
        word = _HEAD_WORDS.get(self.language)
        functions = [
            function
            for index in (self.indexes_with((word,)) if word else range(len(self.lines)))
            if head is not None and (function := self._function(index, head)) is not None
        ]
        return functions if functions or not self.lines else [Function(self.lines[0], self.lines)]

    def _may_be_head(self, text: str) -> bool:
        """Whether a line ends as the head of a function does, or has what one has: quickly asked."""
        if self.language in ("javascript", "typescript", "tsx"):
            return text.endswith("{") or "=>" in text
        return self.language != "java" or text.endswith("{")

    def _function(self, index: int, head: re.Pattern[str]) -> Function | None:
        line = self.lines[index]
        if line.balance != 1 or not line.text.endswith(("(", ",")):
            is_head = self._may_be_head(line.text) and head.match(line.text) is not None
            return Function(line, (line, *self.block(index))) if is_head else None
        # The parameters stand on lines of their own.
        depth, end = line.balance, index
        while depth > 0 and end + 1 < len(self.lines) and end - index < _LONGEST_HEAD:
            end += 1
            depth += self.lines[end].balance
        text = " ".join(part.text for part in self.lines[index : end + 1])
        if depth > 0 or not head.match(text):
            return None
        whole = line._replace(text=text, balance=0)
        start = end + 1
        while end + 1 < len(self.lines) and self.lines[end + 1].indent > line.indent:
            end += 1
        return Function(whole, (whole, *self.lines[start : end + 1]))

    @functools.cached_property
    def _index_by_start(self) -> dict[int, int]:
        return {line.start: index for index, line in enumerate(self.lines)}

    def above(self, line: CodeLine) -> str:
        """The decorators or annotations of a function."""
        at = self._index_by_start[line.start]
        parts: list[str] = []
        while at > 0 and self.lines[at - 1].text.startswith(("@", "#[")):
            at -= 1
            parts.append(self.lines[at].text)
        return " ".join(parts)


def is_in_word(letter: str) -> bool:
    """Whether a letter can be a part of a name; none cannot."""
    return letter.isalnum() or letter == "_"


def find_name(text: str, name: str) -> int:
    """Where a name is mentioned for the first time that is no part of another and no field; -1 if nowhere."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if before not in _BEFORE_FIELD and not is_in_word(before) and not is_in_word(after):
            return at
        at = text.find(name, at + 1)
    return -1


_BEFORE_FIELD = (".", "$")


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _lines(code: str) -> Iterator[CodeLine]:
    start = 0
    for number, line in enumerate(code.split("\n"), 1):
        text = line.strip()
        if text:
            indent = len(line) - len(line.lstrip())
            count = text.count
            balance = count("(") - count(")")
            if "[" in text or "]" in text:
                balance += count("[") - count("]")
            yield CodeLine(number, indent, text, start + indent, balance)
        start += len(line) + 1


def _mask(text: str, language: str, lexical_spans: Sequence[LexicalSpan]) -> str:
    parts: list[str] = []
    at = 0
    for span in lexical_spans:
        parts.append(text[at : span.start])
        token = text[span.start : span.end]
        if span.kind == "comment":
            parts.append(_blank(token))
        else:
            kept_pattern = _interpolation(text, span.start, token, language)
            # Most strings are of one line, with nothing put into them.
            is_plain = kept_pattern is None and len(token) > 1 and "\n" not in token
            parts.append(
                f"{token[0]}{' ' * (len(token) - 2)}{token[-1]}"
                if is_plain and not token.startswith(_TRIPLES)
                else _mask_string(token, kept_pattern)
            )
        at = span.end
    # A line that long was written by a machine, and a pattern that looks for names takes the square of
    # its length.
    return _LONG_LINE.sub(lambda match: " " * len(match[0]), "".join((*parts, text[at:])))


def _blank(text: str) -> str:
    return _SOFT.sub(" ", text) if "\n" in text else " " * len(text)


def _interpolation(text: str, start: int, token: str, language: str) -> re.Pattern[str] | None:
    if language == "python":
        if not start or not text[start - 1].isalpha():
            return None
        prefix = text[max(0, start - 2) : start].lower()
        return _BRACES if "f" in re.sub(r".*[^a-z]", "", prefix, flags=re.DOTALL) else None
    if language == "rust":
        return _BRACES
    if language == "kotlin" or (language == "bash" and token.startswith('"')):
        return _DOLLARS
    return _DOLLARS if token.startswith("`") and language != "go" else None


def _mask_string(token: str, kept_pattern: re.Pattern[str] | None) -> str:
    size = 3 if token.startswith(_TRIPLES) else 1
    inner = token[size:-size]
    if not inner:
        return token
    parts: list[str] = []
    at = 0
    for match in kept_pattern.finditer(inner) if kept_pattern else ():
        # A blank for the mark, so that what is interpolated begins a word.
        parts += (_blank(inner[at : match.start()]), re.sub(r"[${}]", " ", match[0]))
        at = match.end()
    return "".join((token[:size], *parts, _blank(inner[at:]), token[-size:]))


def text_in_brackets(text: str, at: int) -> str:
    """What stands between the bracket that opens just before an offset and the one that closes it."""
    depth = 1
    for index in range(at, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return text[at:index]
    return text[at:]
