"""The interface of a rule: it reads a conversation and reports where requirements were kept or broken.

    @rule("TURN-05", "TURN-06", side="agent", fix="Answer session/prompt with one of the five stop reasons.")
    def a_turn_ends_with_a_stop_reason(conversation: Conversation) -> Iterator[Observation]:
        for turn in conversation.turns:
            if turn.exchange.has_result:
                yield observe(turn.exchange.result.get("stopReason") in REASONS, turn.exchange.answer,
                              "stopReason is not one of the five")

A rule that says nothing has seen nothing: its requirements were not exercised. One that cannot know stays
silent. It never raises on any frames, however broken. What it says always names the frames that show it: an
observation without evidence cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side, requirements
from dragoman_check.recording import Direction, Frame


class Observation(Struct, frozen=True):
    """One place where a requirement was kept or broken."""

    is_kept: bool
    frames: tuple[int, ...]
    """The numbers of its frames."""
    why: str = ""
    """For a violation: the mistake in one sentence, without a user's text."""
    fact: str = ""
    """The name of its further evidence, such as a reply over HTTP."""

    def __post_init__(self) -> None:
        if not self.frames and not self.fact:
            raise ValueError("an observation names what shows it: frames, or a fact beside them")


Judge: TypeAlias = Callable[..., Iterable[Observation]]
"""Called with a conversation; for both sides, also with the side."""


class ConformanceRule(Struct, frozen=True, kw_only=True):
    """A judge function, with the requirements that it judges."""

    name: str
    requirements: tuple[str, ...]
    side: Side
    fix: str
    """The change for the author of a peer that breaks it."""
    unavoidable: bool
    is_reading: bool
    """Whether it is about accepting what the schema does not allow."""
    versions: tuple[int, ...]
    """The protocol versions; conversations in others are skipped."""
    judge: Judge

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages of the specification for its requirements."""
        catalogue = requirements()
        return tuple(dict.fromkeys(catalogue[name].page for name in self.requirements if name in catalogue))


RULES: list[ConformanceRule] = []
"""All rules, in the order in which their modules are imported (see `rules`)."""


def rule(
    *requirements: str,
    side: Side | None = None,
    fix: str,
    unavoidable: bool = False,
    is_reading: bool = False,
    versions: tuple[int, ...] = (1, 2),
) -> Callable[[Judge], Judge]:
    """Registers a judge; without a `side` it is two rules, one for each."""

    def register(judge: Judge) -> Judge:
        sides: tuple[Side, ...] = ("agent", "client") if side is None else (side,)
        RULES.extend(
            ConformanceRule(
                name=judge.__name__,
                requirements=requirements,
                side=rule_side,
                fix=fix,
                unavoidable=unavoidable,
                is_reading=is_reading,
                versions=versions,
                judge=_judge(judge, () if side is not None else (rule_side,), versions),
            )
            for rule_side in sides
        )
        return judge

    return register


def _judge(judge: Judge, sides: tuple[Side, ...], versions: tuple[int, ...]) -> Judge:
    def ask(conversation: Conversation) -> Iterable[Observation]:
        # What was agreed upon may be any number: whoever echoes 99 speaks what came last.
        version = 1 if conversation.version < 2 else 2
        return judge(conversation, *sides) if version in versions else ()

    return ask


def observe(condition: bool, frame: Frame | None, why: str, *more_frames: Frame | None) -> Observation:
    """Yield an observation; `why` explains the violation if the condition is false."""
    numbers = tuple(shown_frame.number for shown_frame in (frame, *more_frames) if shown_frame is not None)
    return Observation(condition, numbers, "" if condition else why)


def kept(*frames: Frame | None) -> Observation:
    """Observe that a requirement was kept in these frames."""
    return observe(True, None, "", *frames)


def observe_each(frames: Iterable[Frame], why: Callable[[Frame], str]) -> Iterator[Observation]:
    """Observe each frame with its mistake; an empty text means that it is right."""
    for frame in frames:
        text = why(frame)
        yield Observation(not text, (frame.number,), text)


def direction_from(side: Side) -> Direction:
    """Return the direction of a side's messages."""
    return "to_client" if side == "agent" else "to_agent"


rule_v1 = partial(rule, versions=(1,))
"""Registers rules about version 1: they skip conversations with a later one."""
