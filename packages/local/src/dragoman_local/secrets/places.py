"""Finds secrets by their place: in an address, in a program's options. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence, Set

from dragoman_local.secrets.names import (
    Doubt,
    is_gibberish,
    is_login,
    is_password,
    is_placeholder,
    is_telling,
    looks_secret,
)
from dragoman_local.secrets.notations import BREAK, QUOTE, SPACE
from dragoman_local.secrets.words import places_of

_LOGIN = re.compile(r":(?:\\{0,4}/){2}")
_USER_INFO = re.compile(
    r"(?P<user>[^\s/\"'`\\:@<>{}()\[\]]{0,200})(?::(?P<secret>(?:[^\s/\"'`\\@<>]|\\/){1,500}))?@(?=[\w\[$%{-])",
    re.ASCII,
)


def login_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return passwords in addresses: `scheme://user:password@host`, `https://token@host`."""
    for scheme in _LOGIN.finditer(text):
        match = _USER_INFO.match(text, scheme.end())
        secret = (match and match["secret"]) or ""
        if match and secret and (not is_placeholder(secret) or secret.lower() in _REAL):
            yield match.span("secret")
        if match and len(match["user"]) >= 16 and looks_secret(match["user"], Doubt.RANDOM, is_quoted=True):
            yield match.span("user")


_REAL = frozenset({"test", "foo", "bar", "user", "name", "login", "id"})

_WORD = r"(?P<secret>(?<=[\"'])[^\"'`\\\n]{1,200}(?=\\*[\"'])|[^\s\"'`\\;|&<>]{1,1024}+)"
_VALUE = rf"(?:{QUOTE})?{_WORD}"
_LOGIN_PAIR = rf"(?:{QUOTE})?[^\s:\"'`\\]{{1,100}}:(?P<secret>[^\s\"'`\\]+)"
_TWO_WORDS = (
    rf"{QUOTE}[^\"'`\\\n]{{1,64}}{QUOTE}(?:\.\w+\(\))?\s*,\s*(?:some\(|b)?{QUOTE}(?P<secret>[^\"'`\\\n]+)"
)
_PRINT = r"(?:echo|printf) +(?:-\w+ +|[\"']?%s(?:\\n)?[\"']? +)?"
_TAKES = (
    r"(?:--password-stdin|--with-token|--stdin|(?:ch)?passwd|sudo -S|secrets? (?:create|add|set|put|versions)"
    r"|luks\w+|passphrase-fd|pass stdin|cryptsetup|kinit|login|secret-tool store|pass insert|keyring set"
    r"|base64 (?:-d|--decode)[^\n]{0,40}(?:pass|secret|token|key))"
)
"""Commands and options that read a secret from their input."""
_RANDOM = r"(?P<random>(?=[^\s\d]*\d)(?=[^\sa-z]*[a-z])(?-i:[\w.-]{24,}))(?=\s|\\|\"|\Z)"
_ARGS = r"[^\n;|&]{0,300}?"
_VALUE_NAME = r"value(?=[\"'`\\ \t]*[:=])"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LONG = r"(?P<random>(?-i:(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z]))[\w+/-]{32,128}={0,2})(?=\s|\\|\"|\Z)"
_BELOW = rf"{SPACE}*(?:(?:\r|\\+r)?(?:\n|\\+n)){{1,2}}"
_CODES = r"(?=[A-Za-z-]{0,8}\d|[A-Z]{4}-)[A-Za-z0-9]{2,9}(?:-[A-Za-z0-9]{2,9}){0,3}"
_KEY_PART = rf"{QUOTE}{SPACE}{{0,2}}:{SPACE}{{0,2}}{QUOTE}"
# Numbers of a private key, one behind the other.
_KEY_PARTS = (
    rf"[\w+/=-]{{20,}}(?:{QUOTE},{BREAK}{{0,8}}{QUOTE}(?:d|p|q|dp|dq|qi){_KEY_PART}[\w+/=-]{{20,}}){{0,5}}"
)

_PROMPT = (  # what a shell of Python prints for a name
    ">>> ",
    rf">>> [\w.\[\]\"'\\]{{0,64}}(?:password|passwd|secret|token|api_?key)[\w\]\"']*{_BELOW}"
    rf"{QUOTE}(?P<random>[^\"'`\n\\]+)",
)


# Not the quotes of Markdown, in which options are listed, too.
_SEPARATOR = rf"(?:{SPACE}|\\*[\"']{SPACE}{{0,2}},?{SPACE}{{0,2}}(?:\w{{1,3}}=)?\\*[\"'])"


def _option(option: str, *, program: str = r"[\w-]*", gap: str = "+", value: str = _VALUE) -> str:
    return rf"{program}{_ARGS}{_SEPARATOR}{option}{_SEPARATOR}{gap}{value}"


_OPTION = re.compile(
    r"""-(?:(?:(?<=[\s"'`,(\[-]-)|(?<=\\[nrt]-)|(?<=\\u[0-9a-f]{4}-))[abknpstuwx]|u(?=ser)|s(?=ecurestring))"""
)

_MANY_WORDS = r"(?P<secret>[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23})\b"

_PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "-u": (
        ("curl", _option("(?:-u|--user|--proxy-user|-U)", gap="*=?", value=_LOGIN_PAIR)),
        ("--user ", rf"--user {_LOGIN_PAIR}"),
        ('="-u ', rf'="-u {_LOGIN_PAIR}'),
        ("lftp", _option("-u", gap="+", value=rf"[^\s,\"']+,{_WORD}")),
        ("smb", _option("(?-i:-U)", gap="*", value=rf"(?:{QUOTE})?[^\s%\"']+%{_WORD}")),
        (" -u", rf"(?-i: -U) *(?:{QUOTE})?[\w.\\/-]{{1,64}}%(?P<random>(?![0-9a-f]{{2}})[^\s\"'`\\]{{6,}})"),
        (
            " -u",
            rf" -u{SPACE}*\S+{_ARGS}{SPACE}-p{SPACE}+(?=\S*?[\"'!@\#$%.\d])(?!\d+(?:\s|$)|-){_VALUE}",
        ),
    ),
    "-a": (
        ("http", _option("(?:-a|--auth)", program="https?(?= )", gap="*=?", value=_LOGIN_PAIR)),
        ("redis-cli", _option("-a")),
        ("snmp", _option("(?-i:-A)", program=r"snmp\w*")),
    ),
    "-p": (
        ("mysql", _option("-p", gap="{0}")),
        ("mariadb", _option("-p", gap="{0}")),
        (" login", _option("-p")),
        ("zip", _option("(?-i:-P)", gap="*")),
        *((word, _option("-p", gap="{0}")) for word in ("7z", "unrar")),
        ("mosquitto", _option("(?-i:-P)")),
        ("mongo", _option("(?-i:-p)")),
        ("sqlcmd", _option("(?-i:-P)", gap="*")),
        (" -pw", rf" -pw{SPACE}+{_VALUE}"),
        ("bcp ", _option("(?-i:-P)", gap="*")),
        ("useradd", _option("-p")),
        ("usermod", _option("-p")),
    ),
    "-b": (
        ("oathtool", _option("-b", program="oathtool")),
        ("curl", _option("(?:-b|--cookie)", value=rf"(?:{QUOTE})?[\w.-]+=(?P<random>[^\s;\"'`\\]+)")),
    ),
    "-t": (
        ("auth", rf"auth init -t {_VALUE}"),
        ("codecov", _option("-t", program="codecov")),
        (" -t", rf"(?-i: -t){SPACE}+{_LONG}"),
    ),
    "-k": (
        ("openssl", _option("-k", program="openssl")),
        ("cloudsmith", _option("-k", program="cloudsmith")),
        (" -k", rf"(?-i: -k){SPACE}+{_LONG}"),
    ),
    "-n": (("ssh-keygen", _option("(?-i:-N)", program="ssh-keygen")),),
    "-s": (("securestring", rf"(?<=convertto-)securestring{SPACE}+(?:-string{SPACE}+)?{_VALUE}"),),
    "-x": (("snmp", _option("(?-i:-X)", program=r"snmp\w*")),),
    "-w": (("ldap", _option("-w", gap="*")), ("generic-password", _option("-w", program="generic-password"))),
    "pass": (
        _PROMPT,
        ("passwd", rf"passwd(?=[^\n]{{0,40}}<<<)[^\n]{{0,40}}<<<{SPACE}*{_LOGIN_PAIR}"),
        (
            "pass",
            rf"pass(?:word|phrase|code|wort)\b"
            rf"(?:[^:\n]{{1,80}}(?<!/):{BREAK}+|:{SPACE}*(?:\n|\\+[nr]){BREAK}*"
            rf"|[^:\n\\]{{0,40}}\?{BREAK}+[^\n\\]{{0,40}}?: +)"
            rf"`?(?P<random>[^\s\"'`\\]+)(?=`?{BREAK}*(?:\n|\\+[nr]|\"|\Z))",
        ),
        *(
            (
                f"{verb} ",
                rf"{verb} (?:{QUOTE}(?P<secret>(?!password|passphrase)[a-z]{{6,64}}(?={QUOTE}))"
                rf"|(?:{QUOTE})?(?P<random>[^\s\"'`\\]+))(?:{QUOTE})? (?:as|for|"
                rf"(?:when|if|once) [\w ]{{2,24}} for) (?:\w+ ){{0,3}}pass"
                r"(?:word|phrase|code|wort)",
            )
            for verb in ("use", "enter", "type")
        ),
        ("--pass ", rf"--pass {_VALUE}"),
        ("user ", r"user \S+,? pass(?:wd)? (?P<random>[^\s\"'`\\]{6,})"),
        ("plain-text-password-value ", rf"plain-text-password-value {_VALUE}"),
        ("command", rf"(?<=password[_-])command(?:=|{SPACE})+(?:{QUOTE})?(?:echo|printf) +{_VALUE}"),
        ("password for ", rf"password for [^=\n]{{1,80}} = {QUOTE}(?P<secret>[^\"'`\\]+)"),
        (
            "random_password",
            rf"random_password[^;]{{0,400}}?\bresult(?:{QUOTE})?{SPACE}*[:=]{SPACE}*{QUOTE}(?P<secret>"
            rf"[^\"'`\n]+)",
        ),
        ("sshpass", _option("-p", program="sshpass", gap="*")),
        ("htpasswd", rf"htpasswd{SPACE}+-\w*b\w*{SPACE}+(?:-\w+{SPACE}+)?\S+{SPACE}+\S+{SPACE}+{_VALUE}"),
        ("pass:", rf"(?<!\w)pass:{_VALUE}"),
        (
            "password",
            rf"(?:(?<=with )|(?<=set )|(?<=ypted ))password(?:{BREAK}|=)+n?{QUOTE}(?P<secret>[^\"'`\\]+)",
        ),
        ("login", rf"login{BREAK}+\S+{BREAK}+password{BREAK}+{_VALUE}"),
        ("rclone", rf"rclone{_ARGS} pass {_VALUE}"),
        ("pass ", rf"(?-i:(?:(?<![^\n\"])|(?<=\\n))PASS) {_VALUE}"),
        ("openssl passwd ", rf"openssl passwd{_ARGS}(?<= )(?:{QUOTE})?(?P<random>[^\s\"'`\\$-][^\s\"'`\\]+)"),
        ("password ", r"password [057] (?P<random>[^\s\"'`\\]+)"),  # of routers
        ("requirepass", rf"requirepass{SPACE}+{_VALUE}"),
        ("wpa_passphrase ", rf"wpa_passphrase \S+ {_VALUE}"),
    ),
    "auth": (
        ("auth", rf"auth{SPACE}+plain{SPACE}+(?P<random>[\w+/=]{{8,}})"),
        ("auth ", r"(?-i:AUTH) (?:[a-z]+ )?(?P<random>[^\s\"'`\\]+)"),
        (
            "auth ",
            r"(?-i:(?:(?<![^\n\"])|(?<=> )|(?<=\\n))AUTH (?:[a-z][a-z0-9_]* )?"
            r"(?P<secret>(?!failed|required|error|success|rejected|denied|plain|login|token|command|method|default\b)[a-z]{6,64}))(?=\s*(?:\n|\\[nr]|\"|\Z))",
        ),
        ("auth(", rf"(?<=[:.])auth\({QUOTE}(?P<random>[^\"'`\\\n]{{6,}}){QUOTE}\)"),
        ("masterauth", rf"masterauth{SPACE}+{_VALUE}"),
        ("auth ", rf"(?<=[a-z] )auth (?:login )?{_RANDOM}"),
        ("authtoken ", rf"authtoken {_RANDOM}"),
        ("oauth ", rf"oauth (?P<secret>{_UUID})\b"),
        ("add-authtoken", rf"add-authtoken{SPACE}+{_VALUE}"),
    ),
    "cred": (
        (
            "cred",
            r"cred(?:ential)?s?(?:\s+are|\s+is)?[\s:=-]{1,4}[\w.@-]{1,40}:(?P<random>[^\s\"'`\\/:,;()]{6,})",
        ),
    ),
    "token": (
        _PROMPT,
        (
            "use ",
            rf"use (?:{QUOTE})?(?P<random>(?=[^\s\d]*\d)[\w./+-]{{16,}})(?:{QUOTE})? (?:as|for) "
            r"(?:\w+ ){0,3}token",
        ),
    ),
    "-": (("login ", rf"(?<=[a-z] )login {_RANDOM}"),),
    "secret": (
        _PROMPT,
        ("secret", rf"secret{_ARGS}--(?:value|body|secret-string){SPACE}+{_VALUE}"),
        (
            "secrets/",
            rf"secrets/[\w./-]+\"?{SPACE}*<<-?(?:{QUOTE})?\w+(?:{QUOTE})?{_BELOW}(?P<secret>[^\s\"\\]+)",
        ),
        (
            "base64 ",
            rf"base64 (?:-d|--decode){SPACE}*(?:→|->|\\u2192|(?:\r|\\+r)?(?:\n|\\+n)){SPACE}*"
            rf"(?P<random>[^\s\"'`\\]+)",
        ),
        (
            r"\*(?=[ \t]+\S{6,64}[ \t]+\*)",
            rf"\*{SPACE}+(?P<random>(?-i:(?=\S*[A-Z])(?=\S*[a-z]))[^\s\"'`\\*()\[\]{{}}]+){SPACE}+\*(?="
            rf"{SPACE}*(?:\n|\\+[nr]|\"|\Z))",
        ),
        ("secret_id=", rf"secret_id={_VALUE}"),
        ("secret ", r"secret [05789] (?P<random>[^\s\"'`\\]+)"),  # of routers
    ),
    "pw": (
        ("rootpw ", r"rootpw +(?:--plaintext +)?(?P<random>[^\s\"'`\\-][^\s\"'`\\]+)"),
        (
            "pw ",
            rf"(?<![a-z])pw (?:for|of|to) [^:\n\\]{{1,60}}:{SPACE}+(?P<random>[^\s\"'`\\]+)(?={SPACE}*"
            rf"(?:\n|\\+[nr]|\"|\Z))",
        ),
        ("userpwd", rf"userpwd['\"]?\s*(?:,|=>)\s*{QUOTE}[^\s:\"'`\\]{{1,64}}:(?P<secret>[^\"'`\\\n]+)"),
    ),
    "_": (
        (" add_user ", rf" add_user {SPACE}*\S+{SPACE}+{_VALUE}"),
        ("pgp_sym_", r"pgp_sym_\w+\([^'\n]{1,80}, *'(?P<secret>[^'\n]+)"),
        ("encrypt_string ", rf"encrypt_string +{QUOTE}(?P<secret>[^\"'\\\n]+)"),
    ),
    "@": (
        ("sqlplus ", r"sqlplus +[\w.$]+/(?P<secret>[^\s@\"']+)@"),
        ("oracle:thin:", r"oracle:thin:[\w.$]+/(?P<secret>[^\s@\"']+)@"),
    ),
    "|": (
        (
            "echo ",
            rf"{_PRINT}(?:{QUOTE})?(?:[\w.-]+:)?(?P<secret>[^\s\"'|]+){QUOTE}?{SPACE}*\|[^|\n]{{0,80}}?{_TAKES}",
        ),
        (
            "printf ",
            rf"{_PRINT}(?:{QUOTE})?(?P<secret>[^\s\"'|%]+(?:{QUOTE} +{QUOTE}[^\s\"'|%]+)*){QUOTE}?"
            rf"{SPACE}*\|[^|\n]{{0,80}}?{_TAKES}",
        ),
    ),
    "=": (
        (
            _VALUE_NAME,
            r"value *= *'(?P<random>[^'\n]{6,})' +where +\w+ *= *'[\w.-]*(?:secret|password|token|key)",
        ),
        ("appid=", r"(?<=[?&])appid=(?P<secret>[0-9a-f]{32})\b"),
        ("algolia", r"algolia\w*=(?P<secret>[0-9a-f]{32})\b"),
        ("encrypt", rf"encrypt(?:{QUOTE})? *[:=] *{QUOTE}(?P<secret>[\w+/]{{22,43}}={{1,2}}){QUOTE}"),
        (
            "pin",
            rf"(?:(?<![a-z])|(?<=\\[nrt]))pin(?:[ _-]?code)?(?:[ _-](?!is|ist)[a-z]{{2,12}}){{0,3}}"
            rf"(?:{QUOTE})?(?: is| ist|:| *=) *(?:{QUOTE})?(?P<secret>\d{{4,8}})\b",
        ),
    ),
    "(": (
        (
            "jwt.",
            rf"jwt\.(?:sign|encode|verify|decode)\([^\n\"'`]{{1,60}}?,\s*b?{QUOTE}(?P<random>[^\"'`\\\n]{{6,}})",
        ),
        (
            "hmac",
            rf"hmac\w*(?:(?:\.|::)\w+)?\((?:{QUOTE}\w+{QUOTE},\s*)?b?{QUOTE}(?P<random>[^\"'`\\\n]{{8,}})",
        ),
        *(
            (word, rf"{word[:-1]}\((?:[\w.]{{1,40}}\()?b?{QUOTE}(?P<random>[^\"'`\\\n]{{8,}})")
            for word in ("secretkeyspec(", "securitykey(", "signingkey(", "cookieparser(", "stripe(")
        ),
        ("credential", rf"credentials?(?:(?:\.|::)\w{{1,12}})?\(\s*{_TWO_WORDS}"),
        ("fernet(", rf"fernet\(b?{QUOTE}(?P<random>[^\"'`\\\n]{{8,}})"),
        (
            "require(",
            rf"require\({QUOTE}[\w@/.-]+{QUOTE}\)\((?:{QUOTE}\w+{QUOTE},\s*)?{QUOTE}(?P<random>[^\"'`\\\n]{{16,}})",
        ),
        *(
            (
                f"{word}(",
                rf"{word}\(b?{QUOTE}[\w.@-]{{1,64}}:(?P<random>[^\s\"'`\\]{{6,}}){QUOTE}",
            )
            for word in ("buffer.from", "btoa", "b64encode", "base64_encode", "encode64")  # a login
        ),
        (
            "define(",
            rf"define\({QUOTE}(?:nonce|logged_in|(?:secure_)?auth)_(?:key|salt){QUOTE}, *{QUOTE}"
            rf"(?P<secret>[^'\n]{{8,}})",
        ),
        ("twilio(", rf"twilio\({QUOTE}AC[0-9a-f]{{32}}{QUOTE}\s*,\s*{QUOTE}(?P<secret>[0-9a-f]{{32}})"),
        (
            "client(",
            rf"client\({QUOTE}(?:AC[0-9a-f]{{32}}{QUOTE}\s*,\s*{QUOTE}(?P<secret>[0-9a-f]{{32}})"
            rf"|(?P<random>[A-Za-z0-9]{{32,64}}){QUOTE}\))",
        ),
        *(
            (
                f"{word}(",
                rf"{word}\([\w.&*>$-]{{1,64}}+\s*,\s*(?:{QUOTE}[^\"'`\\\n]{{1,64}}"
                rf"{QUOTE}\s*,\s*)?{_TWO_WORDS}".replace("<secret>", "<random>"),
            )
            for word in ("connect", "pdo")
        ),
        ("connection(", rf"connection\([\w.]{{1,64}}+\s*,\s*{_TWO_WORDS}"),
    ),
    "{": (
        ("mnemonic", rf"mnemonic{QUOTE}{SPACE}*:{SPACE}*{QUOTE}{_MANY_WORDS}"),
        (
            _VALUE_NAME,
            rf"value{QUOTE}{SPACE}?:{SPACE}?{QUOTE}(?P<random>[^\s\"'`\\]{{20,}}){QUOTE}"
            rf"[^{{}}]{{0,200}}{QUOTE}(?:domain|http_?only|samesite){QUOTE}",
        ),
        (
            "kty",
            rf"kty{QUOTE}{SPACE}?:[^{{}}]{{0,1600}}?\b(?:[dkpq]|d[pq]|qi){_KEY_PART}(?P<secret>{_KEY_PARTS})",
        ),
    ),
    "": (
        ("mnemonic", rf"mnemonic(?:{QUOTE})?{SPACE}*[:=]{SPACE}*{QUOTE}{_MANY_WORDS}"),
        ("dockerconfigjson", rf"dockerconfigjson(?:{QUOTE})?:{SPACE}*(?:{QUOTE})?(?P<secret>[\w+/=]{{16,}})"),
        (
            "identified ",
            rf"identified{BREAK}+(?:with{BREAK}+\S+{BREAK}+)?by{BREAK}+"
            r"(?:\\*[\"'](?P<secret>[^\"'`\\]+)|(?P<random>[^\s\"'`\\;]{6,64}))",
        ),
        (
            r" code(?=s?(?: is| are|[:=]| \d))",
            r"(?:(?<=verification)|(?<=one-time)|(?<=security)|(?<=recovery)|(?<=backup)|(?<=login)|(?<=device)|(?<=access)"
            r"|(?<=confirmation)|(?<=factor)|(?<=temporary)|(?<=auth)|(?<=reset)|(?<=pairing)|"
            r"(?<=unlock)|(?<=emergency)|(?<=sms)|(?<=2fa)|(?<=mfa))"
            rf" codes?(?: is| are|:|=|(?= \d{{6}}\b))(?:{BREAK}|[-*] )+"
            rf"`?(?P<secret>{_CODES}(?:(?:,|{BREAK}|[-*]|\d\. ){{1,6}}(?=[A-Za-z0-9-]{{6}}){_CODES})*)\b",
        ),
        (
            "assword",
            rf"assword:?(?:{BREAK}|[\"'{{}};*\\]){{1,12}}send(?:line)? (?:-- )?{QUOTE}(?P<secret>[^\"\\]+)",
        ),
        (
            "put-parameter",
            rf"put-parameter(?=[^\n]*securestring){_ARGS}--value(?:{SPACE}|=)+{_VALUE}",
        ),
        ("sp_addlogin", r"sp_addlogin\s+(?:@\w+ *= *)?n?'[^'\n]+',\s*(?:@\w+ *= *)?n?'(?P<secret>[^'\n]+)"),
        ("obscure ", rf"(?<=rclone )obscure +{_VALUE}"),
        ("mailgun", r"mailgun[^\n]{0,40}?(?P<secret>[0-9a-f]{32}(?:-[0-9a-f]{8}){2})\b"),
        ("wifi:", r"(?-i:WIFI:(?:[^\n\"]{0,99}?;)?P:(?P<secret>(?:[^;\\\n]|\\+[;:,\\])+))"),
        *(
            (
                word,
                rf"{_PRINT}(?:{QUOTE})?(?P<random>[^\s\"'`|%\\$]+)(?:{QUOTE})?{SPACE}*>{{1,2}}"
                rf"{SPACE}*[\w./~-]{{0,80}}?(?:secret|pass|token|cred)",
            )
            for word in ("echo ", "printf ")
        ),
        ("snmp-server community ", r"snmp-server community (?P<random>[^\s\"'`\\]+)"),
        (
            "enter ",
            rf"enter (?:{QUOTE})?[\w.@-]{{1,64}}(?:{QUOTE})? (?:and|/|with) (?:{QUOTE})(?P<random>"
            rf"[^\s\"'`\\]{{6,}}){QUOTE}",
        ),
        (  # cookies of a browser
            r"true(?=(?:\t|\\+t)\d)",
            r"true(?:\t|\\+t)\d+(?:\t|\\+t)[\w.-]+(?:\t|\\+t)(?P<random>[^\s\"\\]{16,})",
        ),
        (
            "334 ugfz",
            rf"334 UGFzc3dvcmQ6{BREAK}+(?P<secret>[\w+/=]{{6,}})",
        ),  # "Password:", asked by a mail server
        ("phrase", rf"phrase[^\n:=]{{0,20}}?(?: is|:|=)(?:: )?{BREAK}*(?:{QUOTE})?{_MANY_WORDS}"),
    ),
    "key": (
        ("pragma ", rf"pragma (?:hex)?(?:re)?key *= *{QUOTE}(?P<secret>[^\"'\\\n]+)"),
        ("key (?=[067])", r"key [067] (?P<random>[^\s\"'`\\]+)"),  # of routers
        (
            "rsakeyvalue",
            r"rsakeyvalue>[^\n]{0,1600}?<(?:p|d)>(?P<secret>[^<]+(?:</\w+>\s*<(?:q|d[pq]?|inverseq)>[^<]+)*)",
        ),
        ("attach ", r"attach (?:database )?'[^'\n]+' as \w+ key '(?P<secret>[^'\n]+)"),
        ("option key ", rf"option key {QUOTE}(?P<random>[^\"'`\n\\]{{8,63}})"),
        (
            "-shared-key ",
            rf"-shared-key (?:(?:ascii-text|hexadecimal|local|remote|[068]) )*(?:{QUOTE})?(?P<random>"
            rf"[^\s\"'`\\]{{6,}})",
        ),
        ("isakmp key ", r"isakmp key (?:[06] )?(?P<random>[^\s\"'`\\]{6,})"),
        (
            "keymaterial",
            rf"keymaterial(?:{QUOTE})?(?:>|{SPACE}*[:=]{SPACE}*(?:{QUOTE})?)(?P<secret>[^\s<\"'`\\]{{8,}})",
        ),
        ("key content", rf"key content{SPACE}*:{SPACE}*(?P<secret>[^\s\"'`\\]+)"),
        ("geniekey ", rf"geniekey (?P<secret>{_UUID})\b"),
        ("-key ascii-text ", rf"-key ascii-text {QUOTE}(?P<secret>[^\"'`\\\n]+)"),
    ),
    "!": (("00d", r"(?-i:00D[A-Za-z0-9]{12,15}!A(?P<secret>[A-Za-z0-9._]{40,}))"),),
    "/": (
        ("hook", r"hook[\w./-]{0,60}/(?P<secret>(?=[A-Za-z/-]{0,40}\d)[\w/-]{16,200})"),
        ("net use", rf"net user? +\S+{_ARGS}(?<= )(?P<random>[^\s/\\\"\0]{{6,99}})(?=[ \"\\\0]|\Z)"),
    ),
}
"""By what a text must have, an option, a stem or a sign: a word with which a place begins, and the place."""
_SIGNS = "|@{/=!"
_UNDERSCORE = re.compile("_(?:user|sym_|string )")
_CALLED = re.compile(r"\((?<=[a1!]\()")

_NAMED_PLACES: tuple[tuple[str, str], ...] = (
    ("from-literal", rf"from-literal(?:=|{SPACE}+)(?:{QUOTE})?(?P<name>[\w.-]+)={_WORD}"),
    (
        " set ",
        rf"(?:(?<=config)|(?<=configure)|(?<=secrets)) set"
        rf" {SPACE}*(?:{QUOTE})?(?P<name>[\w.:/@-]+)(?:{QUOTE})?(?:{SPACE}+|=){_VALUE}",
    ),
    (
        _VALUE_NAME,
        rf"value(?:{QUOTE})?{SPACE}{{0,4}}[:=]{SPACE}{{0,4}}{QUOTE}(?P<secret>[^\"'`\\\n]{{1,200}}){QUOTE}"
        rf"(?:,|{BREAK}){{1,20}}(?:{QUOTE})?(?:name|key|id)(?:{QUOTE})?{SPACE}{{0,4}}[:=]{SPACE}{{0,4}}"
        rf"{QUOTE}(?P<name>[\w.-]+){QUOTE}",
    ),
    *(
        (
            f"{word} ",
            rf"{word} (?:{QUOTE})?(?:\$\{{?)?(?P<name>\w+)\}}?(?:{QUOTE})?{_BELOW}(?P<random>[^\s\"'`\\]+)",
        )
        for word in ("echo", "printenv")
    ),
    ("env ", rf"(?-i:(?<![A-Z_])ENV){SPACE}+(?P<name>\w+){SPACE}+(?P<secret>[^\s=\"'`\\]+)"),
)
"""The same, with a name that must be a telling one."""

_LOGIN_CALL = (
    rf"(?=\s{{0,9}}{QUOTE})(?:\s*{QUOTE}[^\"'`\\\n]{{0,99}}{QUOTE}\s*,(?:\s*\d+\s*,)?)?"
    rf"\s*{_TWO_WORDS}".replace("secret", "second")
)
_HEADS = {
    "combo": re.compile(r"(?:\s|\\n|[\"']|\A)(?!git@)[\w.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+\Z", re.ASCII),
    "input": re.compile(
        _TAKES.lower()
        + r"[^\n]*\Z|(?:\b|(?<=\\[nrt]))read [^\n<]*(?:pass|pw|secret|token|key)\w*[^\n\w<]*\Z",
        re.ASCII,
    ),
    "slash": re.compile(
        r"(?:\b|(?<=\\[nrt]))(?:(?:log|sign)\w{0,4}[ -]?(?:in|on|into)|cred(?:ential)?s?|wi-?fi"
        r"|(?:login|user|account)(?:name)?/pass\w{0,4})\b[^\n/]*\Z",
        re.ASCII,
    ),
    "second": re.compile(
        r"(?:pdo(?:->__construct)?|mysqli"
        r"|log_?[io]n|sign_?in|(?:connect|passw)\w{0,12}|auth\w{0,16}(?:=|: *)?"
        r"|create_?(?:super)?user|_pw_set|wifi\.begin)\Z",
        re.ASCII,
    ),
}

_SIGN_PLACES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # .pgpass; user:password@tcp(…)
    (
        "@",
        re.compile(
            r":(?:(?P<address>[^\s:@/\"'`]{1,99}+)@(?:(?:tcp|unix|udp)\(|\d{1,3}(?:\.\d{1,3}){3}\b)"
            r"|(?<=[a-z]:)(?P<combo>(?=[^\s\d]{0,64}\d)[^\s/:\"'`\\]{6,64})(?=\s|\\|\"|\Z))"
        ),
    ),
    (":543", re.compile(r":543\d:[^:\s]+:[^:\s]+:(?P<secret>[^\s\"'`]+)")),
    ("*", re.compile(r":(?:\*:){1,2}[^:\s*]+:(?![^\s:\"'`]*:)(?P<secret>[^\s\"'`]+)")),
    # options of Windows; log in as admin / …
    ("/", re.compile(rf"/(?<=\s/)(?:(?:rp |p[: ]){_VALUE}| `?(?P<slash>(?=\S*\d)[^\s`]{{6,64}}))")),
    # sudo -S <<< "…"
    ("<", re.compile(rf"<<<{SPACE}*(?:{QUOTE})?(?:[\w.-]+:(?=\S))?(?P<input>[^\s\"'`\\]+)")),
    # login("user", "…"), new PDO("address", "user", "…"), auth=("user", "…"), auth: ["user", "…"]
    ("(", re.compile(rf"\({_LOGIN_CALL}", re.IGNORECASE)),
)
"""The same, with a sign in them that is quicker to look for than any word."""
_PROSE_PLACES = tuple(place for place in _SIGN_PLACES if place[0] == "*")


_LETTERS_ONLY = re.compile("[a-z]+")


_NAME = "name"
_ROWS: dict[str, list[tuple[str, tuple[str, str]]]] = {}
"""What a text needs for a place, and the place, by the longest run of letters in its word: each text with the
word has it in one of its words. Without one: by nothing.
"""
for _need, _places in (*_PLACES.items(), (_NAME, _NAMED_PLACES)):
    for _row in _places:
        _part = max(_LETTERS_ONLY.findall(_row[0]), key=len, default="")
        _ROWS.setdefault(_part if len(_part) > 1 else "", []).append((_need, _row))
PLACE_PARTS = {part for part in (*_ROWS, "bearer", "basic", "code") if part}


_PROSE_CODE = re.compile(" codes?(?: (?:is|are|[0-9])|[:=])")


def has_prose_place(low: str) -> bool:
    """Whether a text of words alone can have such a place."""
    return (
        "phrase" in low
        or "mnemonic" in low
        or "identified " in low
        or ("*" in low and "*:" in low)
        or ("_" in low and _UNDERSCORE.search(low) is not None)
        or (" code" in low and _PROSE_CODE.search(low) is not None)
    )


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


@functools.lru_cache(1024)
def _rows_of(parts: frozenset[str], needs: frozenset[str]) -> dict[str, dict[str, None]]:
    """Return the places that a text with these parts and signs may have, by their words."""
    rows: dict[str, dict[str, None]] = {}
    for part in ("", *(parts & _ROWS.keys())):
        for need, (word, pattern) in _ROWS[part]:
            if need in needs:
                rows.setdefault(word, {})[pattern] = None
    return rows


def command_spans(
    text: str, low: str, parts: Set[str], stems: Sequence[str], signs: str
) -> Iterator[tuple[int, int]]:
    """Return secrets among the words of commands and statements."""
    has_call = "(" in signs and _CALLED.search(signs) is not None
    for sign, place in _SIGN_PLACES if signs else _PROSE_PLACES:
        if sign in low and (sign != "(" or has_call):
            for found in place.finditer(text):
                at, group = found.start(), found.lastgroup or ""
                head = _HEADS.get(group)
                is_place = head is None or head.search(low, max(0, at - 64), at)
                if is_place and not is_placeholder(found[group]):
                    yield found.span(group)
    needs = {"", *stems}
    if signs:
        needs.update([sign for sign in _SIGNS if sign in low], "(" * has_call, [_NAME] if stems else ())
        needs.update(_OPTION.findall(low) if "-" in low else ())
    if "_" in low and _UNDERSCORE.search(low):
        needs.add("_")
    for word, patterns in _rows_of(frozenset(parts), frozenset(needs)).items():
        # A word that most texts have says what follows where it counts.
        for at in map(re.Match.start, re.finditer(word, low)) if "(?" in word else places_of(low, word):
            for match in filter(None, (_compiled(pattern).match(text, at) for pattern in patterns)):
                groups = match.groupdict()
                name, group = groups.get("name"), "random" if groups.get("random") else "secret"
                is_secret = group == "secret" or looks_secret(match[group], Doubt.RANDOM, is_quoted=True)
                if is_secret and (name is None or is_telling(name)) and not is_placeholder(match[group]):
                    yield match.span(group)


_DASHES = r"-(?:(?<![A-Za-z0-9_-]-)|(?<=\\[nrt]-)|(?<=\\u[0-9A-Fa-f]{4}-))-?(?-i:D(?=[a-z]))?"
FLAG_NAME = re.compile(_DASHES + r"([a-z][\w.-]{0,60}+)(?=[=\s\"'`\\]|\Z)", re.ASCII | re.IGNORECASE)
"""An option whose value follows, also as the next string of a list."""

FLAG = re.compile(
    _DASHES + r"(?P<name>[a-z][\w.-]{0,60}+)"
    rf"(?:=|{SPACE}+|{BREAK}{{1,20}}- |{QUOTE}{BREAK}{{0,8}},{BREAK}{{0,8}}(?={QUOTE}))"
    rf"(?:{QUOTE})?(?=[^\s\"'`\\,-])",
    re.ASCII | re.IGNORECASE,
)
_FLAG_VALUE = re.compile(r"(?<=[\"'])[^\"'`\\\n,]{1,200}(?=\\*[\"'])|(?:[^\s\"'`\\;|&<>]|\\/)+")


def flag_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return the values of `--token …`, `--password=…`, `"--api-key", "…"`."""
    for match in FLAG.finditer(text):
        is_value = is_telling(match["name"]) and not match["name"].lower().endswith(
            ("-stdin", "-file", "-env")
        )
        if is_value and (value := _FLAG_VALUE.match(text, match.end())):
            doubt = (
                Doubt.NONE
                if match[0].startswith(("--", "-D"))
                else Doubt.WORD
                if is_password(match["name"])
                else Doubt.RANDOM
            )
            is_label = value[0].rstrip("]").isupper() and not any(map(str.isdigit, value[0]))
            if not is_label and looks_secret(value[0], doubt, is_quoted=True):
                yield value.span()


_SCHEME = (
    r"{0}(?:(?<=\b{0})|(?<=\\[nrt]{0})|(?<=\\u[0-9a-f]{{4}}{0}))[,:]?"
    rf"(?:{SPACE.replace('{', '{{').replace('}', '}}')}|%20|\\u0020)+"
)
"""The word stands first: in a text of small letters it is found quickly."""
_BEARER = re.compile(
    _SCHEME.format("bearer")
    + rf"(?:\$?\{{{QUOTE}|{QUOTE}{SPACE}{{0,4}}[+.]{SPACE}{{0,4}}{QUOTE})?"
    + r"(?P<secret>(?:[a-z0-9._~+/=:-]|\\/){8,})",
    re.ASCII,
)
_BASIC = re.compile(_SCHEME.format("basic") + r"(?P<secret>[a-z0-9+/]{8,}={0,2})", re.ASCII)


def scheme_spans(text: str, low: str, parts: Set[str]) -> Iterator[tuple[int, int]]:
    """Return the places of `Bearer …` and `Basic …`."""
    if "bearer" in parts:
        for match in _BEARER.finditer(low):
            secret = text[slice(*match.span("secret"))].rstrip(".:")
            is_random = (len(secret) > 24 and not secret.isalpha()) or is_gibberish(secret, is_quoted=True)
            if (is_random or any(map(str.isdigit, secret))) and not is_placeholder(secret):
                yield match.start("secret"), match.start("secret") + len(secret)
    if "auth" in parts and "basic" in parts:
        for match in _BASIC.finditer(low):
            secret = text[slice(*match.span("secret"))]
            is_quoted = len(secret) >= 16 and text[match.end() : match.end() + 1] in ('"', "'", "`")
            if is_login(secret) or (is_quoted and any(map(str.isdigit, secret))):
                yield match.span("secret")
