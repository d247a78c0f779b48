"""What an agent may do through the hub: decided by the judge that `run` and `chat` use (docs/policy.md).

An agent's request for permission is answered by a rule, or opened for people; either is in the audit log
before anybody hears of it, and so is what people answer. What an agent wants of lent files and terminals is
decided before it is done, whoever lends. Where the judge says `ask`, the hub asks people itself: its question
is a request for permission in the session's stream, which every client and the inbox show like one of the
agent's. The effect waits until the answer is stored, so an open question means that nothing was done.

Policies are read, paths looked up, rules applied and lines written in threads of the judge's own: a slow disk
holds up the session whose question needs it, and nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from dragoman.hub.engine.live_session import EngineHub, LiveSession
from dragoman.hub.judge.question_forms import PERMISSION, call_id_of, option_in, refusal_of, with_call
from dragoman.hub.lending.lender import lent_request, waiting_for_people
from dragoman.hub.session.frames import encode_json, value_of
from dragoman.hub.session.state import OpenRequest
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.workspace.lent_files import Access
from dragoman.workspace.policy.act import Act, ActContext
from dragoman.workspace.policy.act_reader import act_of_call, act_of_request, fold_calls
from dragoman.workspace.policy.act_view import ActView, lent_call, view_of
from dragoman.workspace.policy.audit import AuditLog, By
from dragoman.workspace.policy.decision import PolicyDecision
from dragoman.workspace.policy.judge import LENT_OPTIONS, PermissionJudge, resolve, with_real_paths
from dragoman.workspace.policy.options import choose_option, select_option, usable_options
from dragoman.workspace.policy.permission_prompt import PermissionChoice, PermissionPrompt
from dragoman.workspace.policy.permission_service import PermissionService, policy_refusal, why_of
from dragoman.workspace.policy.policy import BUILT_IN, Policy, PolicyLayer
from dragoman.workspace.policy.policy_files import load_policy, read_file
from dragoman.workspace.policy.policy_parser import PolicyError
from dragoman.workspace.policy.policy_paths import policy_paths
from dragoman.workspace.policy.remembered_rules import RememberedRules
from dragoman.workspace.policy.rules import PolicyRule
from dragoman.workspace.policy.tool_calls import ToolCalls
from dragoman.workspace.remote_access import PERMIT_METHOD

log = logging.getLogger(__name__)

THREADS: Final = 8
"""Questions that are judged at a time. One that waits for a disk takes one of them."""

CLOSE_SECONDS: Final = 5.0
"""How long the end of a hub waits for lines of the audit log."""

Result = TypeVar("Result")

Lender: TypeAlias = Literal["hub", "client", "other side"]
LENDERS: Final[dict[Lender, str]] = {
    "hub": "the hub's",
    "client": "the client's",
    "other side": "the other side's",
}


class AgentQuestion(Struct, frozen=True, kw_only=True):
    """A request for permission that waits for people."""

    act: Act
    decision: PolicyDecision
    """Why it is asked."""
    options: list[v1.PermissionOption]
    view: Raw
    """What was judged, as people are shown it."""
    shown_params: Raw | None
    """The request with all that was judged in it, if it does not say that itself."""

    @property
    def rule(self) -> str:
        """The rule by which people are asked, if one of a file says so."""
        return "" if self.decision.rule.startswith(BUILT_IN) else self.decision.rule


class HubQuestion(Struct, kw_only=True):
    """A question of the hub's own, and who waits for its answer."""

    future: asyncio.Future[PermissionChoice]
    view: Raw
    """What was judged, as people are shown it."""
    choice: PermissionChoice | None = None
    """The answer, which counts when it is stored."""


class HubJudge:
    """One policy for all sessions of a hub; the project's and the user's stand behind it. The hub's file is
    read when the hub starts and when it is told to: a mistake in it changes nothing until it is mended.
    """

    def __init__(self, hub: EngineHub, *, file: str, audit: AuditLog | None) -> None:
        """Raises `PolicyError` for a file that cannot be used."""
        self._hub = hub
        self._file = file
        self._rules = read_file(file) if file else None
        self._judge = PermissionJudge(
            audit=audit, remembered_rules=RememberedRules(policy_paths().remembered_file)
        )
        self._agents: dict[tuple[str, int], AgentQuestion] = {}  # by session and sequence
        self._own: dict[tuple[str, int], HubQuestion] = {}
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dragoman judge")

    def turnstile(self, session_id: str) -> asyncio.Lock:
        """Held while something in a session is judged."""
        return self._judge.turnstile(session_id)

    def asking(self, session_id: str) -> asyncio.Lock:
        """Held while a question of the hub's own is made ready: they are asked as they were judged."""
        return self._judge.turnstile(f"{session_id} asks")

    async def in_thread(self, work: Callable[..., Result], *args: Any, **options: Any) -> Result:
        """Do something that may wait for a disk."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(work, *args, **options))

    def _start(self, work: Callable[..., None], *args: Any, **options: Any) -> None:
        """The same for what nobody waits for."""
        asyncio.get_running_loop().run_in_executor(self.threads, partial(work, *args, **options))

    async def aclose(self) -> None:
        """Let lines be written that are on their way."""
        closing = asyncio.to_thread(self.threads.shutdown)
        try:
            await asyncio.wait_for(closing, CLOSE_SECONDS)
        except TimeoutError:
            log.warning("the audit log, or a policy, could not be reached: some decisions may have no line")

    def load(self, file: str) -> None:
        """Read the hub's policy anew. Raises `PolicyError`, and then the old one holds."""
        self._rules = read_file(file) if file else None
        self._file = file

    # What agents ask themselves.

    def decide(self, session: LiveSession, request: OpenRequest, calls: ToolCalls) -> Raw | AgentQuestion:
        """The answer of the rules to a request for permission, or the question for people; either is in the
        audit log then. `check_question` has read the request. Called in a thread.
        """
        permission = read(request.params, v1.RequestPermissionRequest)
        call, options = permission.tool_call, permission.options
        known_call = calls.find_call(session.id, call)
        act = act_of_call(call, _setting(session), session_id=session.id, known_call=known_call)
        act, policy = resolve(act), self._policy(session)
        decision = self._judge.decide(act, policy)
        if decision.outcome != "ask":
            option = choose_option("allow" if decision.outcome == "allow" else "deny", options)
            # Where no option says yes for once, people decide which one is meant.
            if option is not None or decision.outcome == "deny":
                settlement = self._judge.settle(act, decision, options, option, by="policy")
                return Raw(write(select_option(settlement.option)))
        self.write(act, decision, outcome="ask", why=decision.why, by="policy")
        has_always = any(option.kind == "allow_always" for option in usable_options(options))
        always = self._judge.cover_of_always(act, policy) if has_always else ""
        whole_call = fold_calls(call, known_call)
        return AgentQuestion(
            act=act,
            decision=decision,
            options=options,
            view=Raw(encode_json(view_of(act, whole_call, why=decision.why, always=always))),
            shown_params=None if known_call is None else with_call(request.params, whole_call),
        )

    def own_act(self, session: LiveSession, request: OpenRequest) -> Raw | None:
        """What a question of the hub's own is about, as people are shown it."""
        own = self._own.get((session.id, request.sequence))
        return None if own is None else own.view

    def open(self, session: LiveSession, request: OpenRequest, question: AgentQuestion) -> None:
        """People are about to hear of it."""
        self._agents[session.id, request.sequence] = question

    def on_tool_calls(self, session: LiveSession, call_ids: Set[str]) -> None:
        """An agent has said more of these calls."""
        for request in session.state.requests.values():
            if call_id_of(request) in call_ids:
                self._hub.owner.start(self._withdraw_if_changed(session, request))

    async def _withdraw_if_changed(self, session: LiveSession, request: OpenRequest) -> None:
        """Refuse a question that no longer says what the agent would do: it can ask again."""
        async with self.turnstile(session.id):
            if await self.in_thread(self._has_changed, session, request, session.calls):
                log.warning("session %s: the agent changed a call while it asked about it", session.id)
                refusal = Raw(refusal_of(request, cancel=False))
                session.settle(request.sequence, outcome="cancelled", by="hub", result=refusal)

    def _has_changed(self, session: LiveSession, request: OpenRequest, calls: ToolCalls) -> bool:
        """Whether an open question would now be about another act. Called in a thread."""
        question = self._agents.get((session.id, request.sequence))
        if question is None:
            return False
        call = read(request.params, v1.RequestPermissionRequest).tool_call
        known_call = calls.find_call(session.id, call)
        act = act_of_call(call, _setting(session), session_id=session.id, known_call=known_call)
        before, after = (
            replace(each, kind="", tool="", title="", possible_places=())
            for each in (question.act, resolve(act))
        )
        return before != after

    async def answer(
        self, session: LiveSession, request: OpenRequest, *, by: str, result: Raw | None
    ) -> bool:
        """Write a person's answer down, then let it take effect; whether it was the first. If it cannot be
        written, the agent hears that nothing is permitted.
        """
        settle = partial(session.settle, request.sequence, outcome="answered", by=by)
        key = (session.id, request.sequence)
        own = self._own.get(key)
        if own is not None:
            own.choice = PermissionChoice(option_id=option_in(result), by="person", person=by)
        if request.method != PERMISSION or request.is_own:
            return settle(result=result)
        question = self._agents.pop(key, None)
        if question is None:
            return False  # the answer of somebody else is being written
        option = option_in(result)
        usable = usable_options(question.options)
        kind = next((candidate.kind for candidate in usable if candidate.option_id == option), None)
        verdict: Literal["allow", "deny"] = "allow" if kind in ("allow_once", "allow_always") else "deny"
        decision = PolicyDecision(outcome=verdict, rule=question.decision.rule, why=why_of(kind, "person"))
        settlement = await self.in_thread(
            self._judge.settle,
            question.act,
            decision,
            question.options,
            option if kind is not None else None,
            by="person",
            person=by,
        )
        is_written = settlement.decision.outcome == verdict
        async with self.turnstile(session.id):  # what the agent asks next is judged by this answer, too
            if not settle(result=result if is_written else Raw(write(select_option(settlement.option)))):
                self._judge.take_back(question.act)  # it ended meanwhile
                await self.in_thread(self._write_end, question, "cancel")
                return False
            if is_written and kind in ("allow_always", "reject_always"):
                policy = await self.in_thread(self._policy, session)
                await self.in_thread(self._judge.remember, question.act, verdict, policy)
        return True

    def on_end(self, session: LiveSession, request: OpenRequest, *, outcome: str, result: Raw | None) -> None:
        """A question has ended, or is about to, without an answer of a person."""
        by: By = "deadline" if outcome == "expired" else "cancel"
        own = self._own.get((session.id, request.sequence))
        if own is not None:
            own.choice = PermissionChoice(option_id=option_in(result), by=by)
        question = self._agents.pop((session.id, request.sequence), None)
        if question is not None:
            self._start(self._write_end, question, by)

    def _write_end(self, question: AgentQuestion, by: By) -> None:
        self.write(question.act, question.decision, outcome="deny", why=why_of(None, by), by=by)

    def write(
        self, act: Act, decision: PolicyDecision, *, outcome: Literal["ask", "deny"], why: str, by: By
    ) -> None:
        """Write down what permits nothing: it holds also where it cannot be written."""
        try:
            line = PolicyDecision(outcome=outcome, rule=decision.rule, why=why)
            self._judge.write(act, line, by=by, option=None)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")

    # What agents want of lent files and terminals.

    async def guard(self, access: Access) -> None:
        """Permit what the hub is about to do for an agent, or raise: a `Guard` of the hub's workspace."""
        request = lent_request.get()
        session = self._hub.sessions.get(access.session_id)
        if session is None:  # it was closed meanwhile
            raise policy_refusal()
        lender: Lender = "other side" if request.method == PERMIT_METHOD else "hub"
        desk = await self.in_thread(self._desk, session, request, lender=lender)
        await desk.guard(access)
        if request.sequence not in session.state.requests:  # its turn has ended meanwhile
            raise policy_refusal()

    def decide_for_client(
        self, session: LiveSession, request: OpenRequest
    ) -> Literal["allow", "ask", "deny"]:
        """What holds for files and terminals that a client lends: rules that deny, and rules that ask. What
        no rule names is left to the client, which has a person of its own. Called in a thread.
        """
        act = _lent_act(session, request)
        if act is None:
            return "allow"
        decision = self._judge.decide(act, self._policy(session))
        if decision.outcome == "ask":
            return "ask" if decision.is_rule or decision.needs_person else "allow"
        option = choose_option("allow" if decision.outcome == "allow" else "deny", LENT_OPTIONS)
        settlement = self._judge.settle(act, decision, LENT_OPTIONS, option, by="policy")
        return "allow" if settlement.decision.outcome == "allow" else "deny"

    async def permit_for_client(self, session: LiveSession, request: OpenRequest) -> None:
        """Ask people about something that a client lends; raises if they do not permit it."""
        act = await self.in_thread(_lent_act, session, request)
        assert act is not None  # else nothing was to be asked
        desk = await self.in_thread(self._desk, session, request, lender="client")
        await desk.permit(act)

    def _desk(self, session: LiveSession, request: OpenRequest, *, lender: Lender) -> PermissionService:
        setting = _setting(session)
        return PermissionService(
            self._policy(session),
            asker=SessionAsker(self, session, request, lender=lender),
            judge=self._judge,
            agent=setting.agent,
            roots=setting.roots,
            home=setting.home,
        )

    def _policy(self, session: LiveSession) -> Policy:
        return self._policy_in(_roots(session))

    def _policy_in(self, roots: Sequence[str]) -> Policy:
        """The policy that holds in these folders. Where a file of the project or the user cannot be used, the
        hub's own rules deny what they deny, and people are asked about everything else.
        """
        try:
            return load_policy(roots=roots, file=self._file or None, rules=self._rules)
        except (PolicyError, ValueError, OSError) as error:
            log.warning("people are asked about everything in %s: %s", roots[0], error)
            denials = [rule for rule in self._rules.rules if rule.decision == "deny"] if self._rules else []
            # A rule, because it also holds for what clients lend: a default would be left to them.
            everything = PolicyRule(decision="ask", source=str(error))
            return Policy(layers=(PolicyLayer(name=self._file, rules=(*denials, everything)),))

    # What clients bring along.

    def decide_about_server(self, act: Act, *, cwd: str) -> PolicyDecision:
        """What the rules about MCP servers say of one that a client names; what none names is allowed. Called
        in a thread.
        """
        return self._judge.decide(act, self._policy_in([cwd]).about_servers())

    async def settle_server(
        self,
        act: Act,
        decision: PolicyDecision,
        choice: PermissionChoice,
        options: Sequence[v1.PermissionOption],
    ) -> bool:
        """Write down what was decided about it; whether it is permitted."""
        settlement = await self.in_thread(
            self._judge.settle,
            act,
            decision,
            options,
            choice.option_id,
            by=choice.by,
            person=choice.person,
        )
        return settlement.decision.outcome == "allow"

    def take_back(self, act: Act, decision: PolicyDecision) -> None:
        """Whoever named the server has left, and nobody needs an answer."""
        why = why_of(None, "cancel")
        self._start(self.write, act, decision, outcome="deny", why=why, by="cancel")

    # Questions of the hub's own.

    async def ask_people(
        self, session: LiveSession, params: bytes, *, view: ActView, about: OpenRequest | None = None
    ) -> PermissionChoice:
        """Ask in the session, and wait until the answer is stored. `view` is what was judged; `about` is the
        agent's request that waits for it, if one does: when that is settled, nobody needs an answer.
        """
        if about is not None and about.sequence not in session.state.requests:
            return PermissionChoice(option_id=None, by="cancel")
        future: asyncio.Future[PermissionChoice] = asyncio.get_running_loop().create_future()
        own = session.ask_people(params)
        self._own[session.id, own] = HubQuestion(future=future, view=Raw(encode_json(view)))
        try:
            return await future
        finally:
            self._own.pop((session.id, own), None)
            session.settle(own, outcome="cancelled", by="hub")  # if nobody waits for it any more

    def on_settled(self, session: LiveSession, request: OpenRequest) -> None:
        """What came of it is stored, and takes effect."""
        own = self._own.pop((session.id, request.sequence), None)
        if own is not None and not own.future.done():
            own.future.set_result(own.choice or PermissionChoice(option_id=None, by="cancel"))

    def end_turn(self, session: LiveSession) -> None:
        """What was permitted for one act ends with the turn, also for children that work in it."""
        for session_id in self._judge.granted_sessions():
            granted = self._hub.sessions.get(session_id)
            if granted is None or granted.root is session:
                self._judge.forget(session_id)

    def forget(self, session_id: str) -> None:
        self._judge.forget(session_id)
        for key in [key for key in self._agents if key[0] == session_id]:
            del self._agents[key]


class SessionAsker:
    """An `Asker`: everybody who follows a session of the hub, and the inbox."""

    def __init__(
        self, judge: HubJudge, session: LiveSession, request: OpenRequest, *, lender: Lender
    ) -> None:
        self._judge = judge
        self._session = session
        self._request = request
        self._lender = lender

    async def ask(self, prompt: PermissionPrompt) -> PermissionChoice:
        async with waiting_for_people():
            async with self._judge.asking(self._session.id):
                params = await self._judge.in_thread(self._params, prompt)
            return await self._judge.ask_people(self._session, params, view=prompt.view, about=self._request)

    def _params(self, prompt: PermissionPrompt) -> bytes:
        act, decision = prompt.act, prompt.decision
        self._judge.write(act, decision, outcome="ask", why=decision.why, by="policy")
        whose = LENDERS[self._lender]
        place = f"in {whose} terminal" if act.script is not None else f"through {whose} files"
        call = lent_call(act, prompt.texts, call_id=f"hub-{self._request.sequence}", place=place)
        return encode_json(
            {
                "sessionId": self._session.id,
                "toolCall": call,
                "options": [Raw(write(option)) for option in prompt.options],
                "_meta": {"dragoman": {"about": str(self._request.sequence)}},
            }
        )


def _roots(session: LiveSession) -> list[str]:
    return [session.state.cwd, *session.state.folders]


def _setting(session: LiveSession) -> ActContext:
    return ActContext(
        agent=session.state.agent, roots=with_real_paths(_roots(session)), home=policy_paths().home
    )


def _lent_act(session: LiveSession, request: OpenRequest) -> Act | None:
    params = value_of(request.params)
    if not isinstance(params, Mapping):
        return None
    act = act_of_request(request.method, params, _setting(session), session_id=session.id)
    return None if act is None else resolve(act, reads=False)
