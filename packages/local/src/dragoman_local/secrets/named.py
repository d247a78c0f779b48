"""Finds secrets by the name before them, in common notations: shell, settings, markup, headers, code, prose.

A name is searched for by a stem that all telling names have, then read backwards and forwards, and what
follows says which notation it is. Quotes and spaces may be written with any number of backslashes, as in JSON
that is quoted in a text, so the same search serves as a hint on frames that were not decoded. Pure.
"""

from __future__ import annotations

import functools
import html
import re
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman_local.secrets.names import (
    Doubt,
    has_name_words,
    is_gibberish,
    is_login,
    is_mixed,
    is_password,
    is_phrase,
    is_placeholder,
    is_several,
    is_state,
    is_telling,
    looks_secret,
    name_parts,
    names_something_else,
)
from dragoman_local.secrets.notations import BREAK, QUOTE, SPACE, follow

LONGEST_NAME = 64
LONGEST_VALUE = 4096
LONGEST_HEAD = 200
"""The most characters of a line to search before a name."""

_SCHEME = re.compile(
    r"(?:bearer|basic|digest|token|api-?key|negotiate|ntlm|aws4-hmac-sha256|hawk|oauth|geniekey|key|splunk|bot|jwt"
    r"|sso-key|dpop|hmac|signature|mac|ssws|pat|private|klaviyo-api-key|sharedkey(?:lite)?|sharedaccesssignature)"
    r"(?:[ \t]|\\+t|%20)+",
    re.ASCII | re.IGNORECASE,
)
_ANY_SCHEME = re.compile(r"[A-Za-z][\w-]{2,30} +(?:auth=)?(?=[^\s\"]{16})(?=[^\s\"]*\d)", re.ASCII)
_BARE_ENV = re.compile(r"(?:[^\s\x1b\"'`\\;]++|;(?![\s\"'`\\]|\Z)|\\+[/$!#&*?@%^]){1,64}+")
_BARE = re.compile(r"(?:[^\s\x1b\"'`\\;&|,<>(){}\[\]]++|\\+[/$!#&*?@%^]){1,64}+")
_BARE_SETTING = re.compile(r"[^;\s\"'`\\]+")
_BARE_QUERY = re.compile(r"(?:[^\s\"'`\\&#<>;)\]]++|\\/){1,64}+")
_LINE = re.compile(r"[^\r\n\"'`\\<>]+")
_CODE_SIGNS = re.compile(r"[(){}\[\]<>;+]|\b(?:let|var|const|if|def|my|local|final)\b", re.ASCII)
"""None of them stands before `password=…` in logs and commands."""

_FIELD_BEFORE = re.compile(r"(?:[\w.-]+=[^\s,;()]+ +|(?<![\w-])--?[a-z][\w-]*[ =]+[\"']?)\Z")
_FIELD_AFTER = re.compile(r"[^\s,;\"'`()]+ +[\w.-]+=[^\s=]")
"""`user=ann password=… ip=::1` and `--set password=…`: code has commas between them."""
_LAST_SETTING = re.compile(r"[\w ]+=[^;=\n]*;[ \t]*$")
_BLOCK = re.compile(
    r"[|>][+-]?[ \t]*\r?\n(?P<indent>[ \t]+)(?P<secret>[^\r\n]+(?:\r?\n(?P=indent)[^\r\n]+)*)"
)


class NamedHint(NamedTuple):
    """A telling name, its beginning, and the text after it."""

    name: str
    start: int
    match: re.Match[str]


_NO_SIGN = r"[^\s\d\"'`\\:=!?|<>\])(*{,.\x1b→—–âãÂÃèé-]"
_PROSE = (
    r"[\w.-]{0,48}+,? (?!(?:type|description|sensitive|nullable|noecho|value|default|str|string"
    r"|for|of|to|on|at|in|between|del|du|de|der|f[^a-z]\S*|is|was|are|ist|lautet|es|est|from|used|will|should"
    r"|as string|has|set|changed|reset|updated)\b)"
    rf"(?:{_NO_SIGN}[^\s\d\"'`\\:=]*+|(?:\d|{_NO_SIGN})[^\s\"'`\\:=]{{0,4}}+)(?=[ \n]|\Z|\\n)"
)
"""A word with which no notation goes on. Beside `_follow` it is quick, and it is what prose has."""


_TAG_ENDS = ("</", "<!", "<\\/")


_ALONE_NO_NAME = {
    "key": r"(?:(?<=[\w.?&-]key)|(?<=(?:api|ess|ret|ate|ter|ing|ion|nse|ice) key)|(?=[\w.-]*_b64))",
}
"""What must stand around a stem that is an ordinary word."""


@functools.cache
def _names(stem: str, *, in_prose: bool) -> re.Pattern[str]:
    """Where names with this stem end that are not words of prose."""
    prose = f"(?!{_PROSE})" if in_prose else ""
    return re.compile(f"{stem}{_ALONE_NO_NAME.get(stem, '')}{prose}", re.ASCII)


def named_hints(text: str, low: str, stems: Sequence[str]) -> Iterator[NamedHint]:
    """Return telling names with text after them. `low` is the text in lower case."""
    in_prose = not (("<" in low and any(end in low for end in _TAG_ENDS)) or "]]>" in low or "&lt;/" in low)
    for stem in stems:
        end = 0
        for found in _names(stem.rstrip("="), in_prose=in_prose).finditer(low):
            if found.start() < end:
                continue
            match = follow().match(low, found.end())
            if match is not None:
                end = match.end()
                start = name_start(low, found.start())
                name = text[start : match.end("rest")]
                if _is_telling_here(name, text, start, match):
                    yield NamedHint(name, start, match)


_BEFORE_KEY = {"api ", "ess ", "ret ", "ate ", "ter ", "ing ", "ion ", "nse ", "ice "}
_COLOUR = re.compile(r"(?:\x1b|\\u001b)\[[\d;]*m")
_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789_.-"


def name_start(low: str, at: int) -> int:
    """Return the beginning of the name around a place."""
    head = low[max(0, at - LONGEST_NAME) : at]
    first = at - len(head) + len(head.rstrip(_NAME_SIGNS))
    for colour in _COLOUR.finditer(head) if "[" in head else ():
        first = max(first, at - len(head) + colour.end())
    if first and low[first - 1] == "\\" and first < at:
        # The letter of an escape is not a letter of the name.
        first += 5 if low[first] == "u" and first + 5 <= at else 1
    # API key, access key, secret key, private key, master key
    is_second = first == at and low[max(0, first - 4) : first] in _BEFORE_KEY
    return name_start(low, first - 1) if is_second else first


def _is_telling_here(name: str, text: str, start: int, match: re.Match[str]) -> bool:
    before = text[start - 1 : start]
    if name.endswith(".") or (match["tag"] is not None and before not in ("<", ":", ">", ";", '"')):
        return False  # the end of a sentence, or no tag
    has_sign = any(match[kind] is not None for kind in ("sign", "tag", "said", "pair")) or (
        match["beside"] is not None and name == "PSK"
    )
    if match["sign"] is not None and is_several(name):
        value = _PLAIN_ITEM.match(text, match.end())
        return _OPENS_SEVERAL.search(match["sign"]) is not None or (value is not None and is_mixed(value[0]))
    if is_telling(name) or (
        has_sign and name.lower() in ("pass", "pw", "psk", "otp", "totp", "_auth", "auth")
    ):
        return match["call"] is None or is_telling(name.rpartition(".")[2])
    if before in ("?", "&"):
        return name.lower() in {"key", "sig", "auth", "pass", "pw", "jwt", "code", "signature"} or is_telling(
            f"x_{name}"
        )
    is_capital = name.isupper() and match["sign"] is not None
    return (
        is_capital
        and name.endswith(("_KEY", "PASS", "_B64", "_PAT"))
        and len(name) > 4
        and "PUBLIC" not in name
    )


_OPENS = re.compile(r"(?:(?<!\x1b)(?<!001b)\[|\{)[^\]}]*\Z")
_OPENS_SEVERAL = re.compile(r"(?:[\[{]|(?<![\w\])])\()[^\]})]*\Z")
"""Between a name and its value: the beginning of a list or a table."""
_ITEM = re.compile(
    rf"(?:[)\]}}]?{BREAK}{{0,8}}+,|;){BREAK}{{0,30}}+(?:[(\[{{]{BREAK}{{0,30}}+)?(?:(?:{QUOTE})?"
    rf"(?P<key>[\w.@/-]{{1,64}})(?:{QUOTE})?{SPACE}{{0,4}}"
    rf"(?:=>|[:=]){BREAK}{{0,30}}+[(\[{{]?)?{BREAK}{{0,30}}+(?={QUOTE})",
    re.ASCII,
)
"""What stands before the next value of a list or a table."""


def _item_spans(text: str, at: int, hint: NamedHint) -> Iterator[tuple[int, int]]:
    """The values of a list or a table in quotes, if a name before it says what they are."""
    key = "".join(re.findall(r"[\w.@/-]+", hint.match["sign"] or "")[-1:])
    while opening := _QUOTES.match(text, at):
        end = quote_end(text, opening.end(), opening)
        if end > 0 and not names_something_else(key) and _is_item(text[opening.end() : end], hint.name):
            yield opening.end(), end
        item = _ITEM.match(text, end + len(opening[0]), hint.start + LONGEST_VALUE) if end > 0 else None
        if item is None:
            return
        at, key = item.end(), item["key"] or ""


def _is_item(value: str, name: str) -> bool:
    return ((is_mixed(value) or is_gibberish(value, is_quoted=True)) and not is_placeholder(value)) or (
        (is_password(name) or is_password(name[:-1]))
        and not _LABEL.fullmatch(value)
        and looks_secret(value, Doubt.RANDOM, is_quoted=True)
    )


_IN_ADDRESS = re.compile("%(?:2[0267Cc]|3[ADFadf]|7[Bb])")
_IN_CODE = re.compile(r"\\+u00(?:2[267]|3[acdeACDE])")
_IN_HTML = re.compile("&(?:(?i:quot|amp|apos)|#3[49]);")


def readings(text: str) -> Iterator[str]:
    """Return a text as it is and, if its signs are written as in addresses or HTML, as it is meant: with
    spaces behind them, so that every place stays where it is.
    """
    yield text
    # Each pattern begins with its sign, so that places are found quickly.
    plain = _IN_ADDRESS.sub(_meant, text) if "%" in text else text
    plain = _IN_HTML.sub(_meant, plain) if "&" in text else plain
    plain = _IN_CODE.sub(_meant, plain) if "\\" in text and "\\u00" in text else plain
    if plain != text:
        yield plain


def _meant(sign: re.Match[str]) -> str:
    return urllib.parse.unquote(html.unescape(re.sub(r"\\+u00", "%", sign[0]))).ljust(len(sign[0]))


def named_spans(text: str, low: str, stems: Sequence[str], *, in_settings: bool) -> Iterator[tuple[int, int]]:
    """Return the values after telling names that look like secrets."""
    for hint in named_hints(text, low, stems):
        kind = hint.match.lastgroup or ""
        at = hint.match.end()
        if kind == "tag":
            if text[hint.start - 1 : hint.start] != ">" or hint.match["tag"].startswith("</"):
                yield from _tag_value(text, at, hint.name)
            continue
        last = name_parts(hint.name)[-1]
        is_value = ":" in (hint.match["sign"] or "") or _QUOTES.match(text, at)
        if is_value and last in ("authorization", "cookie") and kind == "sign":
            yield from _header_value(text, at, is_cookie=last == "cookie")
            continue
        if last == "cookie" and kind == "pair":
            yield from _header_value(text, at, is_cookie=True)
        opening = _QUOTES.match(text, at)
        if opening and kind == "sign" and (_OPENS.search(hint.match["sign"]) or is_several(hint.name)):
            yield from _item_spans(text, at, hint)
        elif opening:
            yield from _quoted_value(text, opening, hint, kind, in_settings=in_settings)
        elif kind == "line":
            yield from _line_value(text, at, hint)
        elif kind in ("sign", "said", "pair"):
            yield from _bare_value(text, at, hint, kind, in_settings=in_settings)


_AUTH = re.compile(r"(?=[^\d]*\d)(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[\w+/]{20,}={0,2}", re.ASCII)


def _is_auth(value: str) -> bool:
    """Whether a value behind `auth`, which is an ordinary word, is a login or random text."""
    return is_login(value) or (_AUTH.fullmatch(value) is not None and not has_name_words(value))


_QUOTES = re.compile(r"""(\\*)(["'`])""")
_LABEL = re.compile(r"[^\W\d]*|.*\s.*|[.:/]?[\w-]+(?:[.:/][\w-]+)+|[a-zA-Z]+(?:[-_][a-zA-Z]+)+")
"""What data have behind such names that is no secret: a word, words, a dotted name."""
_IS_KEY = re.compile(rf"{QUOTE}{SPACE}{{0,4}}:")
_LIST_GOES_ON = re.compile(rf"{QUOTE}{SPACE}{{0,4}},")
_JOINED = re.compile(
    rf"{QUOTE}{BREAK}{{0,20}}+(?:(?:\+|\.\.?|&){BREAK}{{0,20}}+|(?<= )(?={QUOTE}[^\s\"'`\\]{{0,99}}\d))"
    rf"{QUOTE}(?P<secret>[^\s\"'`\\]{{4,200}})(?={QUOTE})"
)
"""The next part of a text in quotes that is written in parts."""
_CALL_END = re.compile(rf"{QUOTE}{SPACE}{{0,4}}\)")


def quote_end(text: str, start: int, opening: re.Match[str]) -> int:
    """Return the end of a quoted text; -1 if its quote is not closed in its line. A quote with more
    backslashes than the first one is part of the text, and so is one after an escaped backslash.
    """
    slashes, quote = len(opening[1]), opening[2]
    limit = min(len(text), start + LONGEST_VALUE)
    line_end = text.find("\n", start, limit)
    limit = limit if line_end < 0 else line_end
    at = text.find(quote, start, limit)
    while at >= 0:
        run = at - start - len(text[start:at].rstrip("\\"))
        if run >= slashes and (run - slashes) % (2 * (slashes + 1)) == 0:
            return at - slashes
        at = text.find(quote, at + 1, limit)
    return -1


def _quoted_value(
    text: str, opening: re.Match[str], hint: NamedHint, kind: str, *, in_settings: bool
) -> Iterator[tuple[int, int]]:
    start = opening.end()
    quote = opening[2]
    if text.startswith(quote * 2, start) and not opening[1]:
        if hint.match[0].rpartition("\n")[0].rstrip().endswith(":"):
            return  # the text about a function or a class
        start += 2
        end = text.find(quote * 3, start, start + LONGEST_VALUE)
    else:
        end = quote_end(text, start, opening)
    if end < 0:
        bare = _BARE.match(text, start)
        end = bare.end() if bare else start
    value = text[start:end].strip()
    is_last = _CALL_END.match(text, end) is not None
    if (kind == "call" and not is_last) or _names_the_name(value, hint.name):
        return
    is_item = kind == "comma"
    if is_item and (_IS_KEY.match(text, end) or (_LIST_GOES_ON.match(text, end) and has_name_words(value))):
        return
    is_sure = in_settings and not is_item
    doubt = Doubt.NONE if is_sure else _quoted_doubt(value, hint, kind, is_last=is_last)
    if end > start and doubt is not None and looks_secret(value, doubt, is_quoted=True):
        if scheme := _SCHEME.match(text, start, end):
            start = scheme.end()
        yield start, end
        while joined := _JOINED.match(text, end):
            yield joined.span("secret")
            end = joined.end()


def _quoted_doubt(value: str, hint: NamedHint, kind: str, *, is_last: bool) -> Doubt | None:
    """How much a value in quotes must look like a secret, by its name and notation; None if it is none."""
    name, sign = hint.name, hint.match["sign"] or ""
    is_data = sign.lstrip("\\")[:1] in ('"', "'") and ":" in sign
    if is_data and "." in name and value.isalpha():
        return None  # a translation
    if name.lower() in ("_auth", "auth"):
        return (
            Doubt.NONE if _is_auth(value) else Doubt.RANDOM if len(value) >= 20 and value.isalnum() else None
        )
    head = hint.match.string[: hint.start].rstrip("\\\"'`#.")[-5:]
    is_setting = (
        sign[:1] in ("=", '"', "'", "\\") or head == "$env:" or (kind == "comma" and len(value) >= 32)
    )
    may_be_phrase = (sign or kind == "beside" or (kind == "said" and is_password(name))) and not (
        "==" in sign or "!=" in sign
    )
    if (
        (is_setting and name.isupper())
        or (is_data and "phrase" in name.lower())
        or (may_be_phrase and is_phrase(value, is_sure=name == "psk") and not name.endswith("s"))
    ):
        return Doubt.NONE
    is_item = kind == "comma" and not name.isupper() and not (is_last and head.endswith("("))
    if is_item or (kind == "said" and value.isalpha() and value.islower() and is_state(value)):
        return Doubt.RANDOM
    if is_password(name):
        return Doubt.WORD
    return Doubt.NONE if is_data and value.isascii() and not _LABEL.fullmatch(value) else Doubt.RANDOM


_LINE_VALUE = re.compile(r"([^\s\"'`\\;]{6,128});?[ \t\r]*(?=\n|\\+[nr]|\Z)")
_WORD_VALUE = re.compile(
    r"([^\s\"'`\\;,:()\[\]{}<>|=]{5,127}[^\s\"'`\\;,:()\[\]{}<>|=.])(?=[.,;:]?(?:\s|\\|\Z))"
)
_LINE_HEAD = re.compile(
    r"(?:\A|\n|\\[nr]|\")[ \t-]*(?:(?:setenv|user|username|setx?)[ \t]+(?:[\w.-]+[ \t]+)?)?\Z"
)


def _line_value(text: str, at: int, hint: NamedHint) -> Iterator[tuple[int, int]]:
    """A name, a space and a value: all of a line, or within a sentence behind the name of a password."""
    is_line = _LINE_HEAD.search(text, max(0, hint.start - 64), hint.start)
    value = (_LINE_VALUE if is_line else _WORD_VALUE).match(text, at)
    is_value = (
        value
        and not _names_the_name(value[1], hint.name)
        and (is_line or is_password(hint.name) or (len(value[1]) >= 24 and is_mixed(value[1])))
    )
    if value and is_value and looks_secret(value[1], Doubt.RANDOM, is_quoted="_" not in value[1]):
        yield value.span(1)


def _names_the_name(value: str, name: str) -> bool:
    """`password: "Password"` and `API_KEY = "api_key"` are labels."""
    parts = name_parts(value[:LONGEST_NAME])
    about = {*name_parts(name), "field", "the", "your", "new", "old", "current"}
    return bool(parts) and all(part in about or (part.isdigit() and len(part) < 2) for part in parts)


def _bare_value(
    text: str, at: int, hint: NamedHint, kind: str, *, in_settings: bool
) -> Iterator[tuple[int, int]]:
    name, sign = hint.name, hint.match[kind] or ""
    if block := _BLOCK.match(text, at):
        if kind == "sign" and sign.strip() == ":" and not is_placeholder(block["secret"]):
            yield block.span("secret")
        return
    if groups := _GROUPS.match(text, at):
        yield groups.span(groups.lastgroup or "")
        return
    before = text[hint.start - 1 : hint.start]
    is_auth = name.lower() in ("_auth", "auth") and before not in ("?", "&")
    # Behind a colon it is a part of a longer name, such as those of cloud resources.
    if (":" in sign and before == ":" and text[hint.start - 2 : hint.start - 1].isalnum()) or (
        is_auth and not _is_auth(text[at : at + 200].partition("\n")[0].strip())
    ):
        return
    first = max(
        text.rfind("\n", max(0, hint.start - LONGEST_HEAD), hint.start) + 1, hint.start - LONGEST_HEAD
    )
    if kind == "sign" and is_password(name) and text[first : hint.start].strip() in _ALONE:
        line = _LINE.match(text, at, at + LONGEST_HEAD)
        phrase = line[0].partition(" #")[0].rstrip() if line else ""
        if is_phrase(phrase, is_sure=sign == "="):
            yield at, at + len(phrase)
            return
    pattern, doubt = _bare_place(text, at, hint, kind, in_settings=in_settings)
    value = pattern.match(text, at, at + LONGEST_VALUE)
    is_sure = doubt is Doubt.NONE or pattern is not _BARE
    if value is None or (not is_sure and text[value.end() : value.end() + 1] in ("(", "[", "{")):
        return
    word = value[0].rstrip(".,:;!?)]}") if doubt is not Doubt.NONE else value[0]
    is_plain = (
        (kind == "said" and doubt is Doubt.RANDOM)
        or ("|" in sign and not (is_telling(word) and has_name_words(word)))
        or (
            pattern is _BARE_ENV
            and word not in _TYPES
            and (
                sign == "="
                or (doubt is Doubt.WORD and re.sub("[_.]" if ":" in sign else "", "", word).isalnum())
            )
        )
        or (
            is_password(name)
            and not word.isalpha()
            and any(map(str.isalpha, word))
            and (word.isalnum() or (sign == "=" and pattern is _BARE_ENV))
        )
    )
    is_pin = kind == "said" and is_password(name) and word.isdigit() and len(word) > 4
    is_pin = is_pin or (kind in ("said", "sign") and _is_said_word(text, at, hint))
    if word and not _names_the_name(word, name) and (is_pin or looks_secret(word, doubt, is_quoted=is_plain)):
        yield at, at + len(word)
        while (item := _NEXT.match(text, at + len(word))) and _is_item(item["secret"], hint.name):
            yield item.span("secret")
            at, word = item.end(), ""


_GROUPS = re.compile(
    r"(?=[^\n]{0,100}\d)(?P<secret>(?:[0-9A-Fa-f]{4}[ :-]){3,31}[0-9A-Fa-f]{4}|"
    r"(?:[0-9A-Fa-f]{2}[ :-]){7,63}[0-9A-Fa-f]{2}"
    r"|(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4})(?![\w:-])"
    r"|(?:(?:[\w. ]{0,24}(?:\[\d*\])?[ !]?)[(\[{]{1,2}\s*)(?P<numbers>"
    r"(?:0x[0-9A-Fa-f]{1,2}\s*,\s*){7,511}0x[0-9A-Fa-f]{1,2})",
    re.ASCII,
)
"""A key in groups of as many signs, or as numbers."""
_PLAIN_ITEM = re.compile(r"[\w+/.!?#$%&*@^~-]{8,200}(?![\w(\[{])", re.ASCII)
_NEXT = re.compile(r"(?:,|,? or|,? and| \||;)[ \t]+(?P<secret>[^\s\"'`\\,;()\[\]{}<>=:]{6,128})(?=[\s,;]|\Z)")
"""Another value behind one."""
_SAYS_WHOSE = re.compile(
    r"(?:(?i:user(?:[ _-]?name)?|login|e-?mail|account)(?:[:=]| is|) +[^\s:=,;|/(){}]{2,64}"
    r"(?:,| /| \||;| and)(?: the)? +"
    r"|(?:\A|[.:!] +)[ \t>*-]*(?i:(?:(?:the|my|our|your|his|her|its|this|admin|root|wi-?fi|wlan|router|db"
    r"|database|default|temporary|temp|new|current|initial|login|master|guest|server|account)(?:'s)? +)"
    r"{1,3}))\Z"
)
_ONE_WORD = re.compile(r"([a-z]{6,24})(?=[.!]?[ \t\r]*(?:\n|\Z))")


def _is_said_word(text: str, at: int, hint: NamedHint) -> bool:
    """Whether a person writes a password of letters: behind its user, or as all that its line says."""
    start, value = hint.start, _ONE_WORD.match(text, at)
    line = text[max(text.rfind("\n", 0, start) + 1, start - LONGEST_HEAD) : start]
    return (
        value is not None
        and is_password(hint.name)
        and hint.name.lower() not in ("pw", "pass", "pwd")
        and not is_state(value[1])
        and _SAYS_WHOSE.search(line) is not None
    )


_ENDS_LINE = re.compile(r"(?:[^\s\"'`,;{}()\[\]\\]++|\\+[$!#&*?@%^]){1,64}+[ \t\r]*(?:\n|\\n|\Z|#)")
"""One word comes, and then the line is over."""
_TYPES = frozenset(
    {"String", "Str", "Text", "Any", "Optional", "Buffer", "Bytes", "Char", "Vec", "Data", "NSString"}
)
_ALONE = (
    "",
    "-",
    "export",
    "set",
    "ENV",
    "ARG",
    "env",
    "+",
    "*",
    "- -",
    "declare -x",
    "$env:",
    "#",
    "//",
    ";",
)


def _bare_place(
    text: str, at: int, hint: NamedHint, kind: str, *, in_settings: bool
) -> tuple[re.Pattern[str], Doubt]:
    """How far a value without quotes reaches, and how much it must look like a secret, by its place."""
    name, start = hint.name, hint.start
    sign = hint.match[kind] or ""
    line_start = max(text.rfind("\n", 0, start) + 1, start - LONGEST_HEAD)
    head = text[line_start:start].strip()
    is_alone = head in _ALONE
    inner_start = max(line_start, *(text.rfind(quote, line_start, start) + 1 for quote in "\"'"))
    if sign == "=":
        if text[start - 1 : start] in ("?", "&"):
            # A program is shown in addresses, too.
            return _BARE_QUERY, Doubt.RANDOM if name.lower() == "code" else Doubt.NONE
        if name.isupper() or name.lower() in ("_auth", "_authtoken", "_password"):
            return (_BARE_ENV if is_alone and head != "env" else _BARE), Doubt.NONE
        is_plain_line = not _CODE_SIGNS.search(text, inner_start, start)
        is_word = is_plain_line and is_password(name) and "." not in name and text[start - 1] in " ,"
        if is_word or _FIELD_BEFORE.search(text, line_start, start) or _FIELD_AFTER.match(text, at):
            return _BARE, Doubt.NONE
    if "=" in sign and _LAST_SETTING.search(text, line_start, start):
        return _BARE_SETTING, Doubt.NONE
    if in_settings and is_alone:
        return _BARE_ENV, Doubt.NONE
    if kind == "said":
        return _BARE_ENV, Doubt.RANDOM
    if is_alone and _ENDS_LINE.match(text, at) and ">" not in sign:
        is_data = (
            is_password(name)
            or (name.isupper() and "_" in name)
            or (sign == "=" and text[start - 1 : start] in ("", "\n"))
        )
        return _BARE_ENV, Doubt.WORD if is_data else Doubt.RANDOM
    return _BARE, Doubt.RANDOM


_COOKIE = re.compile(r"""[\w.%-]+=["']?(?P<secret>[^\s;"'`\\<>]+)""", re.ASCII)


def _header_value(text: str, at: int, *, is_cookie: bool) -> Iterator[tuple[int, int]]:
    """The credential in a header: from behind its scheme to the end of the line or string."""
    opening = _QUOTES.match(text, at)
    start = opening.end() if opening else at
    if is_cookie:
        string_end = quote_end(text, start, opening) if opening else -1
        line_end = text.find("\n", start) if string_end < 0 else string_end
        cookies = _COOKIE.finditer(text, start, len(text) if line_end < 0 else line_end)
        yield from (
            cookie.span("secret")
            for cookie in cookies
            if looks_secret(cookie["secret"], Doubt.RANDOM, is_quoted=True)
        )
        return
    line = _LINE.match(text, start)
    if line is None:
        return
    end = start + len(line[0].rstrip())
    if scheme := _SCHEME.match(text, start, end) or _ANY_SCHEME.match(text, start, end):
        start = scheme.end()
        if "=" in text[start:end] and text[end : end + 1] == '"':  # username="…", response="…"
            end = min(text.find("\n", start) % (len(text) + 1), len(text))
    first = text[start:end].split(" ", 1)[0].rstrip(",;")
    if scheme:
        is_secret = (len(first) >= 4 and not is_placeholder(first) and not first.isalpha()) or len(first) > 24
    else:
        is_secret = looks_secret(first, Doubt.RANDOM, is_quoted=opening is not None)
        end = start + len(first)
    if is_secret and end > start and not is_placeholder(text[start:end]):
        yield start, end


def _tag_value(text: str, at: int, name: str) -> Iterator[tuple[int, int]]:
    is_raw = text.endswith("[CDATA[", 0, at)
    end = text.find(
        "]]>" if is_raw else "&lt;" if text.endswith("&gt;", 0, at) else "<", at, at + LONGEST_VALUE
    )
    if end > at and text.startswith((*_TAG_ENDS, "]]>", "&lt;/"), end):
        value = text[at:end].strip()
        doubt = Doubt.WORD if is_password(name) else Doubt.RANDOM
        is_secret = looks_secret(value, doubt, is_quoted=True) or (doubt is Doubt.WORD and is_phrase(value))
        if value and not _names_the_name(value, name) and is_secret:
            start = text.index(value, at)
            yield start, start + len(value)
