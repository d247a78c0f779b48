"""Maps requirements of the official test kit (`acp-tck`) to those of Dragoman.

The kit examines agents over stdio; its ids are `ACP-AREA-NNN`. Reports name them beside ours, so that whoever
runs both can compare. Only equal meaning counts: a requirement that merely touches the same field has no
counterpart here, and most of ours (everything about clients, files, terminals, networks) have none. Numbers
from 201 on are those of its suite for version 2 of the protocol, which shares the others. `JUDGED_OTHERWISE`
are those that it judges in another way than we do, and why.
"""

from __future__ import annotations

from collections.abc import Mapping

KIT_IDS: Mapping[str, tuple[str, ...]] = {
    "RPC-01": ("ACP-TRANSPORT-001",),
    "RPC-03": ("ACP-JSONRPC-001",),
    "RPC-04": ("ACP-JSONRPC-002",),
    "RPC-05": ("ACP-JSONRPC-003",),
    "RPC-07": ("ACP-JSONRPC-002",),
    "RPC-08": ("ACP-ERROR-001",),
    "RPC-09": ("ACP-JSONRPC-004",),
    "RPC-10": ("ACP-INFO-PARSE-001",),
    "RPC-11": ("ACP-INFO-INVALIDREQ-001",),
    "RPC-14": ("ACP-JSONRPC-005",),
    "INIT-05": ("ACP-INIT-001",),
    "INIT-06": ("ACP-INIT-002", "ACP-INIT-201"),
    "INIT-07": ("ACP-INIT-003",),
    "INIT-10": ("ACP-INIT-004",),
    "INIT-22": ("ACP-PROMPT-003",),
    "AUTH-03": ("ACP-AUTH-002", "ACP-AUTH-202"),
    "AUTH-07": ("ACP-AUTH-003",),
    "AUTH-08": ("ACP-AUTH-003", "ACP-AUTH-204"),
    "AUTH-18": ("ACP-AUTH-004", "ACP-AUTH-203"),
    "AUTH-26": ("ACP-AUTH-206",),
    "AUTH-27": ("ACP-AUTH-207",),
    "AUTH-28": ("ACP-AUTH-001", "ACP-AUTH-201"),
    "AUTH-29": ("ACP-AUTH-005", "ACP-AUTH-205"),
    "SES-04": ("ACP-SESSION-001", "ACP-SESSION-002"),
    "SES-20": ("ACP-INFO-UNKNOWNSESSION-001",),
    "LOAD-03": ("ACP-LOAD-001",),
    "LOAD-04": ("ACP-LOAD-002",),
    "LOAD-07": ("ACP-LOAD-001", "ACP-LOAD-003"),
    "RES-03": ("ACP-RESUME-002", "ACP-RESUME-203"),
    "RES-06": ("ACP-RESUME-001", "ACP-RESUME-201"),
    "RES-08": ("ACP-RESUME-202",),
    "RES-09": ("ACP-RESUME-204",),
    "RES-10": ("ACP-RESUME-205",),
    "CLO-02": ("ACP-CLOSE-002", "ACP-CANCEL-208", "ACP-CLOSE-202"),
    "CLO-04": ("ACP-CLOSE-001", "ACP-CLOSE-201"),
    "LST-03": ("ACP-LIST-001", "ACP-LIST-201"),
    "LST-04": ("ACP-LIST-002", "ACP-LIST-202"),
    "LST-05": ("ACP-LIST-203",),
    "LST-06": ("ACP-LIST-204",),
    "DEL-02": ("ACP-DELETE-202",),
    "DEL-03": ("ACP-DELETE-002", "ACP-DELETE-203"),
    "DEL-04": ("ACP-DELETE-001", "ACP-DELETE-201"),
    "TURN-03": ("ACP-STATE-202",),
    "TURN-04": ("ACP-PROMPT-001", "ACP-STATE-203"),
    "TURN-07": ("ACP-PROMPT-002", "ACP-PROMPT-205"),
    "TURN-08": ("ACP-PATCH-201",),
    "TURN-09": ("ACP-PROMPT-203",),
    "TURN-27": ("ACP-STATE-201",),
    "TURN-28": ("ACP-PATCH-203",),
    "TURN-29": ("ACP-PATCH-209",),
    "CAN-02": ("ACP-CANCEL-205",),
    "CAN-06": ("ACP-CANCEL-001", "ACP-CANCEL-201", "ACP-CANCEL-207"),
    "CAN-07": ("ACP-CANCEL-001", "ACP-CANCEL-203"),
    "CAN-08": ("ACP-CANCEL-002", "ACP-CANCEL-202"),
    "CAN-16": ("ACP-CANCEL-206",),
    "UPD-03": ("ACP-MODES-002",),
    "PERM-02": ("ACP-PERM-201",),
    "TOOL-06": ("ACP-PATCH-204",),
    "TOOL-17": ("ACP-PATCH-208",),
    "TOOL-23": ("ACP-PATCH-206",),
    "TOOL-24": ("ACP-PATCH-207",),
    "MODE-03": ("ACP-MODES-001",),
    "MODE-05": ("ACP-MODES-002",),
    "CFG-05": ("ACP-CONFIG-201", "ACP-CONFIG-203"),
    "CFG-07": ("ACP-CONFIG-001", "ACP-CONFIG-204"),
    "CFG-08": ("ACP-CONFIG-003",),
    "CFG-16": ("ACP-CONFIG-002", "ACP-CONFIG-202"),
    "CFG-17": ("ACP-CONFIG-206",),
    "FS-01": ("ACP-CLIENTCAP-001",),
    "TERM-01": ("ACP-CLIENTCAP-002",),
    "ELIC-01": ("ACP-CLIENTCAP-003", "ACP-CLIENTCAP-201"),
    "EXT-01": ("ACP-SCHEMA-002", "ACP-EXT-202"),
    "EXT-02": ("ACP-META-001", "ACP-META-201"),
    "EXT-07": ("ACP-EXT-001",),
    "EXT-08": ("ACP-EXT-201",),
    "STD-01": ("ACP-TRANSPORT-002",),
    "STD-02": ("ACP-TRANSPORT-203",),
    "STD-03": ("ACP-TRANSPORT-001", "ACP-TRANSPORT-201"),
    "STD-05": ("ACP-STDERR-001",),
    "STD-08": ("ACP-SHUTDOWN-001",),
}
"""Ids of the kit by ours."""

JUDGED_OTHERWISE: Mapping[str, str] = {
    "ACP-PATCH-208": "the kit also advises a title in the first update; ours judges the name",
    "ACP-RESUME-204": "the kit compares ids over two processes, too; ours within a connection",
    "ACP-RESUME-205": "the kit wants the whole update to be empty; ours that it comes first",
    "ACP-EXT-001": "the kit accepts any answer; our rule wants -32601 for an unknown method",
    "ACP-INIT-003": "the kit accepts any version above that of a request for 1; ours the agent's latest",
    "ACP-PROMPT-003": "the kit only advises it, because two pages differ; ours follows one of them",
    "ACP-INFO-UNKNOWNSESSION-001": "the kit records the answer; ours warns about another code than -32002",
    "ACP-LOAD-001": "the kit accepts any replay; our rule wants the whole conversation",
    "ACP-LOAD-002": "the kit allows no update at all after the answer; ours no history",
    "ACP-CANCEL-001": "the kit takes time for a proof that a cancel was read; ours takes what the agent did",
    "ACP-STATE-203": "the kit wants a reason that the schema names, or one with `_`; ours any text",
    "ACP-CANCEL-202": "the kit forbids a further state; ours every update of the turn",
    "ACP-CLOSE-002": "the kit infers it from two pages; ours takes the page on session setup literally",
}
"""Requirements with possibly another verdict there for the same behaviour."""

ABSENT: Mapping[str, str] = {
    "ACP-SCHEMA-001": "every requirement of level SCHEMA is a part of it",
    "ACP-ADDDIRS-001": "who advertises more folders and refuses one that is there fails INIT-14",
    "ACP-PROMPTCAP-001": "an agent that refuses what it offers fails TURN-04",
    "ACP-PROMPTCAP-002": "as ACP-PROMPTCAP-001",
    "ACP-PROMPTCAP-003": "as ACP-PROMPTCAP-001",
    "ACP-INIT-202": "the SDKs refuse an older version with an error, as CONF-08 says",
    "ACP-INIT-203": "as ACP-SCHEMA-001",
    "ACP-INIT-204": "as ACP-SCHEMA-001",
    "ACP-SESSION-203": "who refuses an omitted list of servers fails TURN-03, because no session is made",
    "ACP-PROMPT-201": "as ACP-SCHEMA-001",
    "ACP-CLIENTCAP-202": "as ACP-SCHEMA-001",
    "ACP-CANCEL-204": "the kit only records it",
    "ACP-ADDDIRS-201": "as ACP-ADDDIRS-001",
    "ACP-ADDDIRS-202": "as ACP-ADDDIRS-001",
    "ACP-MCP-201": "the kit only records it",
    "ACP-MCP-202": "the kit only records it",
    "ACP-PATCH-205": "as ACP-SCHEMA-001",
    "ACP-ENUM-201": "TOOL-04, TOOL-05 and PLAN-02 are parts of it",
    "ACP-ENUM-202": "as ACP-SCHEMA-001",
    "ACP-ENUM-203": "PERM-10 plays an unknown outcome; the kit only advises that an agent survives it",
    "ACP-EXT-203": "the kit only records it",
    "ACP-INFO-CONCURRENT-201": "the kit only records it",
    "ACP-INFO-CANCEL-201": "the kit only records it",
    "ACP-INFO-CANCEL-202": "the kit only records it",
    "ACP-BATCH-201": "the schema of 2.4.0 has no batches: an array is refused as a whole",
    "ACP-BATCH-202": "as ACP-BATCH-201",
    "ACP-BATCH-203": "as ACP-BATCH-201",
    "ACP-BATCH-204": "as ACP-BATCH-201",
    "ACP-BATCH-205": "as ACP-BATCH-201",
    "ACP-BATCH-206": "as ACP-BATCH-201",
    "ACP-BATCH-207": "as ACP-BATCH-201",
    "ACP-BATCH-208": "as ACP-BATCH-201",
    "ACP-INFO-BATCH-201": "as ACP-BATCH-201",
    "ACP-INFO-BATCH-202": "as ACP-BATCH-201",
}
"""Requirements of the kit without a counterpart here, and the nearest of ours."""

SHAPES = ("LEN-06",)
"""Every message of a peer is checked against the schema of its version, all methods at once."""

NEAREST: Mapping[str, tuple[str, ...]] = {
    "ACP-SCHEMA-001": SHAPES,
    "ACP-ADDDIRS-001": ("INIT-14",),
    "ACP-ADDDIRS-201": ("INIT-14",),
    "ACP-ADDDIRS-202": ("INIT-14",),
    "ACP-PROMPTCAP-001": ("TURN-04",),
    "ACP-PROMPTCAP-002": ("TURN-04",),
    "ACP-PROMPTCAP-003": ("TURN-04",),
    "ACP-INIT-203": SHAPES,
    "ACP-INIT-204": SHAPES,
    "ACP-SESSION-203": ("TURN-03",),
    "ACP-PROMPT-201": SHAPES,
    "ACP-CLIENTCAP-202": SHAPES,
    "ACP-PATCH-205": SHAPES,
    "ACP-ENUM-201": ("TOOL-04", "TOOL-05", "PLAN-02"),
    "ACP-ENUM-202": SHAPES,
    "ACP-ENUM-203": ("PERM-10",),
}
"""Those of `ABSENT` that are part of a larger requirement here, with our ids."""


SHARED = frozenset(
    f"ACP-{name}"
    for name in (
        *("INIT-001", "INIT-003", "SCHEMA-001", "SCHEMA-002", "SESSION-001", "SESSION-002", "PROMPT-003"),
        *("PROMPTCAP-001", "PROMPTCAP-002", "PROMPTCAP-003", "TRANSPORT-002", "ERROR-001", "EXT-001"),
        *(f"JSONRPC-00{number}" for number in range(1, 6)),
        *("META-001", "SHUTDOWN-001", "STDERR-001"),
        *("INFO-PARSE-001", "INFO-INVALIDREQ-001", "INFO-UNKNOWNSESSION-001"),
    )
)
"""Ids that its suites for version 1 and version 2 share."""


def kit_ids(requirement: str, *, version: int = 1) -> tuple[str, ...]:
    """Return the kit's ids for one of Dragoman's requirements; empty if there is none.

    Its suite for version 2 has ids of its own, from 201 on, and some of those of version 1.
    """
    return tuple(ident for ident in KIT_IDS.get(requirement, ()) if ident in suite(version))


def suite(version: int) -> list[str]:
    """Return every id of the kit's suite for a version of the protocol."""
    ids = {*ABSENT, *(ident for ids in KIT_IDS.values() for ident in ids)}
    return sorted(
        ident for ident in ids if (ident[-3] == "2") == (version == 2) or (version == 2 and ident in SHARED)
    )


def requirements_of(ident: str) -> tuple[str, ...]:
    """Return our requirements with the same meaning as one of the kit's; empty if there are none."""
    return tuple(requirement for requirement, ids in KIT_IDS.items() if ident in ids)
