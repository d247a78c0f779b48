"""Fault injection: one call makes variants of a script in which its peer fails at every possible place.

    @pytest.mark.parametrize("variant", faulty(STORY), ids=str)
    async def test_my_client_survives(variant: Variant) -> None: ...

A fault is a few lines of script. It is put before each line that is played, and at the end of each block, one
place at a time; everything else stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dragoman.testing.script.script import Script
from dragoman.testing.script.statements import Statement, parse

FAULTS: Mapping[str, str] = {
    "dies": "die 1",
    "is killed": "die SIGKILL",
    "stalls": "stall",
    "hangs up": "close",
    "breaks off": 'raw "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"sess"\ndie 1',
    "prints": 'line "Loading the model…"',
    "sends no UTF-8": "raw hex=fffe0a",
    "answers nobody": 'frame {"jsonrpc":"2.0","id":987654321,"result":{}}',
    "invents": 'frame {"jsonrpc":"2.0","method":"_something/new","params":{"of":"nobody"}}',
}
"""Faults by the action of the peer. The last four are unusual but harmless: a correct peer continues as if
nothing happened.
"""

HARMLESS = ("prints", "sends no UTF-8", "answers nobody", "invents")

PLAYED = ("on", "start", "client", "tool", "repeat", "allowed", "rejected", "cancelled", "failed")
"""Lines whose body is played line by line."""


@dataclass(frozen=True)
class Variant:
    """A script with one fault in one place.

        for variant in faulty(script):
            print(variant.fault, variant.place, variant.harmless)

    After a harmless fault a good peer goes on as if nothing was.
    """

    fault: str
    place: str
    script: Script

    def __str__(self) -> str:
        return f"{self.fault} {self.place}"

    @property
    def harmless(self) -> bool:
        """Whether a correct peer continues as if nothing happened."""
        return self.fault in HARMLESS


def faulty(script: Script | str, *, faults: Mapping[str, str] = FAULTS) -> list[Variant]:
    """Return every fault in every place of the script.

        @pytest.mark.parametrize("variant", faulty(script), ids=str)
        async def test_my_client_never_hangs(variant: Variant) -> None:
            async with talking_to(ScriptedAgent(variant.script)) as handle:
                ...

    `faults` are the faults by name, each with its lines of script.
    """
    whole = script if isinstance(script, Script) else Script.parse(script)
    return [
        Variant(name, place, Script.of(statements))
        for name, lines in faults.items()
        for place, statements in _with(parse(lines), whole.statements, is_played=False)
    ]


def _with(
    fault: tuple[Statement, ...], block: tuple[Statement, ...], *, is_played: bool
) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """The block with the fault in each of its places, its inner blocks' included."""
    for at, statement in enumerate(block):
        before, after = block[:at], block[at + 1 :]
        if is_played:
            yield f"before line {statement.line}, {statement.verb}", (*before, *fault, statement, *after)
        inner_is_played = statement.verb in PLAYED
        for place, body in _with(fault, statement.body, is_played=inner_is_played):
            yield place, (*before, replace(statement, body=body), *after)
        if inner_is_played:
            body = (*statement.body, *fault)
            yield (
                f"at the end of line {statement.line}, {statement.verb}",
                (
                    *before,
                    replace(statement, body=body),
                    *after,
                ),
            )
