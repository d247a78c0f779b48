"""Mistakes in what asks people and keeps to their answers, planted to see that the simulation finds them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

from dragoman.errors import ErrorAnswer
from dragoman_hub.clients import follower
from dragoman_hub.clients.entry_messages import block_of
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate import table
from dragoman_hub.gate.admission import Grant, hash_token
from dragoman_hub.judge import broker
from dragoman_hub.judge.broker import ApprovalBroker
from dragoman_hub.judge.hub_judge import HubJudge
from dragoman_hub.push import notifier
from dragoman_hub.push.answers import AnswerTicket, AnswerTickets
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.policy import judge
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.judge import Grants, PermissionJudge
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.policy.policy_parser import PolicyError
from tests.hub.simulate.consent_world import run_consent_seed
from tests.hub.simulate.world import Outcome

_use = Grants.use


def _use_without_end(self: Grants, act: Act) -> bool:
    kept = list(self._grants)
    found = _use(self, act)
    self._grants.clear()
    self._grants.extend(kept)
    return found


def _lend_again(self: ApprovalBroker, session: LiveSession, request: OpenRequest) -> None:
    self._lend_ourselves(session, request)


def _is_turn(self: ApprovalBroker, port: Any, session: LiveSession) -> bool:
    session = session.root
    turn, found = session.state.turn, session.follower_of(port)
    if turn is None or found is None:
        return False
    return turn.key in found.own or (session.id, turn.key) in port.waiting


def _redeem_for_ever(self: AnswerTickets, secret: str) -> AnswerTicket | None:
    return self._tickets.get(hash_token(secret))


def _skip_broken(self: HubJudge, roots: Any) -> Policy:
    try:
        return load_policy(roots=roots, file=self._file or None, rules=self._rules)
    except PolicyError:
        return Policy(layers=())


_note = PermissionJudge.note


def _write_nothing_asked(self: PermissionJudge, act: Act, decision: Any, **line: Any) -> None:
    if line["outcome"] != "ask":
        _note(self, act, decision, **line)


_settle = PermissionJudge.settle


def _settle_unwritten(self: PermissionJudge, act: Act, decision: Any, *more: Any, **options: Any) -> Any:
    with patch.object(PermissionJudge, "write", lambda self, *args, **line: True):
        return _settle(self, act, decision, *more, **options)


def _block_from_its_beginning(session: str, entries: Any, view: Any, *, skip: int = 0) -> bytes:
    return block_of(session, entries, view)


async def _guard_late(self: HubJudge, access: Any) -> None:
    """What was denied while it was asked about is done all the same."""
    with contextlib.suppress(ErrorAnswer):
        await _guard(self, access)


_guard = HubJudge.guard

BUGS: dict[str, Callable[[], Any]] = {
    "a lent write is done again after a crash": lambda: patch.object(
        ApprovalBroker, "_lend_after_crash", _lend_again
    ),
    "a client that resumes inside an entry is told all of it again": lambda: patch.object(
        follower, "block_of", _block_from_its_beginning
    ),
    "a yes is not used up": lambda: patch.object(Grants, "use", _use_without_end),
    "a yes holds for any text": lambda: patch.object(judge, "_gives", lambda grant, want: True),
    "a yes holds in later turns": lambda: patch.object(HubJudge, "end_turn", lambda self, session: None),
    "a no does not end a yes": lambda: patch.object(Grants, "take_back", lambda self, act: None),
    "a yes holds in every folder": lambda: patch.object(judge, "_command", lambda act: act.script.text),
    "a refusal does not stop the write": lambda: patch.object(HubJudge, "guard", _guard_late),
    "a policy that is broken denies nothing": lambda: patch.object(HubJudge, "policy_in", _skip_broken),
    "a question is shown before its line is written": lambda: patch.object(
        PermissionJudge, "note", _write_nothing_asked
    ),
    "what is allowed is not written down": lambda: patch.object(PermissionJudge, "settle", _settle_unwritten),
    "whoever names a key has its turn": lambda: patch.object(ApprovalBroker, "_has_turn", _is_turn),
    "a token may approve if it may observe": lambda: patch.object(
        Grant, "may", lambda self, scope: bool(self.scopes)
    ),
    "a token with roots reaches every folder": lambda: patch.object(
        Grant, "may_open", lambda self, cwd: True
    ),
    "the inbox shows all sessions": lambda: patch.object(broker, "reaches", lambda grant, state: True),
    "scopes are not looked at": lambda: patch.object(table, "_check_scopes", lambda grant, row: None),
    "a device hears of all sessions": lambda: patch.object(notifier, "reaches", lambda grant, state: True),
    "a ticket can be used again": lambda: patch.object(AnswerTickets, "redeem", _redeem_for_ever),
}
"""By what is wrong with them."""


def find_consent_bug(name: str, seeds: Iterable[int]) -> Outcome | None:
    """The first of the seeds that finds the bug; None if none does."""
    with BUGS[name]():
        for seed in seeds:
            outcome = run_consent_seed(seed)
            if outcome.findings:
                return outcome
    return None
