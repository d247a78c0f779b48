"""Running interpreters: they join a client and an agent of different dialects, or let `connect` reach an
agent of any dialect.
"""

from dragoman.dialect.ledger import Ledger
from dragoman.sdk.interpreter.conversation import Interpretation, InterpretedConversation
from dragoman.sdk.interpreter.dialect_transport import speaking

__all__ = ["Interpretation", "InterpretedConversation", "Ledger", "speaking"]
