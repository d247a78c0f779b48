"""Applies a policy to recorded acts, and compares its decisions with the answers at the time.

    trial = PolicyTrial(find_policy)
    for recorded in acts:
        verdict = trial.judge(recorded)

It decides with the judge of live sessions. Where that asks, the recorded answer stands in for the person:
what a yes covered then is not asked again. The same acts and the same policy give the same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from dragoman_local.secrets.names import REDACTED
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.decision import Outcome, PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionJudge
from dragoman_local.workspace.policy.policy import Policy, is_guarded
from dragoman_local.workspace.proof.recorded_acts import RecordedAct, Source


class Verdict(Struct, frozen=True, kw_only=True):
    """A recorded act, and the policy's decision on it."""

    recorded: RecordedAct
    act: Act
    decision: PolicyDecision

    @property
    def is_milder(self) -> bool:
        """Whether it would be allowed, but was refused."""
        return self.decision.outcome == "allow" and self.recorded.answer == "deny"

    @property
    def is_stricter(self) -> bool:
        """Whether it would be denied, but was allowed."""
        return self.decision.outcome == "deny" and self.recorded.answer == "allow"

    @property
    def is_held_by_wall(self) -> bool:
        """Whether it is only asked for lack of a rule, and could change only the session's folders in the
        sandbox. Network access and reads are not covered.
        """
        act, decision = self.act, self.decision
        if decision.outcome != "ask" or decision.is_rule or decision.needs_person or act.fetches:
            return False
        if act.script is not None:
            return act.is_in_roots(act.real_start or act.start)
        places = act.written_paths
        return (
            bool(places) and act.is_inside and not any(is_guarded(path, roots=act.roots) for path in places)
        )


class TrialCounts(Struct, kw_only=True):
    """The number of acts for each outcome."""

    sessions: int = 0
    acts: dict[Source, dict[Outcome, int]] = field(default_factory=dict)
    flaws: dict[str, int] = field(default_factory=dict)
    """Acts that are not judged, or not exactly, by reason."""
    stricter: int = 0
    milder: int = 0
    held_by_wall: int = 0
    """Questions that the sandbox would avoid."""

    @property
    def judged(self) -> int:
        return sum(sum(outcomes.values()) for outcomes in self.acts.values())

    @property
    def questions(self) -> int:
        """Return acts that are asked; those that were announced and done ask nobody."""
        return sum(self.acts.get(source, {}).get("ask", 0) for source in ("request", "lent"))

    def add(self, verdict: Verdict) -> None:
        source, outcome = verdict.recorded.source, verdict.decision.outcome
        outcomes = self.acts.setdefault(source, {"allow": 0, "ask": 0, "deny": 0})
        outcomes[outcome] += 1
        self.stricter += verdict.is_stricter
        self.milder += verdict.is_milder
        self.held_by_wall += verdict.is_held_by_wall and source != "announced"


class PolicyTrial:
    """Judges acts, one stream after the other. Constructing reads nothing."""

    def __init__(self, find_policy: Callable[[tuple[str, ...]], Policy]) -> None:
        """`find_policy` returns the policy for a session's folders; it is called once for each."""
        self._find_policy = find_policy
        self._policies: dict[tuple[str, ...], Policy] = {}
        self._decisions: dict[Act, PolicyDecision] = {}
        self._judge = PermissionJudge()
        self._turn: tuple[str, int] = ("", 0)

    def judge(self, recorded: RecordedAct) -> Verdict | None:
        """Return the verdict; None for an unreadable act."""
        act = recorded.act
        if act is None:
            return None
        if self._turn != (turn := (recorded.stream, recorded.turn)):
            self._turn = turn
            self._judge.grants.forget()
        decision = self._decide(act)
        if decision.outcome == "ask" and recorded.source == "lent" and self._was_granted(act):
            why = "a request for permission was granted for it"
            decision = PolicyDecision(outcome="allow", rule=decision.rule, why=why)
        if recorded.source == "request":
            answer = recorded.answer if decision.outcome == "ask" else decision.outcome
            if answer == "allow":
                self._judge.grants.add(act)
            else:
                self._judge.grants.take_back(act)
        return Verdict(recorded=recorded, act=act, decision=decision)

    def judge_briefly(self, recorded: RecordedAct) -> tuple[RecordedAct, Verdict | None]:
        """Return an act without its words, and its verdict without file contents."""
        verdict, brief = self.judge(recorded), replace(recorded, act=None)
        return brief, verdict and replace(verdict, recorded=brief, act=replace(verdict.act, changes=()))

    def policy_in(self, roots: tuple[str, ...]) -> Policy:
        policy = self._policies.get(roots)
        if policy is None:
            policy = self._policies[roots] = self._find_policy(roots)
        return policy

    def _decide(self, act: Act) -> PolicyDecision:
        key = without_names(act)
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decisions[key] = self.policy_in(act.roots).decide(act)
        return decision

    def _was_granted(self, act: Act) -> bool:
        """Whether a yes covers it. Recordings lack the values of variables, and often what a file held
        before: then the yes to the same command, or to a change of the same file, counts.
        """
        grants = self._judge.grants
        if grants.use(act):
            return True
        told = tuple(each for each in act.variables if not each.endswith(f"={REDACTED}"))
        if told != act.variables:
            return grants.use(replace(act, variables=told))
        is_unknown = bool(act.changes) and all(change.old is None for change in act.changes)
        return is_unknown and grants.use(
            replace(act, kind="read", writes=False, method="fs/read", changes=())
        )


def without_names(act: Act) -> Act:
    """An act reduced to the parts that rules check, without file contents, session and names."""
    return replace(act, session_id="", changes=(), title=act.title if act.script is None else "")


class TrialRecord:
    """Judges acts as they arrive, and counts them. It keeps the fields for rules, not file contents."""

    def __init__(self, trial: PolicyTrial) -> None:
        self.counts = TrialCounts()
        self.verdicts: list[Verdict] = []
        self.roots: dict[tuple[str, ...], None] = {}
        """The folders of the sessions, which say whose rules judged."""
        self._trial = trial
        self._streams: set[str] = set()

    def take(self, recorded: RecordedAct) -> None:
        self.add(*self._trial.judge_briefly(recorded))

    def add(self, recorded: RecordedAct, verdict: Verdict | None) -> None:
        """Add what `PolicyTrial.judge_briefly` returned, here or in another process."""
        counts = self.counts
        self._streams.add(recorded.stream)
        counts.sessions = len(self._streams)
        if recorded.flaw:
            counts.flaws[recorded.flaw] = counts.flaws.get(recorded.flaw, 0) + 1
        if verdict is not None:
            counts.add(verdict)
            self.roots[verdict.act.roots] = None
            self.verdicts.append(verdict)


def count(acts: Iterable[RecordedAct], trial: PolicyTrial) -> tuple[TrialCounts, list[Verdict]]:
    """Return the counts, and every verdict in order."""
    record = TrialRecord(trial)
    for recorded in acts:
        record.take(recorded)
    return record.counts, record.verdicts
