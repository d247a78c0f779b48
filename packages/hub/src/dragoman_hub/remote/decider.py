"""Decides locally what a remote agent may do, for clients such as editors that don't know this request.

Each access that the other side asks about goes through this user's policy and its audit log; what the policy
says to ask is asked as an ordinary request for permission, at the client. What the client has granted to a
request of the agent's own is not asked again when the agent then does it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Hashable, Sequence

import msgspec
from msgspec import UNSET

from dragoman.errors import ErrorAnswer, LinkClosed, LocalMistake
from dragoman.runtime.relay import Relay
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.wire import Failure, Response, decode, error_object, failure, response
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.envelope import Request, id_key
from dragoman.wire.glance import Glance
from dragoman_hub.remote.lender import OwnCalls, params_in
from dragoman_local.known.identity import identity_of_command
from dragoman_local.workspace.policy.act_view import lent_call
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import LocalDesk, LocalUser
from dragoman_local.workspace.policy.policy import Approve
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.remote_access import PERMIT_METHOD, read_access
from dragoman_local.workspace.settings import LocalRules

log = logging.getLogger(__name__)

ASK = "session/request_permission"
OPENS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
MOST_KEPT = 1024
"""The most requests of either side to wait for; no peer needs more answers."""


class AccessDecider:
    """A filter in a relay: `from_client` and `from_agent` return the frames to pass on."""

    def __init__(self, *, policy: str | None, approve: Approve | None, command: Sequence[str]) -> None:
        """Use the rules of a policy file, if one is named, and of this user. Raises `LocalMistake`."""
        rules = LocalRules(policy=policy, approve=approve)
        try:
            load_policy(file=policy, approve=approve)
        except PolicyError as error:
            raise LocalMistake(str(error)) from error
        self.relay: Relay | None = None
        self.tell_client: Callable[[bytes], None] = lambda _: None
        """Both are set by the one who runs it."""
        agent = identity_of_command(command, "")
        desk = LocalDesk(rules, door="ssh", agent=agent, user=LocalUser(permissions=self.ask))
        self._permissions = desk.permissions
        self._numbers = itertools.count(1)
        self._calls = OwnCalls("access", lambda line: self.tell_client(line))
        self._openings: dict[Hashable, list[str]] = {}  # folders, by the id of the request that opens
        self._questions: dict[Hashable, v1.RequestPermissionRequest] = {}  # of the agent's own
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    def from_client(self, line: bytes, glance: Glance) -> bytes | None:
        if self._calls.take_answer(line, glance):
            return None
        if glance.method is UNSET and glance.id is not UNSET:
            question = self._questions.pop(id_key(glance.id), None)
            answer = None if question is None else decode(line)
            if question is not None and isinstance(answer, Response):
                self._permissions.note_grant(question, _option_in(answer))
        elif glance.method in OPENS and glance.id is not UNSET:
            self._on_opening(line)
        elif glance.method == "session/prompt":
            self._permissions.end_turn()
        return line

    def from_agent(self, line: bytes, glance: Glance) -> bytes | None:
        if glance.method is UNSET:
            if self._openings:
                self._on_opened(line, glance)
            return line
        if glance.method == "$/cancel_request":
            task = self._tasks.get(id_key(params_in(line).get("requestId")))
            return line if task is None or not task.cancel() else None
        if glance.id is UNSET:
            return line
        if glance.method == ASK and len(self._questions) < MOST_KEPT:
            try:
                question = read(msgspec.json.encode(params_in(line)), v1.RequestPermissionRequest)
                self._questions[id_key(glance.id)] = question
            except SchemaError:
                pass  # the client may understand it
        if glance.method != PERMIT_METHOD:
            return line
        self._start(line, id_key(glance.id))
        return None

    def _on_opening(self, line: bytes) -> None:
        envelope, params = decode(line), params_in(line)
        more = params.get("additionalDirectories")
        folders = [params.get("cwd"), *(more if isinstance(more, list) else [])]
        roots = [folder for folder in folders if isinstance(folder, str)]
        if isinstance(params.get("sessionId"), str) and roots:
            self._permissions.open(params["sessionId"], roots=roots)
        if isinstance(envelope, Request) and len(self._openings) < MOST_KEPT:
            self._openings[id_key(envelope.id)] = roots

    def _on_opened(self, line: bytes, glance: Glance) -> None:
        roots = self._openings.pop(id_key(glance.id), None)
        envelope = decode(line)
        if roots and isinstance(envelope, Response):
            result = msgspec.json.decode(envelope.result)
            if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
                self._permissions.open(result["sessionId"], roots=roots)

    # Deciding.

    def _start(self, line: bytes, key: Hashable) -> None:
        assert self.relay is not None
        task = self._tasks[key] = self.relay.owner.start(self._decide(line))
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _decide(self, line: bytes) -> None:
        envelope = decode(line)
        assert self.relay is not None
        if not isinstance(envelope, Request):
            return
        try:
            await self._permissions.guard(read_access(params_in(line)))
            reply = response(envelope.id, b"{}")
        except ErrorAnswer as error:
            reply = failure(envelope.id, error_object(error.code, error.message, error.data))
        except LinkClosed:
            return  # nobody is left on one of the sides
        except Exception:  # what could not be decided is not permitted
            log.exception("an access could not be decided")
            reply = failure(envelope.id, error_object(INTERNAL_ERROR))
        self.relay.to_agent.send(reply)

    async def ask(self, question: PermissionPrompt) -> str | None:
        """Implements `Asker`: asks the client."""
        act = question.act
        call_id = f"access-{next(self._numbers)}"
        params = {
            "sessionId": act.session_id,
            "toolCall": lent_call(act, call_id=call_id, place="on the other machine"),
            "options": [msgspec.Raw(write(option)) for option in question.options],
        }
        answer = await self._calls.call(ASK, msgspec.json.encode(params))
        return _option_in(answer)


def _option_in(answer: Response | Failure) -> str | None:
    """The id of the option that the client selected; None for anything else."""
    if isinstance(answer, Failure):
        return None
    result = msgspec.json.decode(answer.result)
    outcome = result.get("outcome") if isinstance(result, dict) else None
    option = outcome.get("optionId") if isinstance(outcome, dict) else None
    return option if isinstance(option, str) else None
