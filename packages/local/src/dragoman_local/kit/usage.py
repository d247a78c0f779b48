"""The usage of a session: tokens and money, summed over its turns."""

from __future__ import annotations

from msgspec import UNSET, Struct

from dragoman.schema import v1


class TokenUsage(Struct, kw_only=True):
    """Tokens and money. The protocol's total is the sum of input and output."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    cost: float | None = None
    """None until a price is known."""
    currency: str = "USD"

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, usage: TokenUsage) -> None:
        """Add usage. Amounts in another currency replace the sum, because different currencies can't be
        added.
        """
        for name in ("input", "output", "thought", "cached_read", "cached_write"):
            field = f"{name}_tokens"
            setattr(self, field, getattr(self, field) + getattr(usage, field))
        if usage.cost is not None:
            same = self.currency == usage.currency
            self.cost = usage.cost + (self.cost or 0.0 if same else 0.0)
            self.currency = usage.currency

    def to_wire(self) -> v1.Usage:
        return v1.Usage(
            total_tokens=self.total_tokens,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            thought_tokens=self.thought_tokens or UNSET,
            cached_read_tokens=self.cached_read_tokens or UNSET,
            cached_write_tokens=self.cached_write_tokens or UNSET,
        )


class SessionUsage(Struct, kw_only=True):
    """The usage of a session, and of its context."""

    spent: TokenUsage
    context_used: int | None = None
    context_size: int | None = None

    def update(self) -> v1.UsageUpdate | None:
        """Return the usage for a client; None while the size of the context is unknown."""
        if self.context_used is None or self.context_size is None:
            return None
        spent = self.spent
        cost = UNSET if spent.cost is None else v1.Cost(amount=spent.cost, currency=spent.currency)
        return v1.UsageUpdate(used=self.context_used, size=self.context_size, cost=cost)
