"""Known deviations of real agents and clients from v1, one a file, repaired where they come from.

`edge.Quirks` stands nearest to the peer; `known` lists all quirks; docs/dialects/quirks.md says what each of
them does, and which deviations need none.
"""

from dragoman.dialect.quirks.edge import Quirks

__all__ = ["Quirks"]
