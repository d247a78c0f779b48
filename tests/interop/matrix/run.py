"""A run of the matrix that can be stopped and resumed: the table as it was before, and what was found so far.

It is a file while the run is unfinished, written after each program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dragoman.version import VERSION
from tests.interop.matrix.catalogue import CatalogueRow
from tests.interop.matrix.effects import Matrix


@dataclass
class MatrixRun:
    """The table before the run, and the rows that were tried since."""

    before: Matrix
    found: Matrix = field(default_factory=lambda: Matrix(dragoman=VERSION))

    @classmethod
    def begin(cls, path: Path, *, before: Matrix, is_resumed: bool) -> MatrixRun:
        """The unfinished run of this file if it is resumed and there is one; else a new one."""
        if is_resumed and path.is_file():
            return msgspec.json.decode(path.read_bytes(), type=MatrixRun)
        return cls(before)

    def has(self, row: CatalogueRow) -> bool:
        """Whether the row was tried in this run, as it is in the catalogue now."""
        tried = {(found.name, found.package) for found in (*self.found.agents, *self.found.clients)}
        return (row.name, row.package) in tried

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(self))
