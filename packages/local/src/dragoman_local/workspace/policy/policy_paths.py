"""The paths of policy files.

The user's file is `dragoman/policy.toml` in the configuration folder (XDG_CONFIG_HOME), answers given for
good are beside it in `remembered.toml`, and a project's file is `.dragoman/policy.toml` in the session's
first folder. Apart from `policy_files`, because most people have no such file, and whoever sees that need
not load what reads it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dragoman.system.folders import home_folder, user_folder


class PolicyPaths(Struct, frozen=True, kw_only=True):
    """A user's policy files and folders."""

    home: str
    config: str
    state: str

    @property
    def policy(self) -> str:
        return f"{self.config}/policy.toml"

    @property
    def remembered_file(self) -> str:
        return f"{self.config}/remembered.toml"

    @property
    def audit(self) -> str:
        return f"{self.state}/audit.jsonl"


def policy_paths(environ: Mapping[str, str] | None = None) -> PolicyPaths:
    """Return the paths of policy files. Relative folders in XDG variables are ignored, as their specification
    requires.
    """
    env = os.environ if environ is None else environ
    return PolicyPaths(
        home=str(home_folder(env)),
        config=str(user_folder("config", env)),
        state=str(user_folder("state", env)),
    )


def project_file(roots: Sequence[str]) -> str | None:
    return f"{roots[0].rstrip('/')}/.dragoman/policy.toml" if roots else None


def has_policy_files(roots: Sequence[str], environ: Mapping[str, str] | None = None) -> bool:
    """Whether any policy file applies in these folders, readable or not."""
    paths = policy_paths(environ)
    return any(
        path is not None and os.path.lexists(path)
        for path in (paths.policy, paths.remembered_file, project_file(roots))
    )
