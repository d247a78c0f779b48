"""Decides what an agent may do through the hub, with the judge of `run` and `chat` (docs/policy.md).

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
import json
import logging
from collections.abc import Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.schema.v1.methods import METHODS
from dragoman.wire.codes import INVALID_PARAMS
from dragoman_hub.engine.live_session import EngineHub, LiveSession
from dragoman_hub.lending.lender import lent_request, waiting_for_people
from dragoman_hub.session.frames import encode_json, object_of, value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_reader import act_of_request
from dragoman_local.workspace.policy.act_view import lent_call
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, By
from dragoman_local.workspace.policy.decision import choose_option, is_contradiction, select_option
from dragoman_local.workspace.policy.judge import (
    Asker,
    PermissionChoice,
    PermissionJudge,
    PermissionPrompt,
    Settlement,
    with_real_paths,
)
from dragoman_local.workspace.policy.permission_service import JudgedQuestion, PermissionService
from dragoman_local.workspace.policy.policy import BUILT_IN, Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_files import RememberedRules, load_policy, read_file
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.rules import PolicyRule
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.refusals import policy_refusal
from dragoman_local.workspace.remote_access import PERMIT_METHOD

log = logging.getLogger(__name__)

PERMISSION: Final = "session/request_permission"

EMPTY: Final = frozenset({b"null", b"[]", b"{}"})

THREADS: Final = 8
"""The most simultaneous judgements. One that waits for a disk takes one of them."""

CLOSE_SECONDS: Final = 5.0
"""The seconds that the end of a hub waits for lines of the audit log."""

Result = TypeVar("Result")


class OpenQuestion(Struct, kw_only=True):
    """A permission request that waits for people: of an agent, or of the hub itself."""

    prompt: PermissionPrompt
    shown_params: Raw | None = None
    """The request with everything that was judged in it, if it does not contain that itself."""
    future: asyncio.Future[PermissionChoice] | None = None
    """The waiter for the answer to a question of the hub itself."""
    choice: PermissionChoice = PermissionChoice(option_id=None, by="cancel")
    """The answer, which counts after it is stored."""
    is_answered: bool = False
    """Whether a person's answer is being stored."""

    @property
    def rule(self) -> str:
        """The rule of a file by which people are asked, if there is one."""
        rule = self.prompt.decision.rule
        return "" if rule.startswith(BUILT_IN) else rule


class HubJudge:
    """One policy for all sessions of a hub, before those of the project and the user. The hub's file is read
    at its start and on request: a mistake in it changes nothing until it is fixed.
    """

    def __init__(
        self,
        hub: EngineHub,
        *,
        file: str,
        audit: AuditLog | None,
        on_line: Callable[[Act, AuditEntry], object],
    ) -> None:
        """Raises `PolicyError` for an invalid file."""
        self._hub = hub
        self.load(file)
        self._judge = PermissionJudge(
            audit=audit,
            remembered_rules=RememberedRules(policy_paths().remembered_file),
            on_line=on_line,
        )
        self.note = self._judge.note
        self.turnstile = self._judge.turnstile
        self._questions: dict[tuple[str, int], OpenQuestion] = {}  # by session and sequence
        self._doubted: set[tuple[str, int]] = set()  # questions whose calls may have changed
        self._untold: dict[str, dict[str, Act]] = {}  # next tries that a session's agent is not told of yet
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dragoman judge")

    async def in_thread(self, work: Callable[..., Result], *args: Any, **options: Any) -> Result:
        """Run a function that may wait for a disk."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, partial(work, *args, **options))

    async def aclose(self) -> None:
        """Wait until the open lines are written."""
        try:
            await asyncio.wait_for(asyncio.to_thread(self.threads.shutdown), CLOSE_SECONDS)
        except (TimeoutError, RuntimeError):  # of the second kind: no thread can be started
            log.warning("the audit log, or a policy, could not be reached: some decisions may have no line")

    def load(self, file: str) -> None:
        """Read the hub's policy again. Raises `PolicyError`; then the old one stays."""
        self._rules = read_file(file) if file else None
        self._file = file

    # What agents ask themselves.

    def decide(self, session: LiveSession, request: OpenRequest, calls: ToolCalls) -> Raw | OpenQuestion:
        """Return the rules' answer to a permission request, or the question for people, after writing either
        to the audit log. `check_question` has read the request. Called in a thread.
        """
        permission = _permission(session, request)
        desk = self._desk(session, request, find_tool_call=calls.find_call)
        question = desk.judge_request(permission)
        prompt, call = question.prompt, question.call
        if prompt is None:
            return Raw(write(select_option(desk.settle(question).option)))
        self.note(prompt.act, prompt.decision, outcome="ask")
        if call is None or (call is permission.tool_call and prompt.own is None):
            return OpenQuestion(prompt=prompt)
        return OpenQuestion(prompt=prompt, shown_params=with_call(request.params, call, prompt.own))

    def prompt_of(self, session: LiveSession, request: OpenRequest) -> PermissionPrompt | None:
        """Return the question for people, if it is a permission request."""
        question = self._questions.get((session.id, request.sequence))
        return None if question is None else question.prompt

    def open(self, session: LiveSession, request: OpenRequest, question: OpenQuestion) -> None:
        """Open a question before people see it."""
        self._questions[session.id, request.sequence] = question

    def on_tool_calls(self, session: LiveSession, call_ids: Set[str]) -> None:
        """Handle further messages of an agent about these calls."""
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
        act, _ = self._desk(session, request, find_tool_call=calls.find_call).read_request(
            _permission(session, request)
        )
        before, after = (
            replace(each, kind="", tool="", title="", possible_places=())
            for each in (question.prompt.act, act)
        )
        return before != after

    async def answer(
        self, session: LiveSession, request: OpenRequest, *, by: str, result: Raw | None
    ) -> bool:
        """Store a person's answer, remember it if it is for always, then apply it; return whether it was the
        first. If storing fails, the agent gets a denial.
        """
        settle = partial(session.settle, request.sequence, outcome="answered", by=by)
        if request.method != PERMISSION:
            return settle(result=result)
        question = self._questions.get((session.id, request.sequence))
        if question is None or question.is_answered:
            return False  # the answer of somebody else is being written
        question.is_answered = True
        choice = PermissionChoice(option_id=option_in(result), by="person", person=by)
        settlement = await self.in_thread(self._settle_choice, session, request, question.prompt, choice)
        if settlement.option != choice.option_id:
            result = Raw(write(select_option(settlement.option)))
        question.choice = replace(choice, settlement=settlement)
        async with self.turnstile(session.id):  # what the agent asks next is judged by this answer, too
            if settle(result=result):
                return True
        act, decision = question.prompt.act, question.prompt.decision
        await self.in_thread(self._judge.take_back, act, settlement)  # it ended meanwhile
        if question.future is None:
            await self.in_thread(self.note, act, decision, outcome="deny", by="cancel")
        return False

    def _settle_choice(
        self, session: LiveSession, request: OpenRequest, prompt: PermissionPrompt, choice: PermissionChoice
    ) -> Settlement:
        settlement = self._judge.settle_choice(prompt, choice, self.policy_in(prompt.act.roots))
        if request.sequence not in session.state.requests:
            self._judge.take_back(prompt.act, settlement)  # also where the hub ends before it can say so
        return settlement

    def on_end(self, session: LiveSession, request: OpenRequest, *, outcome: str, result: Raw | None) -> None:
        """Handle the end of a question without a person's answer."""
        by: By = "deadline" if outcome == "expired" else "cancel"
        question = self._questions.get((session.id, request.sequence))
        if question is not None and question.future is None:
            prompt = self._questions.pop((session.id, request.sequence)).prompt
            if not question.is_answered:
                self._judge.grants.take_back(prompt.act)  # what the agent hears is a no
                # Written down; if time ran out, with what would allow it next time.
                settle = partial(self._settle_choice, session, request, prompt)
                choice = PermissionChoice(option_id=None, by=by)
                asyncio.get_running_loop().run_in_executor(self.threads, settle, choice)
        elif question is not None:
            question.choice = PermissionChoice(option_id=option_in(result), by=by)

    # What agents want of lent files and terminals.

    async def guard(self, access: Access) -> None:
        """Permit an action of the hub for an agent, or raise: a `Guard` of the hub's workspace."""
        request = lent_request.get()
        session = self._hub.sessions.get(access.session_id)
        if session is None:  # it was closed meanwhile
            raise policy_refusal()
        lender = "the other side" if request.method == PERMIT_METHOD else "the hub"
        desk = await self.in_thread(self._desk, session, request, lender=lender)
        await desk.guard(access)
        if request.sequence not in session.state.requests:  # its turn has ended meanwhile
            raise policy_refusal()

    def lent_question(
        self, session: LiveSession, request: OpenRequest
    ) -> tuple[PermissionService, JudgedQuestion] | None:
        """Return the rules for files and terminals of a client: those that deny or ask. Without a rule the
        client decides, which has its own user. None if it is not an action. Called in a thread.
        """
        params = value_of(request.params)
        desk = self._desk(session, request, lender="the client", is_elsewhere=True, leaves_rest=True)
        act = (
            act_of_request(request.method, params, desk.setting(session.id), session_id=session.id)
            if isinstance(params, dict)
            else None
        )
        return None if act is None else (desk, desk.judge_lent(act))

    def _desk(
        self, session: LiveSession, request: OpenRequest, *, lender: str = "the hub", **options: Any
    ) -> PermissionService:
        roots = with_real_paths([session.state.cwd, *session.state.folders])
        asker = partial(self._ask_in_session, session, request, lender)
        return self.desk(
            partial(self.policy_in, roots), asker, agent=session.state.agent, roots=roots, **options
        )

    def desk(self, policy: Callable[[], Policy], asker: Asker, **options: Any) -> PermissionService:
        """Decides about files, terminals and servers that the hub or a client provides. Called in a
        thread.
        """
        return PermissionService(policy, asker=asker, judge=self._judge, threads=self.threads, **options)

    def policy_in(self, roots: Sequence[str]) -> Policy:
        """Return the policy for these folders. If a file of the project or the user is invalid, the hub's own
        denials stay, and people are asked about everything else.
        """
        try:
            return load_policy(roots=roots, file=self._file or None, rules=self._rules)
        except (PolicyError, ValueError, OSError) as error:
            log.warning("people are asked about everything in %s: %s", roots[0], error)
            denials = [rule for rule in self._rules.rules if rule.decision == "deny"] if self._rules else []
            # A rule, because it also holds for what clients lend: a default would be left to them.
            return Policy(
                layers=(
                    PolicyLayer(
                        name=self._file, rules=(*denials, PolicyRule(decision="ask", source=str(error)))
                    ),
                )
            )

    # Questions of the hub's own.

    async def _ask_in_session(
        self, session: LiveSession, request: OpenRequest, lender: str, prompt: PermissionPrompt
    ) -> PermissionChoice:
        """An `Asker`: everybody who follows the session, and the inbox."""
        async with waiting_for_people():
            async with self.turnstile(f"{session.id} asks"):  # they are asked as they were judged
                params = await self.in_thread(self._lent_params, request, lender, prompt)
            return await self.ask_people(session, params, prompt, about=request)

    def _lent_params(self, request: OpenRequest, lender: str, prompt: PermissionPrompt) -> bytes:
        act = prompt.act
        self.note(act, prompt.decision, outcome="ask")
        place = f"in {lender}'s terminal" if act.script is not None else f"through {lender}'s files"
        return encode_json(
            {
                "sessionId": act.session_id,
                "toolCall": lent_call(act, call_id=f"hub-{request.sequence}", place=place),
                "options": [Raw(write(option)) for option in prompt.options],
                "_meta": {"dragoman": {"about": str(request.sequence)}},
            }
        )

    async def ask_people(
        self,
        session: LiveSession,
        params: bytes,
        prompt: PermissionPrompt,
        *,
        about: OpenRequest | None = None,
    ) -> PermissionChoice:
        """Ask in the session, and wait until the answer is stored. `about` is the agent's request that waits
        for it, if any: when that is settled, the answer is not needed any more.
        """
        future: asyncio.Future[PermissionChoice] = asyncio.get_running_loop().create_future()
        question = OpenQuestion(prompt=prompt, future=future)
        if about is not None and about.sequence not in session.state.requests:
            return question.choice
        own = session.ask_people(params)
        self._questions[session.id, own] = question
        try:
            return await future
        finally:
            self._questions.pop((session.id, own), None)
            session.settle(own, outcome="cancelled", by="hub")  # if nobody waits for it any more

    def on_settled(self, session: LiveSession, request: OpenRequest) -> None:
        """Apply a stored decision."""
        question = self._questions.pop((session.id, request.sequence), None)
        if question is not None and question.future is not None and not question.future.done():
            question.future.set_result(question.choice)

    def allow_retry(self, session: LiveSession, act: Act, what: str) -> None:
        """Permit the next try of a denied action. The agent is told with its next prompt; the permission ends
        with that turn.
        """
        self._judge.retries.take_back(act)  # one try, however often it was denied meanwhile
        self._judge.retries.add(act)
        self._untold.setdefault(session.id, {})[what] = act
        self._untold = {name: acts for name in self._untold if (acts := self._unused(name))}

    def _unused(self, session_id: str) -> dict[str, Act]:
        """Permitted tries that an agent has not made yet and is not told of."""
        acts = self._untold.get(session_id, {})
        return {what: act for what, act in acts.items() if self._judge.retries.holds(act)}

    def take_note(self, session: LiveSession) -> str:
        """Return the note for the agent about what it may try again."""
        unused = self._unused(session.id)
        self._untold.pop(session.id, None)
        return "\n".join(f"The user now allows this, which was denied (once): {what}" for what in unused)

    def end_turn(self, session: LiveSession) -> None:
        """End permissions for one action with the turn, also for its children."""
        sessions = self._hub.sessions
        self._judge.grants.forget(lambda name: name not in sessions or sessions[name].root is session)
        untold = self._unused(session.id)
        self._judge.retries.forget(lambda name: name == session.id)
        for act in untold.values():
            self._judge.retries.add(act)

    def forget(self, session_id: str) -> None:
        self._judge.grants.forget(lambda name: name == session_id)
        if self._hub.ownership.is_shared:  # its next turns may be on another node, and end there
            self._untold.pop(session_id, None)
            self._judge.retries.forget(lambda name: name == session_id)
        self._questions = {
            key: each for key, each in self._questions.items() if key[0] != session_id or each.future
        }


def _permission(session: LiveSession, request: OpenRequest) -> v1.RequestPermissionRequest:
    """The request as the hub knows its session; agents may know it by another id."""
    return replace(read(request.params, v1.RequestPermissionRequest), session_id=session.id)


# The wire form of an agent's question: whether the hub can ask it, and how to answer it.


def with_call(params: Raw, call: v1.ToolCallUpdate, own: v1.PermissionOption | None) -> Raw:
    """Return a request with this tool call and an option of ours, for clients that show only the request."""
    members = object_of(params)
    said = {name: raw for name, raw in object_of(write(call)).items() if bytes(raw) not in EMPTY}
    tool_call = {**object_of(members.get("toolCall")), **said}
    options = [*value_of(members.get("options"), []), *([] if own is None else [Raw(write(own))])]
    return Raw(encode_json({**members, "toolCall": tool_call, "options": options}))


def call_id_of(request: OpenRequest) -> str | None:
    """Return the id of the tool call in a permission request."""
    call = object_of(object_of(request.params).get("toolCall")) if request.method == PERMISSION else {}
    name = value_of(call.get("toolCallId"))
    return name if isinstance(name, str) else None


def about_of(request: OpenRequest) -> int:
    """Return the agent's request that a question of the hub is about."""
    meta = value_of(object_of(request.params).get("_meta"), {})
    return int(meta.get("dragoman", {}).get("about", "0") if isinstance(meta, dict) else "0")


def check_question(request: OpenRequest) -> None:
    """Raise `ErrorAnswer` for a question that no client could read or answer."""
    entry = METHODS.get(request.method, kind="request", receiver="client")
    if entry is None:
        return
    try:
        params = read(request.params, entry.params)
        json.loads(bytes(request.params), object_pairs_hook=_each_once)
        options = params.options if isinstance(params, v1.RequestPermissionRequest) else []
        # A no that has the id or the kind of a yes would reach the agent as the yes.
        if len({option.option_id for option in options}) < len(options):
            raise ValueError("two options have one id")
        if any(map(is_contradiction, options)):
            raise ValueError("the name of an option says the opposite of its kind")
    except (SchemaError, ValueError, RecursionError) as error:
        raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: {error}") from None


def _each_once(pairs: list[tuple[str, object]]) -> None:
    """Of two members of one name, a client might show the one and the rules judge the other."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a member of an object appears twice")


def refusal_of(request: OpenRequest, *, cancel: bool) -> bytes:
    """Return the answer to a request without an answer from people."""
    if request.method != PERMISSION:
        return encode_json({"action": "cancel" if cancel else "decline"})
    option = None
    with suppress(SchemaError):
        permission = read(request.params, v1.RequestPermissionRequest)
        option = None if cancel else choose_option("deny", permission.options)
    return write(select_option(option))


def option_in(result: Raw | None) -> str | None:
    """Return the id of the option that an answer selects."""
    outcome = value_of(object_of(result).get("outcome"))
    option = outcome.get("optionId") if isinstance(outcome, dict) else None
    return option if isinstance(option, str) else None
