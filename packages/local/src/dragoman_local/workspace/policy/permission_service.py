"""Decides on permission requests: by the policy, or by a person if the policy says "ask". Every decision is
logged.

    service = PermissionService(policy, asker=asker, audit=log, agent="claude", roots=["/project"])
    client.request_permission(service.permission)
    workspace = Workspace(guard=service.guard)

A decision is in the log before it takes effect; if it cannot be written there, nothing is permitted. When a
turn is cancelled, the client answers open requests; the question to the person is taken back, and that too
is written down. What a permission request was granted is not asked again when the agent then uses the client
to do it: once, for the same change of a file or the same command, in the same turn.

    desk = LocalDesk(rules, door="run", agent="claude", roots=["/project"], user=LocalUser(permissions=asker))

A desk is all of this for one agent, or for one session of it: the policy of its folders, then its user; and a
log that has all of it. `LocalClient` brings what the agent asks for to its desk.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, fold_calls
from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, write_approve_mode
from dragoman_local.workspace.policy.decision import (
    PolicyDecision,
    choose_option,
    select_option,
    usable_options,
)
from dragoman_local.workspace.policy.elicitation import ElicitationService, FormAnswers, FormAsker, OnAnswer
from dragoman_local.workspace.policy.judge import (
    LENT_OPTIONS,
    Asker,
    PermissionChoice,
    PermissionJudge,
    PermissionPrompt,
    Settlement,
    act_of_access,
    grants_in,
    resolve,
    why_of,
    with_real_paths,
)
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_files import RememberedRules, load_policy
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.refusals import policy_refusal
from dragoman_local.workspace.settings import LocalRules, Place

KnownToolCall: TypeAlias = Callable[[str, v1.ToolCallUpdate], v1.ToolCallUpdate | None]
"""The earlier messages of a session about the tool call of a request."""

Result = TypeVar("Result")

MOST_DENIED: Final = 1000
"""The most refusals to keep; the log has all."""


class JudgedQuestion(Struct, frozen=True, kw_only=True):
    """The policy's decision on an act, and the question for a person."""

    act: Act
    decision: PolicyDecision
    options: Sequence[v1.PermissionOption]
    """The agent's options."""
    policy: Policy = Policy()
    """The policy that asked."""
    prompt: PermissionPrompt | None = None
    call: v1.ToolCallUpdate | None = None
    """All messages of the agent about the call, if it asks about one."""


class PermissionService:
    """Decides permission requests. Constructing starts nothing. `denials` lists refusals, in order."""

    def __init__(
        self,
        policy: Callable[[], Policy],
        *,
        asker: Asker | None = None,
        audit: AuditLog | None = None,
        remembered_rules: RememberedRules | None = None,
        judge: PermissionJudge | None = None,
        agent: str = "",
        roots: Sequence[str] = (),
        home: str | None = None,
        find_tool_call: KnownToolCall | None = None,
        requester_of: Callable[[str], str] | None = None,
        is_elsewhere: bool = False,
        leaves_rest: bool = False,
        lent_options: Sequence[v1.PermissionOption] = LENT_OPTIONS,
        threads: Executor | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`policy` reads it again for each decision, in a thread. A shared `judge` replaces `audit`,
        `remembered_rules` and `now`. `requester_of` names the subagent of a session; empty for any other
        session. For an agent with `is_elsewhere`, files are on another machine, so this disk is not read.
        With `leaves_rest`, another party decides about actions without a rule.
        """
        self._policy = policy
        self.denials: deque[tuple[Act, PolicyDecision]] = deque(maxlen=MOST_DENIED)
        self._asker = asker
        self._judge = judge or PermissionJudge(audit=audit, remembered_rules=remembered_rules, now=now)
        self._tool_calls = find_tool_call
        self._requester_of = requester_of or (lambda _: "")
        self._is_elsewhere = is_elsewhere
        self._leaves_rest = leaves_rest
        self._lent_options = lent_options
        self._threads = threads
        self._default = ActContext(
            agent=agent,
            roots=with_real_paths(roots),
            home=os.path.expanduser("~") if home is None else home,
        )
        self._sessions: dict[str, ActContext] = {}

    def open(self, session_id: str, *, roots: Sequence[str]) -> None:
        """Set a session's folders, if they differ from the desk's."""
        self._sessions[session_id] = replace(self._default, roots=with_real_paths(roots))

    # The two doors.

    async def permission(
        self, request: v1.RequestPermissionRequest, agent: object = None
    ) -> v1.RequestPermissionResponse:
        """Answer `session/request_permission`."""
        async with self._judge.turnstile(request.session_id):
            question = await self._in_thread(self.judge_request, request)
        return select_option((await self._answer(question)).option)

    async def guard(self, access: Access) -> None:
        """Permit an access to a file or terminal, or raise."""
        await self.permit(partial(act_of_access, access), access.session_id)

    async def permit(self, read_act: Callable[[ActContext], Act], session_id: str) -> None:
        """Permit the use of a file or terminal, or raise."""
        async with self._judge.turnstile(session_id):
            question = await self._in_thread(lambda: self.judge_lent(read_act(self.setting(session_id))))
        await self.require(question)

    def judge_lent(self, act: Act) -> JudgedQuestion:
        """Return the policy's decision about the use of a file or terminal. Called in a thread."""
        return self._judge_act(self._resolve(act), self._lent_options)

    async def require(self, question: JudgedQuestion) -> None:
        """Permit a judged access, or raise."""
        decision, option, _ = await self._answer(question)
        if option not in ("allow", "always"):
            raise policy_refusal(decision.remedy)

    def note_grant(self, request: v1.RequestPermissionRequest, option: str | None) -> None:
        """Note that a person elsewhere has answered a request: the effects of a yes are not asked again.
        Blocks.
        """
        kind = next((each.kind for each in usable_options(request.options) if each.option_id == option), None)
        if kind in ("allow_once", "allow_always"):
            act, _ = self.read_request(request)
            decision = PolicyDecision(outcome="allow", rule="", why=why_of(kind, "person"))
            self._judge.settle(act, decision, request.options, option, by="person")

    async def reconsider(self, asker: Asker | None) -> tuple[Act, str] | None:
        """Ask a person about the last denial for want of a rule, as if it were new. What is allowed is not
        done: its next try is, until the end of a turn, or always. Returns the act with `allow`, `always` or
        `deny`; None if there is no such denial.
        """
        denied = next((denied for denied in reversed(self.denials) if denied[1].remedy), None)
        if denied is None:
            return None
        self.denials.remove(denied)
        act, read = denied[0], self._policy
        desk = PermissionService(lambda: replace(read(), approve=None), asker=asker, judge=self._judge)
        # What has no file and no command, nobody could tell again.
        options = LENT_OPTIONS if grants_in(act) else LENT_OPTIONS[1:]
        decision, _, kept = await desk._answer(await self._in_thread(desk._judge_act, act, options))
        self._judge.grants.take_back(act)  # what counts is the next try, also of a request for permission
        if decision.outcome == "allow" and not kept:
            self._judge.retries.add(act)
        return act, "always" if kept else decision.outcome

    def end_turn(self) -> None:
        """End the turn, and its unused permissions for one act."""
        self._judge.grants.forget()
        self._judge.retries.forget()

    def setting(self, session_id: str) -> ActContext:
        return self._sessions.get(session_id, self._default)

    # Deciding, in a thread.

    def _in_thread(self, work: Callable[..., Result], *args: Any, **options: Any) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **options))

    def judge_request(self, request: v1.RequestPermissionRequest) -> JudgedQuestion:
        """Return the policy's decision on a permission request."""
        act, call = self.read_request(request)
        return self._judge_act(act, request.options, call, meta=request.meta)

    def read_request(self, request: v1.RequestPermissionRequest) -> tuple[Act, v1.ToolCallUpdate]:
        """Return the act of a request, with facts from the disk, and all messages about its call."""
        session_id, call = request.session_id, request.tool_call
        known_call = None if self._tool_calls is None else self._tool_calls(session_id, call)
        act = act_of_call(call, self.setting(session_id), session_id=session_id, known_call=known_call)
        return self._resolve(act), fold_calls(call, known_call)

    def _resolve(self, act: Act) -> Act:
        act = resolve(act, reads=not self._is_elsewhere)
        return replace(act, requester=self._requester_of(act.session_id))

    def _judge_act(
        self,
        act: Act,
        options: Sequence[v1.PermissionOption],
        call: v1.ToolCallUpdate | None = None,
        *,
        meta: object = None,
    ) -> JudgedQuestion:
        try:
            policy = self._policy()
        except PolicyError as error:  # what a person has ruled is not known, so nobody may say yes
            return JudgedQuestion(
                act=act, decision=PolicyDecision(outcome="deny", rule="", why=str(error)), options=options
            )
        decision = self._judge.decide(act, policy)
        if decision.outcome == "deny" or (decision.outcome == "ask" and self._asker is None):
            decision = self._judge.with_remedy(act, decision, policy)
        is_free = decision.outcome == "ask" and not (decision.is_rule or decision.needs_person)
        if is_free and self._leaves_rest:
            why = "no rule covers this, so the client decides"
            decision = PolicyDecision(outcome="allow", rule=decision.rule, why=why)
        # Where no option says yes for once, people decide which one is meant.
        is_told = decision.outcome == "allow" and choose_option("allow", options) is not None
        if self._asker is None or decision.outcome == "deny" or is_told:
            return JudgedQuestion(act=act, decision=decision, options=options)
        usable, own, always = self._judge.offer(act, options, policy)
        view = view_of(act, call, why=decision.why, always=always)
        prompt = PermissionPrompt(act=act, decision=decision, view=view, options=usable, own=own, meta=meta)
        return JudgedQuestion(
            act=act, decision=decision, options=options, policy=policy, prompt=prompt, call=call
        )

    # Answering.

    async def _answer(self, question: JudgedQuestion) -> Settlement:
        if question.prompt is None or self._asker is None:
            settlement = await self._in_thread(self.settle, question)
        else:
            settlement = await self._ask(self._asker, question, question.prompt)
        if settlement.decision.outcome != "allow":
            self.denials.append((question.act, settlement.decision))
        return settlement

    def settle(self, question: JudgedQuestion) -> Settlement:
        """Store the decision if no person is asked. Blocks."""
        decision = question.decision
        if decision.outcome == "ask":
            why = f"{decision.why}, and nobody can answer here"
            decision = PolicyDecision(outcome="deny", rule=decision.rule, why=why, remedy=decision.remedy)
        option = choose_option("allow" if decision.outcome == "allow" else "deny", question.options)
        return self._judge.settle(question.act, decision, question.options, option, by="policy")

    async def _ask(self, asker: Asker, question: JudgedQuestion, prompt: PermissionPrompt) -> Settlement:
        note_end = partial(self._judge.note, question.act, question.decision, outcome="deny", by="cancel")
        try:
            answer = await asker(prompt) if prompt.options else None
        except asyncio.CancelledError:
            note_end()
            raise
        choice = answer if isinstance(answer, PermissionChoice) else PermissionChoice(option_id=answer)
        if choice.by == "cancel":
            return Settlement(note_end(), None)
        if choice.settlement is not None:
            return choice.settlement
        return await self._in_thread(self._judge.settle_choice, prompt, choice, question.policy)


# One agent's desk.


class LocalUser(Struct, frozen=True, kw_only=True):
    """The user who answers an agent's questions; if it is None, the policy decides alone."""

    permissions: Asker | None = None
    forms: FormAsker | None = None


NOBODY = LocalUser()


class LocalDesk:
    """Answers permission requests and questions. Constructing asks nothing; it logs the questions that the
    command line has answered.
    """

    def __init__(
        self,
        rules: LocalRules,
        *,
        agent: str,
        door: str = "",
        roots: Sequence[str] = (),
        user: LocalUser = NOBODY,
        audit: AuditLog | None = None,
        answers: FormAnswers | None = None,
        on_answer: OnAnswer | None = None,
        on_open: Callable[[dict[str, Any]], None] | None = None,
        place: Place = "there",
        find_tool_call: KnownToolCall | None = None,
        requester_of: Callable[[str], str] | None = None,
    ) -> None:
        """`agent` is its name for rules, `door` the command whose options are logged. A `LocalClient` knows
        its place, calls and requesters. With files on another machine, no answer is kept for always: it would
        apply to an agent of the same name here.
        """
        self.roots = roots
        if door:
            write_approve_mode(door, rules.approve, agent=agent)
        self.permissions = PermissionService(
            partial(load_policy, roots=roots, file=rules.policy, approve=rules.approve),
            asker=user.permissions,
            audit=audit or AuditLog(policy_paths().audit),
            remembered_rules=None if place == "there" else RememberedRules(policy_paths().remembered_file),
            agent=agent,
            roots=roots,
            find_tool_call=find_tool_call,
            requester_of=requester_of,
            is_elsewhere=place == "there",
        )
        self.questions = ElicitationService(
            answers=answers,
            asker=user.forms,
            agent=agent,
            on_answer=on_answer,
            on_open=on_open,
            requester_of=requester_of,
        )


class ReportedAuditLog(AuditLog):
    """Also reports every line, and failures to write, to the event loop that made it."""

    def __init__(self, *, on_entry: Callable[[AuditEntry], None], on_failure: Callable[[str], None]) -> None:
        super().__init__(policy_paths().audit)
        self._tell = asyncio.get_running_loop().call_soon_threadsafe
        self._on_entry, self._on_failure = on_entry, on_failure
        self._has_failed = False

    def append(self, line: AuditEntry) -> None:
        try:
            super().append(line)
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                why = f"the audit log {self.path} cannot be written ({error.strerror or error})"
                self._tell(
                    self._on_failure,
                    f"{why}, so nothing is permitted; set XDG_STATE_HOME to a folder where it can be",
                )
            raise  # what is not written down is not permitted
        self._has_failed = False
        self._tell(self._on_entry, line)
