"""The catalogue of requirements, and the severity of each.

`requirements.json` holds them: an id that never changes, whom it binds, how binding it is, and where it comes
from. Requirements that the official material contradicts itself about are recorded and never held against
anybody.

`CONTRADICTIONS` are the places where the official material says two things, and which of them we read.
Whoever follows the other reading is recorded and never held to be wrong.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.decoders import decode_json

Side: TypeAlias = Literal["agent", "client", "server"]
Tier: TypeAlias = Literal["fail", "warn", "record"]

_BOUND: dict[str, tuple[Side, ...]] = {
    "A": ("agent",),
    "C": ("client",),
    "B": ("agent", "client"),
    "S": ("server",),
}

_TIERS: dict[str, Tier] = {
    "MUST": "fail",
    "MUST NOT": "fail",
    "SCHEMA": "fail",
    "DECL": "warn",
    "SHOULD": "warn",
    "SHOULD NOT": "warn",
    "DERIVED": "warn",
    "MAY": "record",
    "IMPL": "record",
    "PROBE": "record",
}
"""By level: MUST, SHOULD and MAY are words of a page, SCHEMA is what the schema demands, DECL what a page
states as a fact, DERIVED what follows for whoever takes care, IMPL what SDKs do, PROBE what no page settles.
"""

SITE = "https://agentclientprotocol.com/"

_PAGES: dict[str, str] = {
    "schema": "protocol/v1/schema",
    "init": "protocol/v1/initialization",
    "auth": "protocol/v1/authentication",
    "setup": "protocol/v1/session-setup",
    "list": "protocol/v1/session-list",
    "delete": "protocol/v1/session-delete",
    "turn": "protocol/v1/prompt-turn",
    "content": "protocol/v1/content",
    "tool": "protocol/v1/tool-calls",
    "plan": "protocol/v1/agent-plan",
    "modes": "protocol/v1/session-modes",
    "cfg": "protocol/v1/session-config-options",
    "slash": "protocol/v1/slash-commands",
    "fs": "protocol/v1/file-system",
    "term": "protocol/v1/terminals",
    "elic": "protocol/v1/elicitation",
    "cancel": "protocol/v1/cancellation",
    "ext": "protocol/v1/extensibility",
    "over": "protocol/v1/overview",
    "trans": "protocol/v1/transports",
    "err": "protocol/v1/error",
    "draft": "protocol/v1/draft/prompt-turn",
    "lifecycle": "protocol/v2/prompt-lifecycle",
    "resuming": "protocol/v2/session-setup",
    "tooling": "protocol/v2/tool-calls",
    "logins": "protocol/v2/authentication",
    "jsonrpc": "https://www.jsonrpc.org/specification",
    "rfd:additional-directories": "rfds/additional-directories",
    "rfd:auth-methods": "rfds/auth-methods",
    "rfd:compaction": "rfds/session-compaction",
    "rfd:diff-delete": "rfds/diff-delete",
    "rfd:elicitation": "rfds/elicitation",
    "rfd:http": "rfds/streamable-http-websocket-transport",
    "rfd:message-id": "rfds/message-id",
    "rfd:notices": "rfds/session-notices",
    "rfd:request-cancellation": "rfds/request-cancellation",
    "rfd:session-info-update": "rfds/session-info-update",
    "rfd:session-usage": "rfds/session-usage",
    "rfd:tool-call-name": "rfds/tool-call-name",
}
"""The page behind each word that the source of a requirement begins with."""

_AREA_PAGES: dict[str, str] = {
    "RPC": _PAGES["over"],
    "INIT": _PAGES["init"],
    "AUTH": _PAGES["auth"],
    "SES": _PAGES["setup"],
    "LOAD": _PAGES["setup"],
    "RES": _PAGES["setup"],
    "CLO": _PAGES["setup"],
    "LST": _PAGES["list"],
    "DEL": _PAGES["delete"],
    "ADIR": _PAGES["rfd:additional-directories"],
    "TURN": _PAGES["turn"],
    "CAN": _PAGES["turn"],
    "CRQ": _PAGES["cancel"],
    "UPD": _PAGES["rfd:compaction"],
    "TOOL": _PAGES["tool"],
    "PERM": _PAGES["tool"],
    "PLAN": _PAGES["plan"],
    "MODE": _PAGES["modes"],
    "CFG": _PAGES["cfg"],
    "CMD": _PAGES["slash"],
    "FS": _PAGES["fs"],
    "TERM": _PAGES["term"],
    "ELIC": _PAGES["elic"],
    "CONT": _PAGES["content"],
    "EXT": _PAGES["ext"],
    "ERR": _PAGES["err"],
    "STD": _PAGES["trans"],
    "LEN": _PAGES["schema"],
    "HTTP": _PAGES["rfd:http"],
    "WS": _PAGES["rfd:http"],
}
"""The page of an area: of its proposal, where a source says only `rfd`; and where no page says anything, the
page that would.
"""

_NO_PAGE = frozenset({"rfd", "sdk", "silent", "security", "tck"})
"""Sources that are not pages: the proposal of the area, code, silence, our own care, the official tests."""

_SOURCE = re.compile(r"rfd:[a-z-]+|[a-z]+")
_CONTRADICTION = re.compile(r"\bCONF-\d\d\b")


class Requirement(Struct, frozen=True, kw_only=True):
    """One row of the catalogue."""

    id: str
    side: str
    level: str
    requirement: str
    observe: str
    source: str
    area: str

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that it binds."""
        return _BOUND[self.side]

    @property
    def page(self) -> str:
        """The address of its page; empty if its source is unknown.

        A requirement that no page states has the page of its area: whoever doubts it looks there first.
        """
        match = _SOURCE.match(self.source)
        word = match.group() if match else ""
        path = _AREA_PAGES.get(self.area, "") if word in _NO_PAGE else _PAGES.get(word, "")
        return path if path.startswith("https:") or not path else SITE + path

    @property
    def is_contradicted(self) -> bool:
        """Whether the official material contradicts itself about it."""
        return bool(_CONTRADICTION.search(f"{self.requirement} {self.observe} {self.source}"))

    def tier(self, *, unavoidable: bool = False, is_reading: bool = False) -> Tier:
        """Return the weight of a violation. `unavoidable`: a statement of fact that the form of the messages
        makes necessary, such as ids and order; it counts like a MUST. `is_reading`: the judged side accepted
        what the schema does not allow; the schema binds the writer, so that is a warning.
        """
        if self.is_contradicted:
            return "record"
        if self.level == "SCHEMA" and is_reading:
            return "warn"
        return "fail" if self.level == "DECL" and unavoidable else _TIERS[self.level]


class _Catalogue(Struct):
    areas: dict[str, str]
    requirements: list[Requirement]


@cache
def _catalogue() -> _Catalogue:
    text = files("dragoman_check").joinpath("requirements.json").read_bytes()
    return decode_json(text, _Catalogue)


@cache
def requirements() -> dict[str, Requirement]:
    """Return all of them by id, in the catalogue's order."""
    return {requirement.id: requirement for requirement in _catalogue().requirements}


def areas() -> dict[str, str]:
    """Return the topic of each area."""
    return _catalogue().areas


CONTRADICTIONS: dict[str, str] = {
    "CONF-01": (
        "A page names the new mode modeId, the schema currentModeId; the same page shows tool call "
        "content without its wrapper. We write what the schema says, and read both names."
    ),
    "CONF-02": (
        "Open permission requests of a cancelled turn end with the outcome cancelled on one page, with "
        "the error -32800 on another. We answer with the outcome, and take both for a no."
    ),
    "CONF-03": (
        "The results of session/load and fs/write_text_file are null on pages and objects in the schema. "
        "We write an empty object, and take both."
    ),
    "CONF-04": (
        "Pages look for the client's capabilities in the answer to initialize; they are in the request."
    ),
    "CONF-05": (
        "A page wants MCP servers in every session/resume, the schema does not. We send a list, and live "
        "without one."
    ),
    "CONF-06": (
        "Batches are defined by some drafts, refused by the published SDK, and answered with another HTTP "
        "status by a proposal. We refuse them as a whole, with one error."
    ),
    "CONF-07": (
        "A stream of an unknown session is refused by one sentence of the HTTP proposal and opened by its "
        "own example. We open it."
    ),
    "CONF-08": (
        "What answers a version that is too old: the latest one of the agent, or the error -32022. We "
        "take both."
    ),
    "CONF-09": (
        "Broken entries of requests were skipped by an older schema, and are refused with -32602 by the "
        "newer. We refuse."
    ),
    "CONF-10": (
        "Unknown formats of text must be kept, says a proposal; the schema lists four and no others. We "
        "keep them."
    ),
    "CONF-11": (
        "Pieces of a summary follow the start of a compaction, says a proposal; the schema lets the first "
        "piece begin one. We write the former, and read both."
    ),
}


def contradictions_of(requirement: Requirement) -> list[str]:
    """Return notes on the contradictions that a requirement names."""
    text = f"{requirement.requirement} {requirement.observe} {requirement.source}"
    return [
        CONTRADICTIONS[name]
        for name in dict.fromkeys(re.findall(r"CONF-\d\d", text))
        if name in CONTRADICTIONS
    ]
