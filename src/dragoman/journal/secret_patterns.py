"""What secrets are called, what they look like, and what stands before them: tables, and nothing that acts.

`redaction` hides what these tables describe, and `secret_search` finds where that may be. A row of `SHAPES`
is looked for as soon as it stands here; what is added to `AFTER` needs a search of its own there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


class SecretShape:
    """A regular expression that is compiled when it is first needed: all of them together take longer than
    most commands to start, and few texts have the words for which one is tried.
    """

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self._compiled: re.Pattern[bytes] | None = None

    def sub(self, replacement: bytes, text: bytes) -> bytes:
        return self._expression().sub(replacement, text)

    def finditer(self, text: bytes) -> Iterator[re.Match[bytes]]:
        return self._expression().finditer(text)

    def _expression(self) -> re.Pattern[bytes]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern)
        return self._compiled


NAMED = frozenset(
    {
        *("apikey", "xapikey", "authkey", "secret", "clientsecret", "secretkey", "secretaccesskey"),
        *("password", "passwd", "passphrase", "privatekey", "credential", "credentials", "bearer"),
        *("token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken"),
        *("authorization", "proxyauthorization", "cookie", "setcookie"),
    }
)
"""Names of secrets, without case and punctuation."""

PAIRS = frozenset({"env", "headers", "environment", "httpheaders", "dragomancredentials"})
"""Names of lists or tables whose values are never stored, whatever they are called."""

EDGE = rb"(?:\b|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
"""Where a word begins, also behind a character that JSON writes as an escape with letters, such as `\\n`."""

# Repetitions that something must follow are bounded, lest odd text take forever.
SHAPES = tuple(
    (word, SecretShape(shape if shape.startswith(b"-") else EDGE + shape))
    for word, shape in (
        ("sk-", rb"sk-[A-Za-z0-9_-]{16,}"),
        ("k_live_", rb"[rs]k_live_[A-Za-z0-9]{16,}"),
        *((f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{20,}}".encode()) for kind in "pousr"),
        ("github_pat_", rb"github_pat_[A-Za-z0-9_]{20,}"),
        ("glpat-", rb"glpat-[A-Za-z0-9_-]{16,}"),
        *((f"xox{kind}-", rf"xox{kind}-[A-Za-z0-9-]{{10,}}".encode()) for kind in "abeprs"),
        ("AKIA", rb"AKIA[A-Z0-9]{16}\b"),
        ("ASIA", rb"ASIA[A-Z0-9]{16}\b"),
        ("AIz", rb"AIza[A-Za-z0-9_-]{30,}"),
        ("ya29", rb"ya29\.[A-Za-z0-9_-]{20,}"),
        ("hf_", rb"hf_[A-Za-z0-9]{20,}"),
        ("npm_", rb"npm_[A-Za-z0-9]{30,}"),
        ("pypi-", rb"pypi-[A-Za-z0-9_-]{30,}"),
        ("eyJ", rb"eyJ[A-Za-z0-9_-]{8,300}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]*"),
        (
            # Without its end it goes up to the end of the string, whose quote may be an escaped one.
            "PRIVATE KEY-",
            rb"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|(?=\\*\")|$)",
        ),
    )
)
"""What keys look like. The word is in every one of them; of its last letter, ordinary text has little."""

_ESCAPE = rb"\\(?:u[0-9A-Fa-f]{4}|/)"
"""A character of a value that an encoder wrote as an escape. Any other escape ends a value: `\\n`, `\\"`."""

_WRITTEN_NAMES = b"|".join(rb"[-_. ]?".join(map(str.encode, name)) for name in sorted(NAMED))

AFTER = tuple(
    (word, SecretShape(shape))
    for word, shape in (
        ("bearer", rb"(?i)(" + EDGE + rb"bearer\s+)(?:[A-Za-z0-9._~+/=-]|" + _ESCAPE + rb"){8,}"),
        ("basic", rb"(?i)(authorization\W{1,6}basic\s+)(?:[A-Za-z0-9+/=]|" + _ESCAPE + rb"){8,}"),
        (
            "@",
            rb"(\b[a-z][a-z0-9+.-]{0,15}:(?:\\?/){2}[^\s/\"\\:@]{0,200}:)"
            rb"(?:[^\s/\"\\@]|" + _ESCAPE + rb"){1,500}(?=@)",
        ),
        (
            "=",
            rb"(?i)([?&](?:access_token|api_?key|token|secret|password)=)(?:[^\s&\"\\#]|" + _ESCAPE + rb")+",
        ),
        (
            # A quote that is not escaped ends the string, if JSON goes on behind it.
            "=",
            rb"(" + EDGE + rb"[A-Z][A-Z0-9_]*?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?:_[A-Z0-9]+)?="
            rb"(?:\\?'|\\\"|\"(?![,:}\]]))?)(?:[^\s\"'\\;&|]|" + _ESCAPE + rb")+",
        ),
        (
            # The next string of a list is the value, but the next name of an object is not.
            "--",
            rb"(--(?:[a-z]+-)*(?:api-?key|token|secret|password|passwd)"
            rb"(?:=|\s+|\"\s*,\s*\"(?![^\"]*+\"\s*:)))(?:[^\s\"\\]|" + _ESCAPE + rb")+",
        ),
        (
            # JSON within a string. Its quotes have as many backslashes as its depth asks for, and a backslash
            # of its own is written as one more than these.
            '\\"',
            rb"((?<!\\)(\\{1,15})\"(?i:" + _WRITTEN_NAMES + rb")\2\" {0,8}:(?: |\\t){0,8}\2\")"
            rb"(?:[^\"\\]|\\\2(?:\\\2|\2\"|[^\"\\])|\\[^\"\\])+",
        ),
    )
)
"""What stands before a secret; it stays, and the secret goes. The word, in any case, is in each of them."""


def is_secret_name(name: str) -> bool:
    """Whether the value under this name, or the values in it, are secret."""
    bare = bare_name(name)
    return bare in NAMED or bare in PAIRS


def bare_name(name: str) -> str:
    """The name without case and punctuation."""
    return "".join(filter(str.isalnum, name)).lower()
