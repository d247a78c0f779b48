"""ELIC: how an agent asks the client's user questions, and how it uses the answers.

In an examination, the stretches `elicit, accept`, `elicit, decline`, `elicit, cancel` and `elicit, error` are
turns whose forms were answered so; in a stretch `elicit` the client may offer no forms at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from dragoman.wire.envelope import JsonObject
from dragoman_check.calls import turn_of
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.replies import client_capability_at
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.timeline import is_in_stretch, session_of
from dragoman_check.values import text

CREATE, COMPLETE = "elicitation/create", "elicitation/complete"
MODES = ("form", "url")
TYPES = ("string", "number", "integer", "boolean", "array")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_SECRET = re.compile(
    r"(your |the |enter |enter your )?(new |current )?"
    r"(password|passphrase|passwd|api[ _-]?key|secret[ _-]?key|client[ _-]?secret|access[ _-]?token"
    r"|auth[ _-]?token|bearer[ _-]?token|private[ _-]?key|credit[ _-]?card([ _-]?number)?|cvv|pin code)",
    re.IGNORECASE,
)
_CREDENTIAL = re.compile(
    r"(access_|auth_|id_|refresh_|session_)?token|password|passwd|api_?key|secret|client_secret|jwt|bearer",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://", re.IGNORECASE)

UNOBSERVED: dict[str, str] = {
    "ELIC-06": "it takes a second connection and a verified user to see it",
    "ELIC-12": "what a client shows is seen on its screen only",
    "ELIC-13": "what a client lets its user edit is seen on its screen only",
    "ELIC-14": "what is shown before a page is opened is seen on the screen only",
    "ELIC-15": "where a page is opened is not on the wire",
    "ELIC-17": "what an agent does with a value that it got is not on the wire",
    "ELIC-22": "what an agent concludes from a consent is not on the wire",
    "ELIC-24": "what a client makes of an id is not on the wire",
    "ELIC-30": "what a client warns of is seen on its screen only",
    "ELIC-31": "who finishes a flow in a browser is not on the wire",
    "ELIC-35": "what a user can retry is seen on the client's screen only",
}


def elicitations(conversation: Conversation) -> list[Exchange]:
    return conversation.calls(CREATE, direction="to_client")


def can(conversation: Conversation, frame: Frame, mode: str) -> bool:
    """Whether the client advertised a mode, on the connection of a frame."""
    return type(client_capability_at(conversation, frame, "elicitation", mode)) is dict


def properties(exchange: Exchange) -> dict[str, JsonObject]:
    """Return the fields of a form that are objects."""
    schema = exchange.params.get("requestedSchema")
    fields = schema.get("properties") if type(schema) is dict else None
    if type(fields) is not dict:
        return {}
    return {name: field for name, field in fields.items() if type(field) is dict}


@rule("ELIC-01", side="agent", fix="Ask only in modes that the client advertised.")
def only_advertised_modes_are_asked_for(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for elicitation in elicitations(conversation):
        mode = text(elicitation.params.get("mode"))
        yield observe(
            can(conversation, elicitation.request, mode),
            elicitation.request,
            "the client did not advertise this mode",
        )
    for turn in conversation.turns:
        none = not any(can(conversation, turn.exchange.request, mode) for mode in MODES)
        if none and turn.end is not None and not any(frame.method == CREATE for frame in turn.during):
            yield kept(turn.end)  # it was not asked


@rule("ELIC-03", side="agent", fix="Find another way, or say so, where the client has no forms.")
def there_is_a_way_without_forms(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        prompt = turn.exchange.request
        is_tried = is_in_stretch(conversation, prompt, "elicit") and not can(conversation, prompt, "form")
        if is_tried and turn.exchange.answer is not None:
            yield observe(turn.exchange.has_result, turn.exchange.answer, "without forms, the turn fails")


@rule("ELIC-04", side="agent", fix="Send mode, message, and either sessionId or requestId.")
def a_request_to_the_user_is_whole(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        missing = [name for name in ("mode", "message") if type(elicitation.params.get(name)) is not str]
        request_id = elicitation.params.get("requestId")
        has_request = type(request_id) in (int, str)
        if type(elicitation.params.get("sessionId")) is not str and not has_request:
            missing.append("sessionId or requestId")
        if elicitation.params.get("mode") == "url":
            missing += [
                name for name in ("url", "elicitationId") if type(elicitation.params.get(name)) is not str
            ]
        yield observe(not missing, elicitation.request, f"{', '.join(missing)} is missing or wrong")


@rule(
    "ELIC-05",
    side="agent",
    fix="Name in requestId a request of the client that is still open.",
    unavoidable=True,
)
def the_named_request_is_open(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        request_id = elicitation.params.get("requestId")
        if request_id is not None and type(elicitation.params.get("sessionId")) is not str:
            right = any(
                _is_open(request, request_id, elicitation.request)
                for request in conversation.calls(direction="to_agent")
            )
            yield observe(right, elicitation.request, "requestId is not an open request of the client")


def _is_open(request: Exchange, request_id: object, frame: Frame) -> bool:
    own_id = request.request.message["id"]
    is_it = (
        type(own_id) is type(request_id) and own_id == request_id and request.request.number < frame.number
    )
    return is_it and (request.answer is None or request.answer.number > frame.number)


def _forms(conversation: Conversation) -> list[Exchange]:
    return [
        elicitation for elicitation in elicitations(conversation) if elicitation.params.get("mode") == "form"
    ]


@rule("ELIC-07", side="agent", fix="Ask for strings, numbers, integers, booleans or lists, all on one level.")
def a_form_is_flat(conversation: Conversation) -> Iterator[Observation]:
    for form in _forms(conversation):
        schema = form.params.get("requestedSchema")
        fields = schema.get("properties") if type(schema) is dict else None
        right = type(schema) is dict and type(fields) in (dict, type(None))
        if type(fields) is dict:
            right = right and all(_is_flat(field) for field in fields.values())
        yield observe(right, form.request, "requestedSchema is missing, or a field is of another type")


def _is_flat(field: object) -> bool:
    kind = field.get("type") if type(field) is dict else None
    return type(kind) is str and (kind in TYPES or kind.startswith("_"))


@rule("ELIC-32", side="agent", fix="Begin modes and types of your own with an underscore.")
def private_values_are_marked(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        mode = text(elicitation.params.get("mode"))
        kinds = [text(field.get("type")) for field in properties(elicitation).values()]
        right = _is_ours(mode, MODES) and all(_is_ours(kind, TYPES) for kind in kinds)
        yield observe(
            right, elicitation.request, "a mode or type that is not known, and does not begin with _"
        )


def _is_ours(value: str, words: tuple[str, ...]) -> bool:
    return value in words or value.startswith("_")


@rule("ELIC-08", side="agent", fix='Write "type": "object" and properties into requestedSchema.')
def a_form_says_that_it_is_an_object(conversation: Conversation) -> Iterator[Observation]:
    for form in _forms(conversation):
        schema = form.params.get("requestedSchema")
        if type(schema) is dict:
            right = schema.get("type") == "object" and type(schema.get("properties")) is dict
            yield observe(right, form.request, "type or properties is missing or wrong")


@rule("ELIC-10", "ELIC-11", side="agent", fix="Never ask for secrets in a form: use the mode url.")
def forms_ask_for_no_secrets(conversation: Conversation) -> Iterator[Observation]:
    for form in _forms(conversation):
        secret = any(_is_secret(name, field) for name, field in properties(form).items())
        yield observe(not secret, form.request, "a field of the form asks for a secret")


def _is_secret(name: str, field: JsonObject) -> bool:
    if field.get("type") != "string" or field.get("enum") or field.get("oneOf"):
        return False
    title = text(field.get("title")).strip(" :*")
    return field.get("format") == "password" or any(_SECRET.fullmatch(label) for label in (name, title))


@rule(
    "ELIC-19",
    "ELIC-21",
    side="agent",
    fix="Go on after every answer: accept without content, decline, cancel and errors.",
)
def every_answer_of_the_user_is_lived_with(conversation: Conversation) -> Iterator[Observation]:
    for elicitation in elicitations(conversation):
        turn = turn_of(conversation, elicitation.request, session_of(elicitation))
        if elicitation.answer is None or turn is None or turn.exchange.answer is None:
            continue
        if elicitation.result.get("action") != "accept" or elicitation.result.get("content") is None:
            right = turn.exchange.has_result
            yield observe(
                right, turn.exchange.answer, "the turn failed after this answer", elicitation.answer
            )


@rule("ELIC-23", side="agent", fix="Give every open url elicitation an id of its own.", unavoidable=True)
def ids_of_elicitations_are_unique(conversation: Conversation) -> Iterator[Observation]:
    outstanding: dict[str, Frame] = {}
    answers = {
        elicitation.answer.number: elicitation
        for elicitation in elicitations(conversation)
        if elicitation.answer is not None
    }
    requests = {elicitation.request.number: elicitation for elicitation in elicitations(conversation)}
    for frame in conversation.frames:
        if frame.number in requests and frame.params.get("mode") == "url":
            name = text(frame.params.get("elicitationId"))
            earlier = outstanding.get(name)
            yield observe(
                earlier is None, frame, "elicitationId belongs to another open elicitation", earlier
            )
            outstanding[name] = frame
        elif frame.number in answers and answers[frame.number].result.get("action") != "accept":
            outstanding.pop(text(answers[frame.number].params.get("elicitationId")), None)
        elif frame.method == COMPLETE:
            outstanding.pop(text(frame.params.get("elicitationId")), None)


@rule("ELIC-25", side="agent", fix="Complete only elicitations that you asked for.")
def only_what_was_asked_is_completed(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.notes(COMPLETE, direction="to_client"):
        name = frame.params.get("elicitationId")
        is_known = any(
            elicitation.params.get("elicitationId") == name and elicitation.request.number < frame.number
            for elicitation in elicitations(conversation)
        )
        yield observe(is_known, frame, "it completes an elicitation that was never requested")


def _urls(conversation: Conversation) -> Iterator[tuple[Exchange, str]]:
    for elicitation in elicitations(conversation):
        if elicitation.params.get("mode") == "url" and type(elicitation.params.get("url")) is str:
            yield elicitation, elicitation.params["url"]


@rule("ELIC-28", side="agent", fix="Put no passwords, tokens or keys into URLs.")
def urls_hold_no_credentials(conversation: Conversation) -> Iterator[Observation]:
    for elicitation, url in _urls(conversation):
        yield observe(not _has_credentials(url), elicitation.request, "the url holds credentials")


def _has_credentials(url: str) -> bool:
    try:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query) + parse_qsl(parts.fragment)
        return parts.password is not None or any(
            _CREDENTIAL.fullmatch(name) for name, value in pairs if value
        )
    except ValueError:
        return False


@rule("ELIC-29", side="agent", fix="Use https, and write no links into the fields of a form.")
def urls_are_safe(conversation: Conversation) -> Iterator[Observation]:
    for elicitation, url in _urls(conversation):
        yield observe(_is_safe(url), elicitation.request, "the url is not https")
    for form in _forms(conversation):
        texts = [
            text(field.get(name)) for field in properties(form).values() for name in ("title", "description")
        ]
        yield observe(not any(map(_LINK.search, texts)), form.request, "a field of the form holds a link")


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() != "http" or parts.hostname in LOOPBACK
    except ValueError:
        return True
