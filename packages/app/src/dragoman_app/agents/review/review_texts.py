"""The texts that a model may see in a review: those that are reviewed, and files of the session's folders
that it asks for. It sees them with their secrets masked; files that are made for secrets it does not see.
"""

from __future__ import annotations

import asyncio
import fnmatch
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from dragoman import KitTurn
from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.review.conversation import ReviewedText
from dragoman_app.agents.review.files import TurnFiles, UnreadFile, digest
from dragoman_app.agents.review.source_reader import ReviewInput
from dragoman_app.agents.review.targets import SessionFolders
from dragoman_review.rules import ReviewRule
from dragoman_review.secrets import mask_secrets

LARGEST = 1_000_000
"""Characters of a file that a model may ask for."""

PRIVATE = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa*", "id_ed25519*", "id_ecdsa*"),
    *(".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", "credentials", "credentials.json"),
)
"""Names of files that are made for secrets."""


class ReviewText(NamedTuple):
    """One text."""

    display_path: str
    """What it is called in findings."""
    path: str | None
    """Where it lies; None if in no file."""
    text: str
    masked_text: str
    """The same with its secrets masked: line for line, character for character."""


class ReviewTexts:
    """All texts of one review, by what they are called in findings."""

    def __init__(self, turn: KitTurn[Any], review_input: ReviewInput, rules: Sequence[ReviewRule]) -> None:
        self._files = TurnFiles(turn)
        self._rules = rules
        self.folders = SessionFolders(turn.session)
        self._unmasked_texts = {
            source.path: (review_input.paths.get(source.path), source.text) for source in review_input.sources
        }
        self._texts: dict[str, ReviewText] = {}

    async def load(self, path: str) -> ReviewText:
        """A text by its path; raises a `ToolProblem` that says why a model does not get it."""
        display_path = (
            path if path in self._unmasked_texts else self.folders.display(self.folders.absolute(path))
        )
        if is_private(display_path):
            raise ToolProblem(f"{display_path} may contain secrets, so models don't get its text.")
        return await self.load_reviewed(display_path)

    async def load_reviewed(self, display_path: str) -> ReviewText:
        """A text that a finding is about."""
        if display_path not in self._unmasked_texts:
            self._unmasked_texts[display_path] = await self._read(display_path)
        if display_path not in self._texts:
            path, text = self._unmasked_texts[display_path]
            masked_text = await asyncio.to_thread(mask_secrets, text, path=display_path, rules=self._rules)
            self._texts[display_path] = ReviewText(display_path, path, text, masked_text)
        return self._texts[display_path]

    async def mask_all(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Texts as a model may see them; those that are made for secrets are left out."""
        return {
            display_path: (await self.load_reviewed(display_path)).masked_text
            for display_path in dict.fromkeys(paths)
            if not is_private(display_path)
        }

    def mask(self, words: str, *, path: str = "") -> str:
        """A text that is not in `load`, such as what a person wrote or what a file was before."""
        return mask_secrets(words, path=path, rules=self._rules)

    async def find_below(self, path: str, top: Path) -> tuple[str, str]:
        """What a file is called here and below the top of its repository, also if it is gone; raises a
        `ToolProblem` that says why a model does not get it.
        """
        display_path = self.folders.display(self.folders.absolute(path))
        full_path = await self._admit(display_path)
        return display_path, await asyncio.to_thread(_path_below, full_path, top)

    async def _admit(self, display_path: str) -> str:
        """Where a file really lies."""
        path = self.folders.absolute(display_path)
        if "\0" in path or not await asyncio.to_thread(self.folders.holds, path):
            raise ToolProblem(f"{display_path} lies outside the folders of the session.")
        real = await asyncio.to_thread(os.path.realpath, path)
        if ".git" in PurePath(real).parts or is_private(real):
            raise ToolProblem(f"{display_path} may contain secrets, so models don't get its text.")
        return real

    async def _read(self, display_path: str) -> tuple[str, str]:
        await self._admit(display_path)
        path = self.folders.absolute(display_path)
        text = await self._files.read(path)
        if isinstance(text, UnreadFile):
            raise ToolProblem(f"{display_path} cannot be read: {text.why}")
        if len(text) > LARGEST:
            raise ToolProblem(f"{display_path} has more than {LARGEST} characters.")
        return path, text

    def digests(self) -> Mapping[str, ReviewedText]:
        """What a session remembers of the texts."""
        return {
            display_path: ReviewedText(path=path, digest=digest(text))
            for display_path, (path, text) in self._unmasked_texts.items()
        }


def _path_below(path: str, top: Path) -> str:
    return os.path.relpath(path, os.path.realpath(top)).replace(os.sep, "/")


def is_private(path: str) -> bool:
    """Whether a file is made for secrets, by its name."""
    name = PurePath(path).name.lower()
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in PRIVATE)
