"""Which requirement of the official test kit (`acp-tck`) means the same as one of ours.

The kit examines agents over stdio; its ids are `ACP-AREA-NNN`. Reports name them beside ours, so that whoever
runs both can compare. Only equal meaning counts: a requirement that merely touches the same field has no
counterpart here, and most of ours (everything about clients, files, terminals, networks) have none. The ids
are those of its suite for version 1 of the protocol; `JUDGED_OTHERWISE` are those that it judges in
another way than we do, and why.
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
    "INIT-06": ("ACP-INIT-002",),
    "INIT-07": ("ACP-INIT-003",),
    "INIT-10": ("ACP-INIT-004",),
    "INIT-22": ("ACP-PROMPT-003",),
    "AUTH-03": ("ACP-AUTH-002",),
    "AUTH-07": ("ACP-AUTH-003",),
    "AUTH-08": ("ACP-AUTH-003",),
    "AUTH-18": ("ACP-AUTH-004",),
    "SES-04": ("ACP-SESSION-001", "ACP-SESSION-002"),
    "SES-20": ("ACP-INFO-UNKNOWNSESSION-001",),
    "LOAD-03": ("ACP-LOAD-001",),
    "LOAD-04": ("ACP-LOAD-002",),
    "LOAD-07": ("ACP-LOAD-001", "ACP-LOAD-003"),
    "RES-03": ("ACP-RESUME-002",),
    "RES-06": ("ACP-RESUME-001",),
    "CLO-02": ("ACP-CLOSE-002",),
    "CLO-04": ("ACP-CLOSE-001",),
    "LST-03": ("ACP-LIST-001",),
    "LST-04": ("ACP-LIST-002",),
    "DEL-03": ("ACP-DELETE-002",),
    "DEL-04": ("ACP-DELETE-001",),
    "TURN-04": ("ACP-PROMPT-001",),
    "TURN-07": ("ACP-PROMPT-002",),
    "CAN-06": ("ACP-CANCEL-001",),
    "CAN-07": ("ACP-CANCEL-001",),
    "CAN-08": ("ACP-CANCEL-002",),
    "UPD-03": ("ACP-MODES-002",),
    "MODE-03": ("ACP-MODES-001",),
    "MODE-05": ("ACP-MODES-002",),
    "CFG-07": ("ACP-CONFIG-001",),
    "CFG-08": ("ACP-CONFIG-003",),
    "CFG-16": ("ACP-CONFIG-002",),
    "FS-01": ("ACP-CLIENTCAP-001",),
    "TERM-01": ("ACP-CLIENTCAP-002",),
    "ELIC-01": ("ACP-CLIENTCAP-003",),
    "EXT-01": ("ACP-SCHEMA-002",),
    "EXT-02": ("ACP-META-001",),
    "EXT-07": ("ACP-EXT-001",),
    "STD-01": ("ACP-TRANSPORT-002",),
    "STD-03": ("ACP-TRANSPORT-001",),
    "STD-05": ("ACP-STDERR-001",),
    "STD-08": ("ACP-SHUTDOWN-001",),
}
"""Ids of the kit by ours."""

JUDGED_OTHERWISE: Mapping[str, str] = {
    "ACP-EXT-001": "the kit is content with any answer; ours warns about another code than -32601",
    "ACP-INIT-003": "the kit accepts any version above that of a request for 1; ours the agent's latest",
    "ACP-PROMPT-003": "the kit only advises it, because two pages differ; ours follows one of them",
    "ACP-INFO-UNKNOWNSESSION-001": "the kit records the answer; ours warns about another code than -32002",
    "ACP-LOAD-001": "the kit is content with any replay; ours wants the whole conversation",
    "ACP-LOAD-002": "the kit allows no update at all after the answer; ours no history",
    "ACP-CANCEL-001": "the kit takes time for a proof that a cancel was read; ours takes what the agent did",
    "ACP-CLOSE-002": "the kit infers it from two pages; ours takes the page on session setup literally",
}
"""Where the same conduct may get another verdict there."""

ABSENT: Mapping[str, str] = {
    "ACP-SCHEMA-001": "every requirement of level SCHEMA is a part of it",
    "ACP-ADDDIRS-001": "who advertises more folders and refuses one that is there fails INIT-14",
    "ACP-AUTH-001": "the schema only describes ids of login methods as unique",
    "ACP-AUTH-005": "an agent without login methods that asks for a login: seen by `dragoman doctor`",
    "ACP-PROMPTCAP-001": "an agent that refuses what it offers fails TURN-04",
    "ACP-PROMPTCAP-002": "as ACP-PROMPTCAP-001",
    "ACP-PROMPTCAP-003": "as ACP-PROMPTCAP-001",
}
"""Requirements of the kit without one counterpart here, and what comes nearest."""


def kit_ids(requirement: str) -> tuple[str, ...]:
    """The kit's ids for one of our requirements; empty if it has none of that meaning."""
    return KIT_IDS.get(requirement, ())
