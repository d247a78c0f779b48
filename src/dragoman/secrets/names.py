"""Which names tell that a secret follows, and which values are plainly none. Pure values, no search."""

from __future__ import annotations

import functools
import re
from enum import IntEnum

REDACTED = "[redacted]"

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

PASSWORDS = frozenset(
    {"password", "passwd", "pwd", "pass", "passphrase", "passwort", "passcode", "pw", "psw", "passw", "pswd"}
)
_WORDS = PASSWORDS | frozenset(
    {"secret", "token", "credential", "credentials", "creds", "cred", "auth", "authorization", "cookie"}
    | {"apikey", "accesskey", "secretkey", "privatekey", "bearer", "apitoken", "authtoken", "signature", "sig"}
    | {"authkey", "accountkey", "passkey", "dockerconfigjson", "xapikey", "setcookie", "kennwort", "jwt", "otp"}
)
_ENDS = (
    *("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey"),
    *("authkey", "pwd", "passwort", "accountkey"),
)
_KEY_OWNERS = frozenset(
    {"api", "access", "secret", "private", "signing", "encryption", "encrypt", "master", "auth", "account"}
    | {"shared", "storage", "session", "consumer", "subscription", "deploy", "hmac", "jwt", "aes", "server"}
    | {"admin", "write", "service", "app", "ssh", "license", "webhook", "cipher", "crypto", "data", "ikm"}
    | {"cookie", "client", "role", "authorization", "live", "integration", "ingest", "vault", "root", "rest"}
    | {"symmetric", "host", "functions", "psk", "preshared", "wpa", "sas", "decryption", "signature", "recovery"}
)
"""What stands before `key` where it is a secret. `primary`, `cache` and `public` keys are none."""

_NOT_AFTER = frozenset(
    {"url", "uri", "urls", "endpoint", "name", "names", "type", "types", "field", "fields", "path", "file", "files"}
    | {"filename", "dir", "folder", "id", "ids", "len", "length", "size", "count", "counts", "limit", "budget"}
    | {"expiry", "expires", "expiration", "expire", "ttl", "policy", "hash", "header", "headers", "prefix"}
    | {"suffix", "regex", "regexp", "pattern", "label", "error", "errors", "message", "msg", "hint", "placeholder"}
    | {"env", "var", "variable", "format", "status", "state", "manager", "provider", "class", "method", "methods"}
    | {"scheme", "store", "ref", "arn", "title", "description", "help", "index", "idx", "pos", "position", "start"}
    | {"end", "kind", "value", "stream", "list", "map", "set", "usage", "handler", "callback", "func", "fn"}
    | {"function", "version", "algorithm", "alg", "algo", "bits", "mode", "required", "enabled", "disabled"}
    | {"valid", "length", "strength", "prompt", "input", "output", "info", "config", "configs", "options"}
    | {"option", "settings", "time", "date", "timeout", "age", "max", "min", "service", "server", "host", "port"}
    | {"domain", "user", "username", "scope", "scopes", "audience", "issuer", "request", "response", "result"}
    | {"event", "reset", "change", "changed", "update", "generator", "validator", "parser", "factory", "builder"}
    | {"source", "cache", "family", "group", "role", "rule", "rules", "column", "table", "flow", "level", "link"}
    | {"page", "button", "form", "screen", "view", "text", "style", "color", "through", "by", "on", "off", "code"}
    | {"codes", "session", "sessions", "client", "plugin", "middleware", "backend", "module", "tree", "node"}
    | {"template", "param", "params", "args", "arg", "attribute", "attr", "property", "prop", "props", "key", "keys"}
    | {"mask", "char", "chars", "charset", "encoding", "digest", "fingerprint", "checksum", "lifetime", "duration"}
    | {"created", "updated", "at", "in", "of", "for", "is", "not", "was", "or", "and", "the", "context", "keyring"}
    | {"threshold", "management", "rotation", "rotate", "scanning", "scan", "agent", "sock", "socket", "cmd", "command"}
)
"""Behind a telling word these say that something about the secret is meant, and not the secret."""

_NOT_BEFORE = frozenset(
    {"page", "next", "prev", "previous", "continuation", "cursor", "sync", "max", "min", "num", "n", "eos", "bos"}
    | {"pad", "unk", "mask", "cls", "sep", "stop", "special", "lexer", "syntax", "parser", "match", "current"}
    | {"last", "first", "no", "is", "has", "non", "invalid", "unexpected", "expected", "missing", "total"}
    | {"input", "output", "prompt", "completion", "count", "cancel", "cancellation", "abort", "progress"}
    | {"by", "low", "high", "bearer", "public", "keyword", "punctuation", "string", "comment", "operator", "type"}
    | {"function", "method", "class", "single", "multi", "word", "sub", "peek", "consume", "close", "open"}
)

_PAIR = re.compile(r"[A-Za-z0-9]+")


class Doubt(IntEnum):
    """How much a value must look like a secret, by how sure its name and its place are."""

    NONE = 0
    """Any value counts, but for a placeholder and a reference."""
    WORD = 1
    """One word that is no word of code."""
    RANDOM = 2
    """Letters with digits or signs, as no ordinary word has."""


@functools.lru_cache(4096)
def name_parts(name: str) -> tuple[str, ...]:
    """`X-Api-Key`, `xApiKey` and `x.api_key` are `x`, `api`, `key`."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@functools.lru_cache(4096)
def is_telling(name: str) -> bool:
    """Whether the value under this name is a secret, by the parts of the name."""
    parts = name_parts(name)
    for at in range(len(parts) - 1, -1, -1):
        if not _is_telling_part(parts, at):
            continue
        after = parts[at + 1 :]
        return not any(part in _NOT_AFTER for part in after[:2]) and not (
            at and parts[at - 1] in _NOT_BEFORE and parts[at] in {"token", "secret", "signature"}
        )
    return False


def _is_telling_part(parts: tuple[str, ...], at: int) -> bool:
    part = parts[at]
    if part in _WORDS:
        # Alone, these are ordinary words of code.
        return part not in {"auth", "signature", "sig", "pass", "pw", "bearer", "jwt", "otp"} or len(parts) > 1
    if part == "key" and at:
        return parts[at - 1] in _KEY_OWNERS
    if part == "id" and at:
        return parts[at - 1] in {"session", "sess"} and at == len(parts) - 1
    return part.endswith(_ENDS)


@functools.lru_cache(4096)
def is_password(name: str) -> bool:
    """Whether people think it up: then it may be any word."""
    return any(part in PASSWORDS or part.endswith(("password", "passwd", "pwd")) for part in name_parts(name))


@functools.lru_cache(4096)
def is_secret_variable(name: str) -> bool:
    """Whether a variable of the environment holds a secret. Wider than `is_telling`: its value is known, and
    to hide it costs nothing.
    """
    parts = name_parts(name)
    return is_telling(name) or (
        parts[-1:] in {("key",), ("pat",), ("auth",), ("pass",), ("pw",), ("bearer",), ("jwt",)}
        and parts[-2:-1] != ("public",)
    )


_PLACEHOLDERS = frozenset(
    {"true", "false", "null", "none", "nil", "undefined", "yes", "no", "on", "off", "required", "optional"}
    | {"string", "str", "int", "integer", "number", "bool", "boolean", "any", "object", "bytes", "text", "char"}
    | {"changeme", "change_me", "change-me", "example", "placeholder", "secret", "password", "token", "value"}
    | {"redacted", "hidden", "masked", "empty", "unset", "default", "todo", "tbd", "test", "dummy", "fake", "foo"}
    | {"bar", "baz", "name", "key", "file", "env", "self", "this", "void", "unknown", "never", "array", "list"}
    | {"dict", "map", "set", "const", "let", "var", "return", "if", "for", "in", "is", "not", "the", "a", "an"}
    | {"bearer", "basic", "auto", "missing", "invalid", "omitted", "removed", "disabled", "enabled", "varchar"}
    | {"and", "or", "to", "of", "with", "from", "prompt", "interactive", "stdin", "-", "inherit", "ask"}
    | {"float", "double", "login", "username", "user", "hash", "date", "time", "id", "type", "pass", "cookie", "anonymous", "binary"}
)
_REFERENCE = re.compile(
    r"""\$(?:\{|\(|\w+\b(?![!@\#%^&*])|\{\{)|<[^<>]*>?$|\{\{|\{%|%[({]|%\w+%$|%[sdrv]\b|@\{|\#\{|\{[\w.:!$()\[\]'"]*\}$
    |(?:process|os|env|config|settings|self|this|args|opts|options|params|request|req|cfg|secrets|vars|var|local
    |data|ctx|context|user|app|props|state|event|kwargs|options)\s*[.\[(]
    |(?:op|vault|file|keyring|env|secret|secretref|ssm|arn|ref\+\w+|https?|wss?|data|urn)(?::|%3A)|ENC\[|!\w
    |(?:\.{0,2}/|~/|[A-Za-z]:\\+)(?:[\w.@~-]+[/\\]+)*[\w.@~-]*$|[\w./-]+\.(?:pem|key|txt|json|ya?ml|crt|cer|pub|env
    |p12|pfx|jks|sock|py|js|ts|go|rs|md|toml|ini|cfg|html?|css|php|java|rb|sh|kdbx|gpg|asc)$""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_PLACE = re.compile(
    r"^(?:your|my|the|insert|enter|replace|put|some|add|paste|use)[-_ ]?\w|(?:_|-|\b)(?:here|goes)$|xxxx|\*\*\*|\.\.\.|…|•"
    r"|change[-_]?me|placeholder|^example|(?:^|[^a-z])(?:dummy|sample|fake)(?:[^a-z]|$)|redacted|[-_]example$",
    re.IGNORECASE,
)
_ORDINARY = re.compile(
    r"(?:[A-Za-z][A-Za-z]*(?:[-_. :/|,][A-Za-z]+)*|[\d.,:/x -]+|v?\d+(?:\.\d+)+[\w.-]*"
    r"|(?:sha|md|utf|base|aes|rsa|oauth|int|uint|float|hs|rs|es|ps|p|ed|x|http|s|ipv|latin|iso|cp|i|u|f|win|h)"
    r"-?\d{1,5}(?:[-_.]\w+)*|#[0-9a-fA-F]{3,8}|0x[0-9a-fA-F]{1,8})",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[;,]?", re.ASCII)
_SIGNS = re.compile(r"[!@#$%^&*+=?~]")


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret and is none: `<token>`, `${TOKEN}`, `xxx`, `changeme`, a file, nothing."""
    bare = value.strip().strip("\"'`\\ ")
    if len(set(bare)) < 2 or bare.lower() in _PLACEHOLDERS:
        return True
    return (
        REDACTED in bare
        and not any(map(str.isalnum, bare.replace(REDACTED, "")))
        or _REFERENCE.match(bare) is not None
        or _PLACE.search(bare) is not None
        and REDACTED not in bare
        or "${" in bare
    )


def looks_secret(value: str, doubt: Doubt, *, is_quoted: bool) -> bool:
    """Whether a value behind a telling name may be a secret."""
    if is_placeholder(value):
        return False
    if doubt is Doubt.NONE:
        return True
    if len(value) < 4 or any(map(str.isspace, value)) or not value.isascii() and doubt is Doubt.RANDOM:
        return False
    if doubt is Doubt.WORD:
        return not _names_itself(value) and (is_quoted or not _is_code(value))
    if len(value) < 6 or _ORDINARY.fullmatch(value) or not is_quoted and _is_code(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if has_digit and has_letter:
        return is_quoted or len(value) >= 7
    return has_letter and len(_SIGNS.findall(value)) >= 1 and len(value) >= 8 and is_quoted and value.isascii()


def _names_itself(value: str) -> bool:
    """Labels such as `password_field` and `CurrentPassword` are written behind such names, too."""
    low = value.lower()
    return any(stem in low for stem in ("pass", "pwd", "secret", "token", "credential")) and not any(
        map(str.isdigit, value)
    )


def _is_code(value: str) -> bool:
    """Whether an unquoted value is a name or an expression of code."""
    if any(sign in value for sign in "()[]{}<>\\") or "=>" in value:
        return True
    return _IDENTIFIER.fullmatch(value) is not None and (
        "_" in value or "." in value or not any(map(str.isdigit, value)) or value[0].isupper()
    )
