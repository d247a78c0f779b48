"""Which programs the matrix tries: `catalogue.toml`, read and checked.

Every row has a name, the exact versions of what npm or PyPI installs, the command that speaks the protocol,
and what leads it to a model on loopback: variables, and files of its home. `$url` stands for the model's
address, `$key` for a key that opens nothing, `$home` for the home and `$work` for the folder of its
session. A mistake is found when the file is read, with the row's name.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from string import Template

import msgspec

CATALOGUE = Path(__file__).with_name("catalogue.toml")

NAME = re.compile(r"[a-z][a-z0-9-]*")
NPM = re.compile(r"(@[a-z0-9-]+/)?[a-z0-9._-]+@\d+\.\d+\.\d+(-[a-z0-9.]+)?")
PYPI = re.compile(r"[a-z0-9._-]+(\[[a-z,]+\])?==\d+(\.\d+)*")
PLACES = ("url", "key", "home", "work", "programs", "here", "agent", "prompt")


class BadCatalogue(ValueError):
    """A row of the catalogue cannot be used; the message names it."""


class CatalogueRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program of other people, and how it is installed and started."""

    name: str
    title: str
    command: tuple[str, ...]
    """For an agent what speaks the protocol on stdio; for a client what talks to `$agent` about `$prompt`."""
    splits: bool = False
    """Whether a client takes the agent's command as words, and not as one line."""
    npm: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    python: str = ""
    """The oldest Python that it runs with, such as `3.13`; empty is ours."""
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    """Files of its home, by their path there."""
    state: tuple[str, ...] = ()
    """What it writes below its home in a sandbox, if we do not know that of it."""
    auth: str = ""
    """The method of `authenticate` that it wants before a session."""
    mode: str = ""
    """The session mode in which it asks before it acts, if that is not the one it starts in."""
    options: dict[str, str] = {}
    """Configuration options to the same end."""
    mcp: tuple[str, ...] = ()
    """The command of an MCP server that gives it its tools, for agents that have none of their own."""
    load_after: float = 0.0
    """Seconds from a conversation to its load, for an agent that cannot do it at once; its note says why."""
    shell_lines: bool = False
    """Whether the terminals that it is lent take a line for a shell as their command."""
    stdin: str = ""
    """What a client reads from its input."""
    note: str = ""
    """What a reader of the table should know."""

    @property
    def package(self) -> str:
        """What is installed first: its name and version are the row's."""
        return (*self.npm, *self.pypi)[0]

    @property
    def version(self) -> str:
        """The pinned version of the package."""
        return re.split(r"==|(?<=.)@", self.package)[-1]

    def fill(self, text: str, **values: str) -> str:
        """The text with its places filled in."""
        return Template(text).substitute(values)


class UntriedProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that cannot be driven on a scripted model, and why."""

    title: str
    package: str
    reason: str


class Catalogue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All rows, in the order of the table."""

    agent: tuple[CatalogueRow, ...]
    client: tuple[CatalogueRow, ...] = ()
    untried: tuple[UntriedProgram, ...] = ()

    def check(self) -> None:
        """Raises `BadCatalogue` at the first row that cannot be meant."""
        names = [row.name for row in (*self.agent, *self.client)]
        for row in (*self.agent, *self.client):
            for complaint in _complaints(row, names):
                raise BadCatalogue(f"{row.name or 'a row without a name'}: {complaint}")

    def choose(self, only: list[str]) -> Catalogue:
        """The rows of these names, or all without names. Raises `BadCatalogue` for an unknown name."""
        known = [row.name for row in (*self.agent, *self.client)]
        for name in only:
            if name not in known:
                raise BadCatalogue(f"{name}: no such program; known are {', '.join(known)}")
        if not only:
            return self
        return Catalogue(
            agent=tuple(row for row in self.agent if row.name in only),
            client=tuple(row for row in self.client if row.name in only),
            untried=self.untried,
        )


def load_catalogue(path: Path = CATALOGUE) -> Catalogue:
    """Read and check the catalogue. Raises `BadCatalogue`."""
    try:
        catalogue = msgspec.toml.decode(path.read_bytes(), type=Catalogue)
    except msgspec.MsgspecError as error:
        raise BadCatalogue(f"{path.name}: {error}") from None
    catalogue.check()
    return catalogue


def _complaints(row: CatalogueRow, names: list[str]) -> list[str]:
    texts = [*row.command, *row.mcp, *row.env.values(), *row.files.values(), row.stdin]
    places = [match for text in texts for match in re.findall(r"\$(\w*)", text) if match]
    checks = [
        (NAME.fullmatch(row.name), "a name has small letters, digits and hyphens"),
        (names.count(row.name) == 1, "two rows have this name"),
        (row.command, "the command is empty"),
        (row.npm or row.pypi, "neither npm nor pypi says what is installed"),
        (all(map(NPM.fullmatch, row.npm)), "npm needs NAME@VERSION with three numbers"),
        (all(map(PYPI.fullmatch, row.pypi)), "pypi needs NAME==VERSION"),
        (all(map(_is_inside, row.files)), "a file lies outside of the home"),
        (row.note or not row.load_after, "load_after needs a note that says why"),
        (all(place in PLACES for place in places), f"known places are ${', $'.join(PLACES)}"),
    ]
    return [complaint for holds, complaint in checks if not holds]


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts
