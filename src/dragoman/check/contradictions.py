"""Where the official material says two things, and which of them we read.

Whoever follows the other reading is recorded and never held to be wrong.
"""

from __future__ import annotations

import re

from dragoman.check.manifest import Requirement

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
    """What is said about the contradictions that a requirement names."""
    text = f"{requirement.requirement} {requirement.observe} {requirement.source}"
    return [
        CONTRADICTIONS[name]
        for name in dict.fromkeys(re.findall(r"CONF-\d\d", text))
        if name in CONTRADICTIONS
    ]
