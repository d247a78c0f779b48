"""The texts that a model may see in a review: the reviewed ones, and files of the session's folders on
request. Secrets in them are masked; files made for secrets are left out.
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
"""The most characters of a file that a model may request."""

PRIVATE = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa*", "id_ed25519*", "id_ecdsa*"),
    *(".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", "credentials", "credentials.json"),
)
"""Names of files that are made for secrets."""


class ReviewText(NamedTuple):
    """One text."""

    display_path: str
    """The name in findings."""
    path: str | None
    """The path of the file; None if the text is not a file."""
    text: str
    masked_text: str
    """The text with masked secrets: line for line, character for character."""


class ReviewTexts:
    """All texts of one review by their names in findings."""

    def __init__(self, turn: KitTurn[Any], review_input: ReviewInput, rules: Sequence[ReviewRule]) -> None:
        self._files = TurnFiles(turn)
        self._rules = rules
        self.folders = SessionFolders(turn.session)
        self._unmasked_texts = {
            source.path: (review_input.paths.get(source.path), source.text) for source in review_input.sources
        }
        self._texts: dict[str, ReviewText] = {}

    async def load(self, path: str) -> ReviewText:
        """Return a text by its path; raises a `ToolProblem` with the reason if the model must not get it."""
        display_path = (
            path if path in self._unmasked_texts else self.folders.display(self.folders.absolute(path))
        )
        if is_private(display_path):
            raise ToolProblem(f"{display_path} may contain secrets, so models don't get its text.")
        return await self.load_reviewed(display_path)

    async def load_reviewed(self, display_path: str) -> ReviewText:
        """Return the text of a finding."""
        if display_path not in self._unmasked_texts:
            self._unmasked_texts[display_path] = await self._read(display_path)
        if display_path not in self._texts:
            path, text = self._unmasked_texts[display_path]
            masked_text = await asyncio.to_thread(mask_secrets, text, path=display_path, rules=self._rules)
            self._texts[display_path] = ReviewText(display_path, path, text, masked_text)
        return self._texts[display_path]

    async def mask_all(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return texts as a model may see them, without those made for secrets."""
        return {
            display_path: (await self.load_reviewed(display_path)).masked_text
            for display_path in dict.fromkeys(paths)
            if not is_private(display_path)
        }

    def mask(self, words: str, *, path: str = "") -> str:
        """Mask a text that does not come from `load`, such as a user's words or an old version of a file."""
        return mask_secrets(words, path=path, rules=self._rules)

    async def find_below(self, path: str, top: Path) -> tuple[str, str]:
        """Return a file's name here and below the top of its repository, even if it is gone; raises a
        `ToolProblem` with the reason if the model must not get it.
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
        """Digests of the texts, which a session remembers."""
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
