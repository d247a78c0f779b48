"""Secrets known by where they stand: in an address, in the options of a program, in a manifest. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from dragoman.secrets.named import BREAK, QUOTE, SPACE
from dragoman.secrets.names import Doubt, is_login, is_placeholder, is_telling, looks_secret

_LOGIN = re.compile(r":(?:\\{0,4}/){2}")
_USER_INFO = re.compile(
    r"(?P<user>[^\s/\"'`\\:@<>{}()\[\]]{0,200})(?::(?P<secret>(?:[^\s/\"'`\\@<>]|\\/){1,500}))?@(?=[\w\[$%{-])",
    re.ASCII,
)
_DSN = re.compile(r"@(?:tcp|unix|udp)\(")


def login_spans(text: str) -> Iterator[tuple[int, int]]:
    """Passwords in addresses: `scheme://user:password@host`, `https://token@host`, `user:password@tcp(…)`."""
    for scheme in _LOGIN.finditer(text):
        match = _USER_INFO.match(text, scheme.end())
        if match is None:
            continue
        if match["secret"] is not None:
            secret = match["secret"]
            if not is_placeholder(secret) or secret.lower() in _REAL:
                yield match.span("secret")
        elif len(match["user"]) >= 16 and looks_secret(match["user"], Doubt.RANDOM, is_quoted=True):
            yield match.span("user")
    if "(" in text:
        for place in _DSN.finditer(text):
            user, colon, secret = text[max(0, place.start() - 200) : place.start()].rpartition(":")
            if colon and user[-1:].isalnum() and secret and not is_placeholder(secret) and " " not in secret:
                yield place.start() - len(secret), place.start()


_REAL = frozenset({"test", "foo", "bar", "user", "name", "login", "id"})

_WORD = r"(?P<secret>[^\s\"'`\\;|&<>]{1,1024}+)"
_VALUE = rf"(?:{QUOTE})?{_WORD}"
_LOGIN_PAIR = rf"(?:{QUOTE})?[^\s:\"'`\\]{{1,100}}:(?P<secret>[^\s\"'`\\]+)"
_TWO_WORDS = rf"{QUOTE}[^\"'`\\\n]{{1,64}}{QUOTE}\s*,\s*{QUOTE}(?P<secret>[^\"'`\\\n]+)"
_ECHO, _PIPE = r"echo (?:-\w+ +)?", rf"{QUOTE}?{SPACE}*\|{SPACE}*(?:sudo +)?"
_ARGS = r"[^\n;|&]{0,300}?"


def _option(option: str, *, program: str = r"[\w-]*", gap: str = "+", value: str = _VALUE) -> str:
    return rf"{program}{_ARGS}{SPACE}{option}{SPACE}{gap}{value}"


_OPTION = re.compile(r"""-(?:(?:(?<=[\s"'`,(\[-]-)|(?<=\\[nrt]-))[anpsuwx]|u(?=ser)|s(?=ecurestring))""")

_PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "-u": (
        ("curl", _option("(?:-u|--user|--proxy-user|-U)", gap="*=?", value=_LOGIN_PAIR)),
        ("--user ", rf"--user {_LOGIN_PAIR}"),
        ("lftp", _option("-u", gap="+", value=rf"[^\s,\"']+,{_WORD}")),
        ("smb", _option("(?-i:-U)", gap="*", value=rf"(?:{QUOTE})?[^\s%\"']+%{_WORD}")),
        (
            " -u",
            rf" -u{SPACE}*\S+{_ARGS}{SPACE}-p{SPACE}+(?=\S*?[\"'!@\#$%.\d])(?!\d+(?:\s|$)|-){_VALUE}",
        ),
    ),
    "-a": (
        ("http", _option("(?:-a|--auth)", program="https?(?= )", gap="*=?", value=_LOGIN_PAIR)),
        ("redis-cli", _option("-a")),
    ),
    "-p": (
        ("mysql", _option("-p", gap="{0}")),
        ("mariadb", _option("-p", gap="{0}")),
        (" login", _option("-p")),
        ("zip", _option("(?-i:-P)", gap="*")),
        ("7z", _option("-p", gap="{0}")),
        ("mosquitto", _option("(?-i:-P)")),
        ("mongo", _option("(?-i:-p)")),
        ("sqlcmd", _option("(?-i:-P)", gap="*")),
        (" -pw", rf" -pw{SPACE}+{_VALUE}"),
    ),
    "-n": (("ssh-keygen", _option("(?-i:-N)", program="ssh-keygen")),),
    "-s": (
        ("echo ", rf"{_ECHO}{_VALUE}{_PIPE}sudo -S"),
        ("securestring", rf"(?<=convertto-)securestring{SPACE}+(?:-string{SPACE}+)?{_VALUE}"),
    ),
    "-x": (
        ("snmp", _option("(?-i:-A)", program=r"snmp\w*")),
        ("snmp", _option("(?-i:-X)", program=r"snmp\w*")),
    ),
    "-w": (("ldap", _option("-w", gap="*")),),
    "pass": (
        ("passwd", rf"passwd(?=[^\n]{{0,40}}<<<)[^\n]{{0,40}}<<<{SPACE}*{_LOGIN_PAIR}"),
        (
            "pass",
            rf"pass(?:word|phrase|code|wort)\b[^:\n]{{1,80}}(?<!/):{SPACE}+(?P<random>[^\s\"'`\\]+)(?=\s*(?:\n|\\+[nr]|\"|\Z))",
        ),
        ("--pass ", rf"--pass {_VALUE}"),
        ("sshpass", rf"sshpass{SPACE}+-p{SPACE}*{_VALUE}"),
        ("htpasswd", rf"htpasswd{SPACE}+-\w*b\w*{SPACE}+(?:-\w+{SPACE}+)?\S+{SPACE}+\S+{SPACE}+{_VALUE}"),
        ("pass:", rf"(?<!\w)pass:{_VALUE}"),
        (
            "password",
            rf"(?:(?<=with )|(?<=set )|(?<=ypted ))password(?:{BREAK}|=)+n?{QUOTE}(?P<secret>[^\"'`\\]+)",
        ),
        ("login", rf"login{BREAK}+\S+{BREAK}+password{BREAK}+{_VALUE}"),
        ("echo ", rf"{_ECHO}{_LOGIN_PAIR}{_PIPE}chpasswd"),
        ("echo ", rf"{_ECHO}{_VALUE}{_PIPE}passwd --stdin"),
        ("requirepass", rf"requirepass{SPACE}+{_VALUE}"),
    ),
    "auth": (("add-authtoken", rf"add-authtoken{SPACE}+{_VALUE}"),),
    "secret": (
        ("secret", rf"secret{_ARGS}--value{SPACE}+{_VALUE}"),
        ("securestring", rf"securestring{_ARGS}--value{SPACE}+{_VALUE}"),
    ),
    "pw": (("userpwd", rf"userpwd['\"]?\s*(?:,|=>)\s*{QUOTE}[^\s:\"'`\\]{{1,64}}:(?P<secret>[^\"'`\\\n]+)"),),
}
"""By an option or a stem of the text: a word with which a place begins, and the place with its secret."""

_NAMED_PLACES: tuple[tuple[str, str], ...] = (
    ("from-literal", rf"from-literal(?:=|{SPACE}+)(?:{QUOTE})?(?P<name>[\w.-]+)={_WORD}"),
    (" set ", rf"(?:(?<=config)|(?<=configure)) set {SPACE}*(?P<name>[\w.:/@-]+)(?:{SPACE}+|=){_VALUE}"),
    ("env ", rf"(?-i:(?<![A-Z_])ENV){SPACE}+(?P<name>\w+){SPACE}+(?P<secret>[^\s=\"'`\\]+)"),
)
"""The same, with a name that must be a telling one."""

_OTHER_PLACES: tuple[tuple[str, str, str], ...] = (
    ("_", " add_user ", rf" add_user {SPACE}*\S+{SPACE}+{_VALUE}"),
    ("@", "sqlplus ", r"sqlplus +[\w.$]+/(?P<secret>[^\s@\"']+)@"),
    ('"', "kty", rf"kty.{{0,900}}?\bd{QUOTE}{SPACE}{{0,2}}:{SPACE}{{0,2}}{QUOTE}(?P<secret>[\w-]{{20,}})"),
    (
        "'",
        "identified ",
        rf"identified{BREAK}+(?:with{BREAK}+\S+{BREAK}+)?by{BREAK}+\\*[\"'](?P<secret>[^\"'`\\]+)",
    ),
    ("/", "net use", rf"net user? +\S+{_ARGS}(?<= )(?P<random>[^\s/\\]{{6,99}})(?= |$)"),
)
"""The same by a sign of the text. One sign is looked for in no time."""

_LOGIN_CALL = rf"(?=\s{{0,9}}{QUOTE})(?:\s*{QUOTE}[^\"'`\\\n]{{1,99}}{QUOTE}\s*,)?\s*{_TWO_WORDS}"
_LOGIN_HEAD = re.compile(
    r"(?:pdo|log_?[io]n|sign_?in|connect\w{0,12}|auth\w{0,16}(?:=|: *)?|credentials?(?:\.basic)?)\Z", re.ASCII
)

_SIGN_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # .pgpass
    (":", re.compile(r":(?:543\d:[^:\s]+:[^:\s]+:|(?:\*:){1,2}[^:\s]+:(?![^\s:]*:))(?P<secret>[^\s\"'`]+)")),
    # options of Windows
    ("/", re.compile(rf"/(?<= /)(?:rp |p:){_VALUE}")),
    # login("user", "…"), new PDO("address", "user", "…"), auth=("user", "…"), auth: ["user", "…"]
    ("(", re.compile(rf"\({_LOGIN_CALL}")),
    ("[", re.compile(rf"\[{_LOGIN_CALL}")),
)
"""The same, with a sign in them that is quicker to look for than any word."""


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


def command_spans(text: str, low: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Secrets among the words of commands and statements."""
    for sign, place in _SIGN_PLACES:
        if sign in low:
            for match in place.finditer(text):
                at = match.start()
                is_place = sign not in "([" or _LOGIN_HEAD.search(low, max(0, at - 32), at)
                if is_place and not is_placeholder(match["secret"]):
                    yield match.span("secret")
    rows = [(word, pattern) for sign, word, pattern in _OTHER_PLACES if sign in low and word in low]
    if stems:
        rows += [row for row in _NAMED_PLACES if row[0] in low]
    for need in (*stems, *_OPTION.findall(low)) if "-" in low else stems:
        rows += [row for row in _PLACES.get(need, ()) if row[0] in low and row not in rows]
    for word, pattern in rows:
        at = low.find(word)
        while at >= 0:
            if match := _compiled(pattern).match(text, at):
                groups = match.groupdict()
                name, group = groups.get("name"), "random" if "random" in groups else "secret"
                is_secret = group == "secret" or looks_secret(match[group], Doubt.RANDOM, is_quoted=True)
                if is_secret and (name is None or is_telling(name)) and not is_placeholder(match[group]):
                    yield match.span(group)
            at = low.find(word, at + len(word))


_DASHES = r"-(?:(?<![A-Za-z0-9_-]-)|(?<=\\[nrt]-))-?"
FLAG_NAME = re.compile(_DASHES + r"([a-z][\w.-]{0,60}+)(?=[=\s\"'`\\]|\Z)", re.ASCII | re.IGNORECASE)
"""An option, if its value comes; also if that is the next string of a list."""

FLAG = re.compile(
    _DASHES + r"(?P<name>[a-z][\w.-]{0,60}+)"
    rf"(?:=|{SPACE}+|{BREAK}{{1,20}}- |{QUOTE}{BREAK}{{0,8}},{BREAK}{{0,8}}(?={QUOTE}))"
    rf"(?:{QUOTE})?(?=[^\s\"'`\\,-])",
    re.ASCII | re.IGNORECASE,
)
_FLAG_VALUE = re.compile(r"(?:[^\s\"'`\\;|&<>]|\\/)+")


def flag_spans(text: str) -> Iterator[tuple[int, int]]:
    """`--token …`, `--password=…`, `"--api-key", "…"`."""
    if "-" not in text:
        return
    for match in FLAG.finditer(text):
        if not is_telling(match["name"]) or match["name"].lower().endswith(("-stdin", "-file", "-env")):
            continue
        value = _FLAG_VALUE.match(text, match.end())
        if value is None or is_placeholder(value[0]) or value[0].rstrip("]").isupper():
            continue
        is_long = match[0].startswith("--")
        if is_long or looks_secret(value[0], Doubt.RANDOM, is_quoted=True):
            yield value.span()


_BEARER = re.compile(
    rf"\bbearer(?:{SPACE}|%20|\\u0020)+(?P<secret>(?:[A-Za-z0-9._~+/=:-]|\\/){{8,}})",
    re.ASCII | re.IGNORECASE,
)
_BASIC = re.compile(
    rf"\bbasic(?:{SPACE}|%20)+(?P<secret>[A-Za-z0-9+/]{{8,}}={{0,2}})", re.ASCII | re.IGNORECASE
)


def scheme_spans(text: str, low: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """`Bearer …` and `Basic …` wherever they stand."""
    if "bearer" in low:
        for match in _BEARER.finditer(text):
            secret = match["secret"].rstrip(".:")
            has_digit = any(map(str.isdigit, secret))
            if (has_digit or (len(secret) > 24 and not secret.isalpha())) and not is_placeholder(secret):
                yield match.start("secret"), match.start("secret") + len(secret)
    if "auth" in stems and "basic" in low:
        for match in _BASIC.finditer(text):
            if is_login(match["secret"]):
                yield match.span("secret")


_MANIFEST = re.compile(r"^kind:[ \t]*secret\b", re.MULTILINE | re.IGNORECASE)
_DATA = re.compile(
    r"^(?P<indent>[ \t]*)(?:string)?data:[ \t]*\n(?P<rows>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
    re.M | re.I,
)
_ROW = re.compile(
    r"^[ \t]+[\w.\"'-]+:[ \t]+(?:[|>][+-]?[ \t]*\n(?P<deep>[ \t]+)|[\"'])?(?P<secret>[^\s\"'|>][^\n\"']*)",
    re.M,
)


def manifest_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """The values of a Kubernetes Secret."""
    if "kind: secret" not in low or _MANIFEST.search(text) is None:
        return
    for data in _DATA.finditer(text):
        for row in _ROW.finditer(text, *data.span("rows")):
            if not is_placeholder(row["secret"]):
                yield row.span("secret")
