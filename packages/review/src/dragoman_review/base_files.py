"""Reads the rules and the baseline of a review, from the disk or from the base of a change."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dragoman_review.baseline import Baseline
from dragoman_review.git import GitChanges, copy_at
from dragoman_review.places import BASELINE, RULES
from dragoman_review.rule_files import load_rules, project_rules
from dragoman_review.rules import ReviewRule


class BaseFiles:
    """Files that configure a review. A context manager: copies from the base are removed at its end.

    A change that is reviewed against a base does not bring its own: those inside of the repository are read
    as the base has them.
    """

    def __init__(self, folder: Path, changes: GitChanges | None) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._changes = changes
        self._top = "" if changes is None else os.path.realpath(changes.top)
        self.missing_names: list[str] = []
        """Files that somebody named and the base does not have: they are not used."""

    def __enter__(self) -> BaseFiles:
        self._copies = tempfile.TemporaryDirectory(prefix="dragoman-base-", ignore_cleanup_errors=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._copies.cleanup()

    async def rules(self, names: tuple[str, ...] = ()) -> tuple[ReviewRule, ...]:
        """The rules of the project, and those of named files and folders."""
        root = (await self._locate(self._folder / RULES)).parents[1]
        named_rules = [rule for name in names for rule in await self._named_rules(name)]
        return (*project_rules(root), *named_rules)

    async def baseline(self, name: str | None = None) -> Baseline | None:
        """The named baseline, or that of the project."""
        path = await self._locate(self._folder / (name or BASELINE))
        if name is not None and self._is_missing(name, path):
            return None
        return Baseline.read(path) if name is not None or path.is_file() else None

    async def _named_rules(self, name: str) -> tuple[ReviewRule, ...]:
        path = await self._locate(self._folder / name)
        return () if self._is_missing(name, path) else load_rules(path)

    def _is_missing(self, name: str, path: Path) -> bool:
        is_missing = path.is_relative_to(self._copies.name) and not path.exists()
        if is_missing:
            self.missing_names.append(name)
        return is_missing

    async def _locate(self, path: Path) -> Path:
        changes, inside = self._changes, self._inside(path)
        if changes is None or changes.judge is None or inside.startswith(os.pardir):
            return path
        copies = Path(self._copies.name)
        await copy_at(changes.top, changes.judge, inside.replace(os.sep, "/"), copies)
        return copies / inside

    def _inside(self, path: Path) -> str:
        return os.path.relpath(path, self._top or None)
