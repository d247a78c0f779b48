"""Hears what a conversion could not carry or had to repair."""

from __future__ import annotations


class Told:
    def __init__(self) -> None:
        self.losses: list[str] = []
        self.repairs: list[str] = []

    def note_loss(self, what: str, action: str) -> None:
        self.losses.append(what)

    def note_repair(self, what: str, action: str) -> None:
        self.repairs.append(what)
