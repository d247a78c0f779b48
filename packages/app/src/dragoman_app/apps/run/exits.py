"""The outcomes of a run, and the exit status of each.

The status is a promise to scripts: a number never changes its meaning. Numbers that other tools have given a
meaning are used in that meaning (`timeout`, the shell's signals, a command that was not found). docs/run.md
has the same table, and a test compares them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class ExitStatus(NamedTuple):
    """One outcome."""

    status: int
    meaning: str


EXITS: Final[dict[str, ExitStatus]] = {
    "end_turn": ExitStatus(0, "the agent ended its turn"),
    "failed": ExitStatus(1, "Dragoman itself failed; see standard error"),
    "usage": ExitStatus(
        2, "the command line or a file that it names is invalid, or the agent lacks the feature"
    ),
    "max_tokens": ExitStatus(3, "the turn reached its limit of tokens"),
    "max_turn_requests": ExitStatus(4, "the turn reached its limit of model requests"),
    "refusal": ExitStatus(5, "the agent refused to continue"),
    "question_open": ExitStatus(6, "the agent asked a question, and there was no terminal to answer it in"),
    "permission_denied": ExitStatus(
        7, "the policy denied the agent's last request, or a write or command failed after it was allowed"
    ),
    "auth_needed": ExitStatus(8, "the agent needs a login"),
    "agent_died": ExitStatus(9, "the agent ended, or closed the connection, before the turn was over"),
    "protocol_error": ExitStatus(10, "the agent broke the protocol, and the turn could not continue"),
    "agent_error": ExitStatus(11, "the agent answered with an error"),
    "unasked_changes": ExitStatus(
        12, "with `--strict`: files changed without approval, or the changes are unknown"
    ),
    "timeout": ExitStatus(124, "a deadline passed"),
    "not_started": ExitStatus(127, "the agent could not be started"),
    "cancelled": ExitStatus(130, "the turn was cancelled, by Ctrl-C or by the agent"),
    "output_closed": ExitStatus(141, "standard output was closed"),
    "terminated": ExitStatus(143, "a signal ended the command (SIGTERM, SIGHUP)"),
}


def table() -> str:
    """Return the table for the help text."""
    width = max(map(len, EXITS))
    return "\n".join(
        f"  {exit_.status:>3}  {name:<{width}}  {exit_.meaning}" for name, exit_ in EXITS.items()
    )
