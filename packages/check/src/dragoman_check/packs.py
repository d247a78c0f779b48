"""Packs: advice from guides for authors of agents and clients, each item as a check.

A line is kept if the requirements of the catalogue behind it are, and, where the guide asks for more than the
protocol does, if a judge of its own says so. What no wire shows says so instead of passing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman_check import practices
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side, requirements
from dragoman_check.recording import Recording
from dragoman_check.report.model import PackItem, PackResult, ReportPart, worst
from dragoman_check.rule import Judge
from dragoman_check.verdict import Status

_SHOWN: tuple[Status, ...] = ("failed", "warned", "recorded", "waived", "passed")


class NoSuchCheck(LocalMistake):
    """There is no requirement or pack of this name."""


class PackCheck(Struct, frozen=True, kw_only=True):
    """One check of a pack."""

    says: str
    side: Side | None = "agent"
    """The side that it is for; None for both."""
    ids: str = ""
    """Its requirements."""
    judge: Judge | None = None
    unseen: str = ""
    """The reason why no recording can show it."""

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(self.ids.split())


class Pack(Struct, frozen=True, kw_only=True):
    about: str
    items: tuple[PackCheck, ...]


PACKS: dict[str, Pack] = {
    "review-agent-checklist": Pack(
        about="the checklist of a guide to code review agents in IDEs",
        items=(
            PackCheck(says="logs go to standard error alone", ids="STD-03 STD-05"),
            PackCheck(says="standard output carries only JSON-RPC", ids="STD-03 STD-01 RPC-01"),
            PackCheck(says="one message is one line", ids="STD-02"),
            PackCheck(says="session/update has an update with a sessionUpdate", ids="UPD-01"),
            PackCheck(
                says="tool calls have an id, a title, a kind and a status",
                ids="TOOL-02 TOOL-04 TOOL-05",
                judge=practices.tool_calls_say_what_they_are,
            ),
            PackCheck(says="the last answer has a stop reason", ids="TURN-03 TURN-04"),
            PackCheck(says="a cancelled turn ends well", ids="CAN-02 CAN-06 CAN-07 CAN-08 CAN-13"),
            PackCheck(
                says="the protocol version is 1", ids="INIT-05 INIT-06", judge=practices.version_one_is_spoken
            ),
            PackCheck(
                says="the agent tells its name and version",
                ids="INIT-10",
                judge=practices.the_agent_introduces_itself,
            ),
        ),
    ),
    "review-agent-mistakes": Pack(
        about="the mistakes that a guide to code review agents in IDEs warns of",
        items=(
            PackCheck(says="no update without its wrapper", ids="UPD-01 TURN-07"),
            PackCheck(says="no logs on standard output", ids="STD-03"),
            PackCheck(says="no update without its kind", ids="UPD-01"),
            PackCheck(
                says="no turn that ends before its updates",
                ids="TURN-06",
                judge=practices.a_turn_says_something_before_it_ends,
            ),
        ),
    ),
    "sdk-best-practices": Pack(
        about="advice by the authors of an SDK for both sides",
        items=(
            PackCheck(says="long work is streamed", ids="TURN-12", judge=practices.long_turns_are_streamed),
            PackCheck(says="cancellation works", ids="CAN-02 CAN-05 CAN-06 CAN-07 CAN-08 CAN-12 CAN-13"),
            PackCheck(
                says="destructive acts need permission first",
                ids="PERM-02 PERM-09",
                judge=practices.what_changes_things_is_asked_for,
            ),
            PackCheck(
                says="error messages name the problem",
                ids="RPC-07 RPC-08",
                judge=practices.errors_say_what_is_wrong,
            ),
            PackCheck(
                says="sessions keep their state", ids="SES-04 SES-18 SES-20 LOAD-03 LOAD-08 RES-04 TURN-15"
            ),
            PackCheck(
                says="requests of the agent are looked at before they are carried out",
                side="client",
                ids="RPC-09 RPC-12 FS-13 TERM-18 ELIC-27",
            ),
            PackCheck(
                says="a person or a rule decides about permission",
                side="client",
                ids="INIT-23 PERM-05 PERM-06 PERM-07 CAN-04",
            ),
            PackCheck(says="updates are taken in one go", side="client", unseen="drawing is not on the wire"),
            PackCheck(says="people see what happens", side="client", unseen="a screen is not on the wire"),
            PackCheck(
                says="files and terminals stay within the workspace", side="client", ids="FS-11 ADIR-11"
            ),
            PackCheck(
                says="both agree on a version",
                side=None,
                ids="INIT-02 INIT-05 INIT-06 INIT-07 INIT-09 INIT-11",
            ),
            PackCheck(
                says="unknown messages do no harm",
                side=None,
                ids="RPC-09 RPC-15 RPC-21 EXT-07 EXT-08 TURN-21 CRQ-11",
            ),
            PackCheck(says="violations are logged", side=None, unseen="logs stay private"),
            PackCheck(says="errors are survived", side=None, ids="RPC-10 RPC-11 RPC-13 RPC-14"),
            PackCheck(says="it was tried with many peers", side=None, unseen="one recording shows one peer"),
        ),
    ),
}


def judge_pack(name: str, part: ReportPart, recordings: Sequence[Recording]) -> PackResult:
    """Return the verdict on each check of a pack, for one side."""
    pack = _pack(name)
    conversations = [Conversation(recording) for recording in recordings]
    status = {verdict.requirement: verdict.status for verdict in part.verdicts}
    return PackResult(
        name=name,
        about=pack.about,
        side=part.side,
        items=[_item(item, status, conversations) for item in pack.items if item.side in (None, part.side)],
    )


def selection(only: Iterable[str], exclude: Iterable[str], packs: Iterable[str]) -> set[str] | None:
    """Return ids, areas (`TURN`) and patterns (`TERM-1*`) as a set of ids; None for everything."""
    included_ids = {requirement_id for pattern in only for requirement_id in _match(pattern)}
    included_ids |= {
        requirement for name in packs for item in _pack(name).items for requirement in item.requirements
    }
    excluded_ids = {requirement_id for pattern in exclude for requirement_id in _match(pattern)}
    if not included_ids and not excluded_ids:
        return None
    return (included_ids or set(requirements())) - excluded_ids


def _item(item: PackCheck, status: dict[str, Status], conversations: list[Conversation]) -> PackItem:
    if item.unseen:
        return PackItem(says=item.says, status="not exercised", reason=item.unseen)
    own = [
        (number, own_observation)
        for number, conversation in enumerate(conversations, 1)
        for own_observation in ([] if item.judge is None else item.judge(conversation))
    ]
    where, wrong = next(
        ((number, observation) for number, observation in own if not observation.is_kept), (0, None)
    )
    # A list may name what binds only the other side: that is not a part of this side's line.
    names = tuple(requirement for requirement in item.requirements if requirement in status)
    statuses = [status[name] for name in names]
    return PackItem(
        says=item.says,
        status=worst([*statuses, *("passed" if observation.is_kept else "warned" for _, observation in own)]),
        requirements=names,
        exercised_count=sum(status in _SHOWN for status in statuses),
        reason="" if wrong is None else wrong.why,
        connection=where,
        frames=() if wrong is None else wrong.frames,
    )


def _pack(name: str) -> Pack:
    if name not in PACKS:
        raise NoSuchCheck(f"no pack is called {name!r}; there are {', '.join(PACKS)}")
    return PACKS[name]


def _match(pattern: str) -> list[str]:
    catalogue = requirements()
    ids = [
        name
        for name in catalogue
        if fnmatchcase(name, pattern.upper()) or catalogue[name].area == pattern.upper()
    ]
    if not ids:
        raise NoSuchCheck(f"unknown requirement {pattern!r}; `dragoman check list` shows them")
    return ids
