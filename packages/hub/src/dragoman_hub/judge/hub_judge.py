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

from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.judge.question_forms import PERMISSION, call_id_of, option_in, refusal_of, with_call
from dragoman_hub.lending.lender import lent_request, waiting_for_people
from dragoman_hub.session.frames import encode_json, value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, act_of_request, act_of_server, fold_calls
from dragoman_local.workspace.policy.act_view import lent_call, view_of
from dragoman_local.workspace.policy.audit import AuditLog, By
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.judge import (
    LENT_OPTIONS,
    PermissionJudge,
    resolve,
    with_real_paths,
)
from dragoman_local.workspace.policy.options import choose_option, select_option, usable_options
from dragoman_local.workspace.policy.permission_prompt import PermissionChoice, PermissionPrompt, Settlement
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy import BUILT_IN, Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_files import load_policy, read_file
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.remembered_rules import RememberedRules
from dragoman_local.workspace.policy.rules import PolicyRule
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.refusals import policy_refusal
from dragoman_local.workspace.remote_access import PERMIT_METHOD

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


class OpenQuestion(Struct, kw_only=True):
    """A request for permission that waits for people: of an agent, or of the hub's own."""

    act: Act
    decision: PolicyDecision
    """Why it is asked."""
    options: Sequence[v1.PermissionOption]
    view: Raw
    """What was judged, as people are shown it."""
    shown_params: Raw | None = None
    """The request with all that was judged in it, if it does not say that itself."""
    future: asyncio.Future[PermissionChoice] | None = None
    """What waits for the answer to a question of the hub's own."""
    choice: PermissionChoice = PermissionChoice(option_id=None, by="cancel")
    """The answer, which counts when it is stored."""
    is_answered: bool = False
    """Whether a person's answer is being written down."""

    @property
    def rule(self) -> str:
        """The rule by which people are asked, if one of a file says so."""
        return "" if self.decision.rule.startswith(BUILT_IN) else self.decision.rule


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
        self.note = self._judge.note
        self._questions: dict[tuple[str, int], OpenQuestion] = {}  # by session and sequence
        self._doubted: set[tuple[str, int]] = set()  # questions whose calls may have changed
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dragoman judge")

    def turnstile(self, name: str) -> asyncio.Lock:
        """Held while something in a session is judged, or made ready to be asked."""
        return self._judge.turnstile(name)

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

    def decide(self, session: LiveSession, request: OpenRequest, calls: ToolCalls) -> Raw | OpenQuestion:
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
        self.note(act, decision, outcome="ask")
        has_always = any(option.kind == "allow_always" for option in usable_options(options))
        always = self._judge.cover_of_always(act, policy) if has_always else ""
        whole_call = fold_calls(call, known_call)
        return OpenQuestion(
            act=act,
            decision=decision,
            options=options,
            view=Raw(encode_json(view_of(act, whole_call, why=decision.why, always=always))),
            shown_params=None if known_call is None else with_call(request.params, whole_call),
        )

    def own_act(self, session: LiveSession, request: OpenRequest) -> Raw | None:
        """What a question of the hub's own is about, as people are shown it."""
        own = self._questions.get((session.id, request.sequence))
        return None if own is None else own.view

    def open(self, session: LiveSession, request: OpenRequest, question: OpenQuestion) -> None:
        """People are about to hear of it."""
        self._questions[session.id, request.sequence] = question

    def on_tool_calls(self, session: LiveSession, call_ids: Set[str]) -> None:
        """An agent has said more of these calls."""
        for request in session.state.requests.values():
            name = (session.id, request.sequence)
            if call_id_of(request) in call_ids and name not in self._doubted:
                self._doubted.add(name)  # one look is enough for all that comes before it
                self._hub.owner.start(self._withdraw_if_changed(session, request))

    async def _withdraw_if_changed(self, session: LiveSession, request: OpenRequest) -> None:
        """Refuse a question that no longer says what the agent would do: it can ask again."""
        async with self.turnstile(session.id):
            self._doubted.discard((session.id, request.sequence))
            if await self.in_thread(self._has_changed, session, request, session.calls):
                log.warning("session %s: the agent changed a call while it asked about it", session.id)
                refusal = Raw(refusal_of(request, cancel=False))
                session.settle(request.sequence, outcome="cancelled", by="hub", result=refusal)

    def _has_changed(self, session: LiveSession, request: OpenRequest, calls: ToolCalls) -> bool:
        """Whether an open question would now be about another act. Called in a thread."""
        question = self._questions.get((session.id, request.sequence))
        if question is None or question.is_answered or question.future is not None:
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
        """Write a person's answer down and keep it if it is for good, then let it take effect; whether it was
        the first. If it cannot be written, the agent hears that nothing is permitted.
        """
        settle = partial(session.settle, request.sequence, outcome="answered", by=by)
        if request.method != PERMISSION:
            return settle(result=result)
        question = self._questions.get((session.id, request.sequence))
        if question is None or question.is_answered:
            return False  # the answer of somebody else is being written
        question.is_answered = True
        choice = PermissionChoice(option_id=option_in(result), by="person", person=by)
        settlement = await self.in_thread(self._settle_choice, session, request, question, choice)
        if settlement.option != choice.option_id:
            result = Raw(write(select_option(settlement.option)))
        question.choice = replace(choice, settlement=settlement)
        async with self.turnstile(session.id):  # what the agent asks next is judged by this answer, too
            if settle(result=result):
                return True
        await self.in_thread(self._judge.take_back, question.act, settlement)  # it ended meanwhile
        if question.future is None:
            await self.in_thread(self.note, question.act, question.decision, outcome="deny", by="cancel")
        return False

    def _settle_choice(
        self, session: LiveSession, request: OpenRequest, question: OpenQuestion, choice: PermissionChoice
    ) -> Settlement:
        act, policy = question.act, self._policy(session)
        settlement = self._judge.settle_choice(act, question.decision, question.options, choice, policy)
        if request.sequence not in session.state.requests:
            self._judge.take_back(act, settlement)  # also where the hub ends before it can say so
        return settlement

    def on_end(self, session: LiveSession, request: OpenRequest, *, outcome: str, result: Raw | None) -> None:
        """A question has ended, or is about to, without an answer of a person."""
        by: By = "deadline" if outcome == "expired" else "cancel"
        question = self._questions.get((session.id, request.sequence))
        if question is not None and question.future is None:
            del self._questions[session.id, request.sequence]
            if not question.is_answered:
                self._start(self.note, question.act, question.decision, outcome="deny", by=by)
        elif question is not None:
            question.choice = PermissionChoice(option_id=option_in(result), by=by)

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
        await desk.permit(lambda: act, session.id)

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
        return self._policy_in(_setting(session).roots)

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

    def decide_about_server(
        self, server: Mapping[str, object], *, agent: str, cwd: str
    ) -> tuple[Act, PolicyDecision]:
        """What the rules about MCP servers say of one that a client names; what none names is allowed. Called
        in a thread.
        """
        act = act_of_server(
            server, ActContext(agent=agent, roots=with_real_paths([cwd]), home=policy_paths().home)
        )
        return act, self._judge.decide(act, self._policy_in([cwd]).about_servers())

    def settle_server(
        self,
        act: Act,
        decision: PolicyDecision,
        choice: PermissionChoice,
        options: Sequence[v1.PermissionOption],
    ) -> PolicyDecision:
        """Write down what was decided about it, if that is not done yet. Called in a thread."""
        if choice.settlement is not None:
            return choice.settlement.decision
        if choice.by == "policy":
            return self._judge.settle(act, decision, options, choice.option_id, by="policy").decision
        return self._judge.settle_choice(act, decision, options, choice, Policy()).decision

    def take_back(self, act: Act, decision: PolicyDecision) -> None:
        """Whoever named the server has left, and nobody needs an answer."""
        self._start(self.note, act, decision, outcome="deny", by="cancel")

    # Questions of the hub's own.

    async def ask_people(
        self, session: LiveSession, params: bytes, question: OpenQuestion, *, about: OpenRequest | None = None
    ) -> PermissionChoice:
        """Ask in the session, and wait until the answer is stored. `about` is the agent's request that waits
        for it, if one does: when that is settled, nobody needs an answer.
        """
        if about is not None and about.sequence not in session.state.requests:
            return question.choice
        question.future = asyncio.get_running_loop().create_future()
        own = session.ask_people(params)
        self._questions[session.id, own] = question
        try:
            return await question.future
        finally:
            self._questions.pop((session.id, own), None)
            session.settle(own, outcome="cancelled", by="hub")  # if nobody waits for it any more

    def on_settled(self, session: LiveSession, request: OpenRequest) -> None:
        """What came of it is stored, and takes effect."""
        question = self._questions.pop((session.id, request.sequence), None)
        if question is not None and question.future is not None and not question.future.done():
            question.future.set_result(question.choice)

    def end_turn(self, session: LiveSession) -> None:
        """What was permitted for one act ends with the turn, also for children that work in it."""
        for session_id in self._judge.grants.sessions():
            granted = self._hub.sessions.get(session_id)
            if granted is None or granted.root is session:
                self._judge.grants.forget(session_id)

    def forget(self, session_id: str) -> None:
        self._judge.grants.forget(session_id)
        for key in [
            key for key, each in self._questions.items() if key[0] == session_id and each.future is None
        ]:
            del self._questions[key]


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
            async with self._judge.turnstile(
                f"{self._session.id} asks"
            ):  # they are asked as they were judged
                params = await self._judge.in_thread(self._params, prompt)
            question = OpenQuestion(
                act=prompt.act,
                decision=prompt.decision,
                options=prompt.options,
                view=Raw(encode_json(prompt.view)),
            )
            return await self._judge.ask_people(self._session, params, question, about=self._request)

    def _params(self, prompt: PermissionPrompt) -> bytes:
        act, decision = prompt.act, prompt.decision
        self._judge.note(act, decision, outcome="ask")
        whose = LENDERS[self._lender]
        place = f"in {whose} terminal" if act.script is not None else f"through {whose} files"
        call = lent_call(act, call_id=f"hub-{self._request.sequence}", place=place)
        return encode_json(
            {
                "sessionId": self._session.id,
                "toolCall": call,
                "options": [Raw(write(option)) for option in prompt.options],
                "_meta": {"dragoman": {"about": str(self._request.sequence)}},
            }
        )


def _setting(session: LiveSession) -> ActContext:
    roots = with_real_paths([session.state.cwd, *session.state.folders])
    return ActContext(agent=session.state.agent, roots=roots, home=policy_paths().home)


def _lent_act(session: LiveSession, request: OpenRequest) -> Act | None:
    params = value_of(request.params)
    if not isinstance(params, Mapping):
        return None
    act = act_of_request(request.method, params, _setting(session), session_id=session.id)
    return None if act is None else resolve(act, reads=False)
