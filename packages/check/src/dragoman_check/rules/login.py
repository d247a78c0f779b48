"""AUTH: an agent's login methods, how a client uses them, and what changes after a login."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from, has_spoken
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.shapes import read_frame

LOGIN_NEEDED = -32000
LOGINS = ("authenticate", "auth/login")
LOGOUTS = ("logout", "auth/logout")
GATED = ("session/new", "session/load", "session/resume", "session/list", "session/prompt")
SILENT = (-32601, -32800)

_ABOUT_LOGIN = re.compile(
    r"authentication (is )?required|not (yet )?(authenticated|logged in|signed in)|please (log|sign) in", re.I
)

UNOBSERVED: dict[str, str] = {
    "AUTH-02": "a client may leave the choice to its user; that it may be used is judged with AUTH-05",
    "AUTH-04": "whether a client could run the agent in a terminal cannot be seen on the wire",
    "AUTH-11": "what a client starts in a terminal is not on the wire of the agent that offered it",
    "AUTH-12": "how a client takes the end of a program in a terminal is not on the wire",
    "AUTH-13": "the connection after a login in a terminal is another one",
    "AUTH-14": "running a login needs an account, and may change it",
    "AUTH-20": "whatever an agent does with running sessions at logout is allowed",
}


def offered_methods(conversation: Conversation) -> list[Json]:
    """Return the entries of authMethods, of any kind."""
    methods = (
        conversation.initialize.result.get("authMethods") if conversation.initialize is not None else None
    )
    return methods if type(methods) is list else []


def _objects(conversation: Conversation) -> list[JsonObject]:
    return [entry for entry in offered_methods(conversation) if type(entry) is dict]


def _answer(conversation: Conversation) -> Frame | None:
    return conversation.initialize.answer if conversation.initialize is not None else None


@rule("AUTH-01", side="agent", fix="Give every entry of authMethods an id and a name.", versions=(1,))
def every_method_has_an_id_and_a_name(conversation: Conversation) -> Iterator[Observation]:
    methods = (
        conversation.initialize.result.get("authMethods") if conversation.initialize is not None else None
    )
    if type(methods) not in (list, type(None)):
        yield observe(False, _answer(conversation), "authMethods is not a list")
    for at, entry in enumerate(offered_methods(conversation)):
        fine = type(entry) is dict and type(entry.get("id")) is str and type(entry.get("name")) is str
        yield observe(fine, _answer(conversation), f"authMethods[{at}] has no id or no name")


@rule("AUTH-03", side="agent", fix="Offer a login in a terminal only to clients with auth.terminal.")
def a_terminal_login_is_offered_to_who_can_do_it(conversation: Conversation) -> Iterator[Observation]:
    for entry in _objects(conversation):
        if entry.get("type") == "terminal":
            can = conversation.client_can("auth", "terminal")
            fine = can is True or (conversation.version == 2 and type(can) is dict)
            yield observe(
                fine, _answer(conversation), "a login in a terminal, for a client without auth.terminal"
            )


@rule(
    "AUTH-05",
    side="client",
    fix="Authenticate with an id that the agent has offered, and not for a terminal.",
)
def only_offered_methods_are_used(conversation: Conversation) -> Iterator[Observation]:
    agent_ids = [entry.get("id") for entry in _objects(conversation) if entry.get("type") in (None, "agent")]
    strange = [
        entry.get("id") for entry in _objects(conversation) if entry.get("type") not in (None, "agent")
    ]
    for login in _logins(conversation):
        method = login.params.get("methodId")
        if method in agent_ids or method not in strange:  # judged by AUTH-06, AUTH-24 and AUTH-25
            yield observe(
                method in agent_ids, login.request, "methodId was never offered", _answer(conversation)
            )


def _logins(conversation: Conversation) -> list[Exchange]:
    """Logins after the handshake, with an id that can be compared."""
    end = _answer(conversation)
    calls = conversation.calls(*LOGINS, direction="to_agent") if end is not None else []
    return [
        call
        for call in calls
        if end is not None and call.request.number > end.number and type(call.params.get("methodId")) is str
    ]


def _find_use(conversation: Conversation, entry: JsonObject) -> Exchange | None:
    mine = (login for login in _logins(conversation) if login.params.get("methodId") == entry.get("id"))
    return next(mine, None)


def _is_whole(entry: JsonObject) -> bool:
    args, env = entry.get("args"), entry.get("env")
    return type(args) in (list, type(None)) and type(env) in (dict, list, type(None)) and "name" in entry


@rule("AUTH-06", side="client", fix="Run a terminal login in a terminal; do not pass its id to authenticate.")
def a_terminal_method_is_never_authenticated(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_avoidance(
        conversation,
        [entry for entry in _objects(conversation) if entry.get("type") == "terminal" and _is_whole(entry)],
    )


@rule(
    "AUTH-25",
    side="client",
    fix="Leave out a terminal method that you cannot read; do not authenticate with it.",
)
def a_broken_terminal_method_is_never_authenticated(conversation: Conversation) -> Iterator[Observation]:
    broken = [
        entry for entry in _objects(conversation) if entry.get("type") == "terminal" and not _is_whole(entry)
    ]
    yield from _observe_avoidance(conversation, broken)


@rule("AUTH-24", side="client", fix="Do not authenticate with a method of a type that you do not know.")
def a_method_of_an_unknown_type_is_left_alone(conversation: Conversation) -> Iterator[Observation]:
    types = (None, "agent", "terminal", "env_var")
    yield from _observe_avoidance(
        conversation, [entry for entry in _objects(conversation) if entry.get("type") not in types]
    )


def _observe_avoidance(conversation: Conversation, entries: list[JsonObject]) -> Iterator[Observation]:
    """Whether a client that went on left these methods alone."""
    end = _answer(conversation)
    if end is None or not has_spoken(conversation, "client", end):
        return
    for entry in entries:
        used = _find_use(conversation, entry)
        yield observe(
            used is None,
            end,
            "authenticate was called with the id of this method",
            used.request if used else None,
        )


@rule("AUTH-07", side="agent", fix="Answer authenticate with an empty object.")
def a_login_is_answered_with_an_empty_object(conversation: Conversation) -> Iterator[Observation]:
    yield from _empty(conversation.calls(*LOGINS, direction="to_agent"))


@rule("AUTH-18", side="agent", fix="Answer logout with an empty object.")
def a_logout_is_answered_with_an_empty_object(conversation: Conversation) -> Iterator[Observation]:
    yield from _empty(conversation.calls(*LOGOUTS, direction="to_agent"))


def _empty(calls: list[Exchange]) -> Iterator[Observation]:
    for call in calls:
        if call.answer is not None and not call.has_error:
            result = call.answer.message.get("result")
            fine = type(result) is dict and not (result.keys() - {"_meta"})
            yield observe(fine, call.answer, "the result is not an empty object", call.request)


@rule("AUTH-08", side="agent", fix="Serve requests after a login that succeeded.")
def a_login_opens_the_gate(conversation: Conversation) -> Iterator[Observation]:
    is_in = False
    for call in conversation.calls(*LOGINS, *LOGOUTS, "session/new", direction="to_agent"):
        if call.method in LOGINS:
            is_in = is_in or call.has_result
        elif call.method in LOGOUTS:
            is_in = False
        elif is_in and call.answer is not None:
            yield observe(
                call.code != LOGIN_NEEDED,
                call.answer,
                "a login is still required after authenticate",
                call.request,
            )


@rule("AUTH-09", "ERR-02", side="agent", fix="Refuse what needs a login with -32000, and with no other code.")
def a_closed_gate_has_its_own_code(conversation: Conversation) -> Iterator[Observation]:
    login = next(
        (call for call in conversation.calls(*LOGINS, direction="to_agent") if call.has_result), None
    )
    for call in conversation.calls(*GATED, direction="to_agent"):
        if call.code == LOGIN_NEEDED:
            yield kept(call.answer)
        elif (
            call.has_error
            and offered_methods(conversation)
            and (_says_so(call) or _is_cured(conversation, call, login))
        ):
            yield observe(False, call.answer, "a login is needed, and the code is not -32000", call.request)


def _says_so(exchange: Exchange) -> bool:
    error = exchange.answer.message["error"] if exchange.answer is not None else {}
    message = error.get("message")
    return type(message) is str and bool(_ABOUT_LOGIN.search(message))


def _is_cured(conversation: Conversation, exchange: Exchange, login: Exchange | None) -> bool:
    """Whether the same request succeeded after a login."""
    if login is None or exchange.answer is None or exchange.answer.number > login.request.number:
        return False
    fine = [
        call.request for call in conversation.calls(exchange.method, direction="to_agent") if call.has_result
    ]
    before = any(request.number < login.request.number for request in fine)
    same = (request for request in fine if request.params == exchange.params)
    return not before and any(request.number > login.request.number for request in same)


@rule("AUTH-10", side="agent", fix="Refuse a methodId that you never offered with -32602.")
def an_unknown_method_is_no_login(conversation: Conversation) -> Iterator[Observation]:
    offered_ids = [entry.get("id") for entry in _objects(conversation)]
    for login in _logins(conversation):
        if login.params["methodId"] not in offered_ids and login.answer is not None:
            yield observe(
                login.has_error, login.answer, "a methodId that was never offered succeeded", login.request
            )


@rule(
    "AUTH-15",
    side="agent",
    fix="Leave command out of a terminal method: the client knows how it started you.",
)
def a_terminal_method_names_no_command(conversation: Conversation) -> Iterator[Observation]:
    for entry in _objects(conversation):
        if entry.get("type") == "terminal":
            yield observe("command" not in entry, _answer(conversation), "a terminal method has a command")


@rule(
    "AUTH-16",
    side="agent",
    fix="Write env of a terminal method as a map from names to strings.",
    versions=(1,),
)
def the_environment_is_a_map_of_strings(conversation: Conversation) -> Iterator[Observation]:
    for entry in _objects(conversation):
        env = entry.get("env")
        if entry.get("type") == "terminal" and env is not None:
            fine = type(env) is dict and all(type(value) is str for value in env.values())
            yield observe(fine, _answer(conversation), "env of a terminal method is not a map of strings")


@rule("AUTH-26", side="agent", fix="Begin a type of your own with an underscore.", versions=(2,))
def the_type_of_a_method_is_known_or_private(conversation: Conversation) -> Iterator[Observation]:
    for entry in _objects(conversation):
        kind = entry.get("type")
        right = kind in ("agent", "terminal") or (type(kind) is str and kind.startswith("_"))
        yield observe(right, _answer(conversation), "a method's type is neither known nor private")


@rule(
    "AUTH-27",
    side="agent",
    fix="Write args as strings, and no name of env twice.",
    versions=(2,),
)
def a_terminal_method_can_be_run(conversation: Conversation) -> Iterator[Observation]:
    for entry in _objects(conversation):
        if entry.get("type") == "terminal":
            yield observe(
                _can_be_run(entry), _answer(conversation), "args or env of a terminal method is wrong"
            )


def _can_be_run(entry: JsonObject) -> bool:
    words, env = entry.get("args") or [], entry.get("env") or []
    if not (type(words) is list and type(env) is list and all(type(word) is str for word in words)):
        return False
    if not all(type(item) is dict and type(item.get("value")) is str for item in env):
        return False
    names = [item.get("name") for item in env]
    return all(type(name) is str for name in names) and len(set(names)) == len(names)


@rule("AUTH-28", side="agent", fix="Give every login method an id of its own.")
def every_method_has_an_id_of_its_own(conversation: Conversation) -> Iterator[Observation]:
    ids = [str(entry.get("methodId", entry.get("id"))) for entry in _objects(conversation)]
    if ids:
        yield observe(len(set(ids)) == len(ids), _answer(conversation), "two login methods have one id")


@rule("AUTH-29", side="agent", fix="Offer a login method, or make a session without a login.")
def who_wants_a_login_offers_one(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or offered_methods(conversation):
        return
    for call in conversation.calls("session/new", direction="to_agent"):
        if call.answer is not None:
            yield observe(call.code != LOGIN_NEEDED, call.answer, "a login is wanted, and none is offered")


@rule("AUTH-17", side="client", fix="Send logout only to agents with auth.logout.", versions=(1,))
def logout_is_only_for_who_has_it(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("logout", direction="to_agent"):
        if conversation.initialize is not None and conversation.initialize.has_result:
            fine = type(conversation.agent_can("auth", "logout")) is dict
            yield observe(fine, call.request, "logout, and the agent did not offer it")


@rule("AUTH-19", side="agent", fix="Ask for a login again after logout.")
def a_logout_closes_the_gate(conversation: Conversation) -> Iterator[Observation]:
    is_gated = is_out = False
    for call in conversation.calls(*LOGINS, *LOGOUTS, "session/new", direction="to_agent"):
        if call.method in LOGINS:
            is_out = False
        elif call.method in LOGOUTS:
            is_out = call.has_result
        elif is_out and is_gated and call.answer is not None and call.code not in SILENT:
            yield observe(
                call.code == LOGIN_NEEDED, call.answer, "a session was opened without a login", call.request
            )
        else:
            is_gated = is_gated or call.code == LOGIN_NEEDED


@rule("AUTH-21", side="client", fix="Handle -32000 in the middle of a session: offer to log in again.")
def a_client_lives_with_a_gate_that_closes(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("session/prompt", direction="to_agent"):
        if call.code == LOGIN_NEEDED and call.answer is not None:
            if has_spoken(conversation, "client", call.answer):
                yield kept(call.answer)
            elif conversation.recording.facts.get("exit") not in (None, 0):
                yield observe(False, call.answer, "the client sent nothing more when a login was asked for")


@rule(
    "AUTH-22",
    side="client",
    fix="Leave out an entry of authMethods that you cannot read, and keep the others.",
)
def a_broken_method_is_left_out(conversation: Conversation) -> Iterator[Observation]:
    end = _answer(conversation)
    if end is None:
        return
    deviations = read_frame(end, conversation).forgiven
    if any(
        deviation.kind == "bad item" and deviation.path.startswith("$.authMethods")
        for deviation in deviations
    ):
        if any(
            frame.number > end.number for frame in frames_from(conversation, "client") if frame.is_request
        ):
            yield kept(end)
        elif conversation.recording.facts.get("exit") not in (None, 0):
            yield observe(False, end, "the client did not go on after an entry that it cannot read")


@rule("AUTH-23", side="agent", fix="Answer logout with -32601 if you do not offer it.", versions=(1,))
def logout_is_unknown_where_it_is_not_offered(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or type(conversation.agent_can("auth", "logout")) is dict:
        return
    for call in conversation.calls("logout", direction="to_agent"):
        if call.answer is not None:
            yield observe(
                call.code == -32601, call.answer, "logout is not offered, and was not refused", call.request
            )
