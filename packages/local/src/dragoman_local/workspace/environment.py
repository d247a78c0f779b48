"""The environment variables of a command: a few of this process by name, and those of the request.

The parent's environment holds keys and tokens, so it is never handed on as a whole. Names are let through by
a list of patterns; a name that looks like a secret is let through only if it is spelled out in that list. A
request adds to this, and may overwrite it, except for variables with which one program takes over another.

It knows names and values, and nothing of processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from dragoman.errors import ErrorAnswer
from dragoman.transport.tree import MARK
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS, refusal

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME", "GOPATH", "GOROOT"),
    *("CARGO_HOME", "RUSTUP_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Variables with places of programs and languages, which give no access to anything."""

FIXED = {"TERM": "dumb"}
"""Variables for an output without a terminal: colours and cursor movements would only be noise."""

HIJACKING = (
    *("LD_*", "DYLD_*", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_*", "IFS", "PS4"),
    *("PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "RUBYOPT", "GCONV_PATH", MARK),
)
"""Variables with which a harmless command runs other code than the approved one."""

_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE|SESSION|DSN|CONNECTION_STRING", re.IGNORECASE
)

_NAME = re.compile(r"[^=\0]+")


def command_environment(
    parent: Mapping[str, str],
    variables: Iterable[tuple[str, str]] = (),
    *,
    allow: Iterable[str] = (),
    refuse: Iterable[str] = HIJACKING,
) -> dict[str, str]:
    """Return the variables of a command. `allow` are further patterns for the parent's variables; a refused
    name among `variables` is an error, because omitting it silently would run something else than requested.
    """
    env = {name: value for name, value in parent.items() if is_inherited(name, allow=allow)}
    env |= FIXED
    for name, value in variables:
        _check(name, value, refuse)
        env[name] = value
    if MARK in parent:  # whoever owns us owns our commands too
        env[MARK] = parent[MARK]
    return env


def is_inherited(name: str, *, allow: Iterable[str] = ()) -> bool:
    patterns = (*INHERITED, *allow)
    if name in patterns:
        return True
    return not _SECRET.search(name) and any(fnmatchcase(name, pattern) for pattern in patterns)


def _check(name: str, value: str, refuse: Iterable[str]) -> None:
    if not _NAME.fullmatch(name) or "\0" in value:
        raise _bad("a variable has an empty name, or `=` or NUL where they cannot be")
    try:
        (name + value).encode()
    except UnicodeEncodeError:
        raise _bad("a variable contains half a character") from None
    if any(fnmatchcase(name, pattern) for pattern in refuse):
        why = f"the variable {name} makes one program run another, and is not set for commands here"
        raise refusal(FORBIDDEN, "bad_env", why, name=name)


def _bad(why: str) -> ErrorAnswer:
    return refusal(INVALID_PARAMS, "bad_env", f"Invalid params: {why}")
