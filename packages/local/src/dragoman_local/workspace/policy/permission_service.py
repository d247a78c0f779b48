"""Where permissions are decided: by the policy, or by a person whom it says to ask; and always written down.

    service = PermissionService(policy, asker=asker, audit=log, agent="claude", roots=["/project"])
    client.request_permission(service.permission)
    workspace = Workspace(guard=service.guard)

A decision is in the log before it takes effect; if it cannot be written there, nothing is permitted. When a
turn is cancelled, the client answers open requests; the question to the person is taken back, and that too
is written down. What a permission request was granted is not asked again when the agent then uses the client
to do it: once, for the same change of a file or the same command, in the same turn.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, fold_calls
from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.judge import (
    LENT_OPTIONS,
    PermissionJudge,
    act_of_access,
    resolve,
    why_of,
    with_real_paths,
)
from dragoman_local.workspace.policy.options import choose_option, select_option, usable_options
from dragoman_local.workspace.policy.permission_prompt import (
    Asker,
    PermissionChoice,
    PermissionPrompt,
    Settlement,
)
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.remembered_rules import NOT_KEPT, RememberedRules
from dragoman_local.workspace.refusals import policy_refusal

KnownToolCall: TypeAlias = Callable[[str, v1.ToolCallUpdate], v1.ToolCallUpdate | None]
"""What was said before in a session about the tool call of a request."""

MOST_DENIED: Final = 1000
"""How many refusals are kept for whoever looks; the log has all."""


class _JudgedQuestion(Struct, frozen=True, kw_only=True):
    """What the policy says of an act, and what a person is to be asked by it."""

    act: Act
    decision: PolicyDecision
    options: Sequence[v1.PermissionOption]
    """Those of the agent."""
    policy: Policy = Policy()
    """What was asked by it."""
    prompt: PermissionPrompt | None = None
    own: v1.PermissionOption | None = None
    """Our own way to say yes for good, if there is one."""


class PermissionService:
    """Constructing one starts nothing. `denials` holds what was not permitted, in order."""

    def __init__(
        self,
        policy: Policy | Callable[[], Policy],
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`policy` may be a function that reads it anew for each decision, in a thread. A `judge` that others
        use as well comes instead of `audit`, `remembered_rules` and `now`. `requester_of` names the subagent
        whose session asks, and nothing for any other session. The files of an agent that `is_elsewhere` are
        another machine's, so those of this one say nothing about them.
        """
        self.policy = policy
        self.denials: deque[tuple[Act, PolicyDecision]] = deque(maxlen=MOST_DENIED)
        self._asker = asker
        self._judge = judge or PermissionJudge(audit=audit, remembered_rules=remembered_rules, now=now)
        self._tool_calls = find_tool_call
        self._requester_of = requester_of or (lambda _: "")
        self._is_elsewhere = is_elsewhere
        self._home = os.path.expanduser("~") if home is None else home
        self._default = ActContext(agent=agent, roots=with_real_paths(roots), home=self._home)
        self._sessions: dict[str, ActContext] = {}

    def open(self, session_id: str, *, roots: Sequence[str], agent: str | None = None) -> None:
        """Say where a session lives, if not where the desk does."""
        name = self._default.agent if agent is None else agent
        self._sessions[session_id] = ActContext(agent=name, roots=with_real_paths(roots), home=self._home)

    # The two doors.

    async def permission(
        self, request: v1.RequestPermissionRequest, agent: object = None
    ) -> v1.RequestPermissionResponse:
        """Answer `session/request_permission`."""
        session_id, call = request.session_id, request.tool_call
        known_call = self._tool_calls(session_id, call) if self._tool_calls is not None else None
        requester = self._requester_of(session_id)
        async with self._judge.turnstile(session_id):
            question = await asyncio.to_thread(self._judge_request, request, known_call, requester)
        return select_option((await self._answer(question)).option)

    async def guard(self, access: Access) -> None:
        """Permit an access to something that is lent, or raise."""
        await self.permit(
            lambda: self._resolve(act_of_access(access, self._setting(access.session_id))), access.session_id
        )

    async def permit(self, read_act: Callable[[], Act], session_id: str) -> None:
        """Permit the use of something that is lent, or raise. `read_act` may wait for a disk."""
        requester = self._requester_of(session_id)
        async with self._judge.turnstile(session_id):
            question = await asyncio.to_thread(
                lambda: self._judge_act(replace(read_act(), requester=requester), LENT_OPTIONS, None)
            )
        decision, option, _ = await self._answer(question)
        if option not in ("allow", "always"):
            raise policy_refusal(decision.remedy)

    def note_grant(self, request: v1.RequestPermissionRequest, option: str | None) -> None:
        """A person elsewhere has answered a request: what follows from a yes is not asked again. Blocks."""
        kinds = {each.option_id: each.kind for each in usable_options(request.options)}
        if option is not None and kinds.get(option) in ("allow_once", "allow_always"):
            act = self._act_of(request, None, self._requester_of(request.session_id))
            decision = PolicyDecision(outcome="allow", rule="", why=why_of(kinds[option], "person"))
            self._judge.settle(act, decision, request.options, option, by="person")

    def end_turn(self) -> None:
        """A turn has ended, and with it what was permitted for one act and not used."""
        self._judge.grants.clear()

    def _setting(self, session_id: str) -> ActContext:
        return self._sessions.get(session_id, self._default)

    # Deciding, in a thread.

    def _judge_request(
        self, request: v1.RequestPermissionRequest, known_call: v1.ToolCallUpdate | None, requester: str
    ) -> _JudgedQuestion:
        act = self._act_of(request, known_call, requester)
        return self._judge_act(
            act, request.options, fold_calls(request.tool_call, known_call), meta=request.meta
        )

    def _act_of(
        self, request: v1.RequestPermissionRequest, known_call: v1.ToolCallUpdate | None, requester: str
    ) -> Act:
        session_id, setting = request.session_id, self._setting(request.session_id)
        act = act_of_call(request.tool_call, setting, session_id=session_id, known_call=known_call)
        return replace(self._resolve(act), requester=requester)

    def _resolve(self, act: Act) -> Act:
        return resolve(act, reads=not self._is_elsewhere)

    def _judge_act(
        self,
        act: Act,
        options: Sequence[v1.PermissionOption],
        call: v1.ToolCallUpdate | None,
        *,
        meta: object = None,
    ) -> _JudgedQuestion:
        try:
            policy = self.policy() if callable(self.policy) else self.policy
        except PolicyError as error:  # what a person has ruled is not known, so nobody may say yes
            return _JudgedQuestion(
                act=act, decision=PolicyDecision(outcome="deny", rule="", why=str(error)), options=options
            )
        decision = self._judge.decide(act, policy)
        if decision.outcome == "deny" or (decision.outcome == "ask" and self._asker is None):
            decision = self._judge.with_remedy(act, decision, policy)
        if decision.outcome != "ask" or self._asker is None:
            return _JudgedQuestion(act=act, decision=decision, options=options)
        offered_options = tuple(usable_options(options))
        always = self._judge.cover_of_always(act, policy)
        own = None if always == NOT_KEPT else _own_always(offered_options)
        usable = offered_options if own is None else (*offered_options, own)
        if not any(option.kind == "allow_always" for option in usable):
            always = ""
        view = view_of(act, call, why=decision.why, always=always)
        prompt = PermissionPrompt(
            act=act,
            decision=decision,
            view=view,
            text=view.text,
            options=usable,
            meta=meta,
        )
        return _JudgedQuestion(
            act=act, decision=decision, options=options, policy=policy, prompt=prompt, own=own
        )

    # Answering.

    async def _answer(self, question: _JudgedQuestion) -> Settlement:
        act, decision = question.act, question.decision
        if question.prompt is not None and self._asker is not None:
            return await self._ask(self._asker, question, question.prompt)
        if decision.outcome == "ask":
            why = f"{decision.why}; it would be asked, and nobody is there"
            decision = PolicyDecision(outcome="deny", rule=decision.rule, why=why, remedy=decision.remedy)
        option = choose_option("allow" if decision.outcome == "allow" else "deny", question.options)
        settlement = await asyncio.to_thread(
            self._judge.settle, act, decision, question.options, option, by="policy"
        )
        return self._tell(act, settlement)

    async def _ask(self, asker: Asker, question: _JudgedQuestion, prompt: PermissionPrompt) -> Settlement:
        act, decision, own = question.act, question.decision, question.own
        offered_options = [option for option in prompt.options if option is not own]
        try:
            answer = await asker.ask(prompt) if offered_options else None
        except asyncio.CancelledError:
            self._judge.note(act, decision, outcome="deny", by="cancel")
            raise
        choice = answer if isinstance(answer, PermissionChoice) else PermissionChoice(option_id=answer)
        if choice.by == "cancel":
            self._judge.note(act, decision, outcome="deny", by="cancel")
            return Settlement(decision, None)
        settlement = choice.settlement
        if settlement is None:
            settlement = await asyncio.to_thread(
                self._judge.settle_choice, act, decision, prompt.options, choice, question.policy
            )
        if settlement.kept and isinstance(self.policy, Policy):
            self.policy = await asyncio.to_thread(self._judge.with_remembered, self.policy)
        if own is not None and settlement.option == own.option_id:
            # The agent hears yes, and we remember.
            settlement = settlement._replace(option=choose_option("allow", offered_options))
        return self._tell(act, settlement)

    def _tell(self, act: Act, settlement: Settlement) -> Settlement:
        """What the agent hears."""
        if settlement.decision.outcome != "allow":
            self.denials.append((act, settlement.decision))
        return settlement


def _own_always(options: Sequence[v1.PermissionOption]) -> v1.PermissionOption | None:
    """Our own way to say yes for good, where an agent has none."""
    kinds = {option.kind for option in options}
    if "allow_always" in kinds or "allow_once" not in kinds:
        return None
    option_id = "dragoman:always"
    while any(option.option_id == option_id for option in options):
        option_id += "+"
    return v1.PermissionOption(option_id=option_id, name="Yes, and remember it here", kind="allow_always")
