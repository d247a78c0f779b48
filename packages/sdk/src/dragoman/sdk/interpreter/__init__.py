"""Interpreters that run: a client and an agent of different dialects joined, and agents of any dialect for
`connect`.
"""

from dragoman.dialect.ledger import Ledger
from dragoman.sdk.interpreter.conversation import InterpretedConversation
from dragoman.sdk.interpreter.dialect_transport import speaking

__all__ = ["InterpretedConversation", "Ledger", "speaking"]
