"""The texts that a model may see in a review: those that are reviewed, and files of the session's folders
that it asks for. It sees them with their secrets masked; files that are made for secrets it does not see.
"""

from __future__ import annotations

import asyncio
import fnmatch
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from dragoman import KitTurn
from dragoman.agents.code.permission import ToolProblem
from dragoman.agents.review.conversation import ReviewedText
from dragoman.agents.review.files import TurnFiles, UnreadFile, digest
from dragoman.agents.review.source_reader import ReviewInput
from dragoman.agents.review.targets import SessionFolders
from dragoman.review.rules import ReviewRule, all_rules
from dragoman.review.secrets import mask_secrets

LARGEST = 1_000_000
"""Characters of a file that a model may ask for."""

PRIVATE = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa*", "id_ed25519*", "id_ecdsa*"),
    *(".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", "credentials", "credentials.json"),
)
"""Names of files that are made for secrets."""


class ReviewText(NamedTuple):
    """One text."""

    shown: str
    """What it is called in findings."""
    path: str | None
    """Where it lies; None if in no file."""
    text: str
    masked: str
    """The same with its secrets masked: line for line, character for character."""


class ReviewTexts:
    """All texts of one review, by what they are called in findings."""

    def __init__(self, turn: KitTurn[Any], gathered: ReviewInput, rules: Sequence[ReviewRule]) -> None:
        self._files = TurnFiles(turn)
        self._rules = all_rules(rules)
        self.folders = SessionFolders(turn.session)
        self._unmasked = {
            source.path: (gathered.paths.get(source.path), source.text) for source in gathered.sources
        }
        self._texts: dict[str, ReviewText] = {}

    async def load(self, path: str) -> ReviewText:
        """A text by its path; raises a `ToolProblem` that says why a model does not get it."""
        shown = path if path in self._unmasked else self.folders.shown(self.folders.absolute(path))
        if is_private(shown):
            raise ToolProblem(f"{shown} may hold secrets: its text is not given to models.")
        return await self.reviewed(shown)

    async def reviewed(self, shown: str) -> ReviewText:
        """A text that a finding is about."""
        if shown not in self._unmasked:
            self._unmasked[shown] = await self._read(shown)
        if shown not in self._texts:
            path, text = self._unmasked[shown]
            masked = await asyncio.to_thread(mask_secrets, text, path=shown, rules=self._rules)
            self._texts[shown] = ReviewText(shown, path, text, masked)
        return self._texts[shown]

    async def masked(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Texts as a model may see them; those that are made for secrets are left out."""
        return {
            shown: (await self.reviewed(shown)).masked
            for shown in dict.fromkeys(paths)
            if not is_private(shown)
        }

    def mask(self, words: str) -> str:
        """A text that is no file, such as what a person wrote."""
        return mask_secrets(words, rules=self._rules)

    async def _read(self, shown: str) -> tuple[str, str]:
        path = self.folders.absolute(shown)
        if "\0" in path or not await asyncio.to_thread(self.folders.holds, path):
            raise ToolProblem(f"{shown} lies outside the folders of the session.")
        real = await asyncio.to_thread(os.path.realpath, path)
        if ".git" in PurePath(real).parts or is_private(real):
            raise ToolProblem(f"{shown} may hold secrets: its text is not given to models.")
        text = await self._files.read(path)
        if isinstance(text, UnreadFile):
            raise ToolProblem(f"{shown} cannot be read: {text.why}")
        if len(text) > LARGEST:
            raise ToolProblem(f"{shown} has more than {LARGEST} characters.")
        return path, text

    def digests(self) -> Mapping[str, ReviewedText]:
        """What a session remembers of the texts."""
        return {
            shown: ReviewedText(path=path, digest=digest(text))
            for shown, (path, text) in self._unmasked.items()
        }


def is_private(path: str) -> bool:
    """Whether a file is made for secrets, by its name."""
    name = PurePath(path).name.lower()
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in PRIVATE)
