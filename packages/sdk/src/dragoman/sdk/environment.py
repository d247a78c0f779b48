"""The environment variables that an agent gets: those that programs need to run, and no credentials.

    connect("some-agent --acp")                                                 closed: the names below
    connect("some-agent --acp", env=agent_environment(allow=["SOME_API_KEY"]))  and this one
    connect("some-agent --acp", env="inherit")                                  all of ours

Ours holds what nobody thought of when the agent was started: tokens of the shell, of CI, of other agents. So
a variable is handed on when it is named, here or by the caller (docs/adr/0014). A proxy's address is handed
on although it may hold a password, because without it an agent reaches no model.

It knows names and nothing of their meaning. Where PATH comes from when we were started without a shell is in
`login_path`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from dragoman.transport.tree import MARK

Env: TypeAlias = Mapping[str, str] | Literal["inherit"] | None
"""A whole environment; our own environment; or the closed environment."""

HANDED_ON: tuple[str, ...] = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "NO_COLOR", "TZ"),
    *("LANG", "LANGUAGE", "LC_*", "XDG_*"),
    *("TMPDIR", "TEMP", "TMP"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    # Without it, what our agent's agent leaves behind would not be found as ours.
    MARK,
)

WINDOWS: tuple[str, ...] = (
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS"),
    *("USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PUBLIC", "APPDATA", "LOCALAPPDATA"),
    *("PROGRAMDATA", "ALLUSERSPROFILE", "PROGRAMFILES*", "COMMONPROGRAMFILES*"),
    *("NUMBER_OF_PROCESSORS", "PROCESSOR_*"),
)
"""Variables without which programs do not even start on Windows. Names are upper case there."""


def agent_environment(
    *,
    allow: Iterable[str] = (),
    explicit: Mapping[str, str] | None = None,
    path: str | None = None,
    source: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return a whole environment for an agent.

    `allow` names more of our variables, `*` standing for any text; `path` takes the place of our PATH;
    `explicit` is set whatever else there is. `source` stands in for our own environment.
    """
    ours = os.environ if source is None else source
    patterns = (*HANDED_ON, *(WINDOWS if os.name == "nt" else ()), *allow)
    environment = {name: value for name, value in ours.items() if _is_named(name, patterns)}
    if path is not None:
        environment["PATH"] = path
    environment.update(explicit or {})
    return environment


def resolve_environment(env: Env) -> Mapping[str, str] | None:
    """Return the environment of a program to start; None passes on our own."""
    if env == "inherit":
        return None
    return agent_environment() if env is None else env


def withheld_names(*, allow: Iterable[str] = (), source: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of our variables that an agent does not get, to explain a failed login."""
    ours = os.environ if source is None else source
    handed_on = agent_environment(allow=allow, source=ours)
    return sorted(name for name in ours if name not in handed_on)


def _is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(name == pattern or ("*" in pattern and fnmatchcase(name, pattern)) for pattern in patterns)
