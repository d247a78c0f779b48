"""The dialects of ACPex, an Elixir SDK: `acpex` follows its overview document, `acpex-wire` follows its code.

Both are read by one reader, because programs written with ACPex mix them: its guides teach the overview's
form, its schemas write the other. What differs is what such a peer is told: see `overview` and `wire`. The
reading modules are `initialize`, `blocks`, `tools`, `updates`, `typed_updates` and `turn`; `codes` has the
errors, `ledger_notes` everything that the ledger may say.
"""

from dragoman.dialect.acpex.agent import AcpexAgent, AcpexWireAgent
from dragoman.dialect.acpex.client import AcpexClient, AcpexWireClient

__all__ = ["AcpexAgent", "AcpexClient", "AcpexWireAgent", "AcpexWireClient"]
