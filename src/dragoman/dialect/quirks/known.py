"""All quirks. Each has its file, its transcript in tests/golden/quirks, and its line in the docs."""

from __future__ import annotations

from dragoman.dialect.names import Position
from dragoman.dialect.quirks.announced_twice import AnnouncedTwice
from dragoman.dialect.quirks.cancelled_turn import CancelledTurn
from dragoman.dialect.quirks.deaf_to_questions import DeafToQuestions
from dragoman.dialect.quirks.line_zero import LineZero
from dragoman.dialect.quirks.missing_file import MissingFile
from dragoman.dialect.quirks.null_write import NullWrite
from dragoman.dialect.quirks.quirk import Quirk
from dragoman.dialect.quirks.raw_text import RawText
from dragoman.dialect.quirks.session_info import SessionInfo
from dragoman.dialect.quirks.shell_line import ShellLine
from dragoman.dialect.quirks.unannounced import Unannounced
from dragoman.dialect.quirks.unknown_session import UnknownSession

QUIRKS: tuple[type[Quirk], ...] = (
    AnnouncedTwice,
    CancelledTurn,
    DeafToQuestions,
    LineZero,
    MissingFile,
    NullWrite,
    RawText,
    SessionInfo,
    ShellLine,
    Unannounced,
    UnknownSession,
)


def quirks_of(name: str, position: Position) -> list[type[Quirk]]:
    """Those of a peer that calls itself so."""
    return [quirk for quirk in QUIRKS if quirk.position == position and quirk.who.fullmatch(name)]
