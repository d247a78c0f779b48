"""HTTP and WS: how a server handles connections. Judged only by the facts of an examination."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, is_update
from dragoman_check.rule import Observation, rule

UNOBSERVED = {
    "WS-05": "what a server frees when a connection ends is not seen from outside",
}


def reply(conversation: Conversation, name: str) -> JsonObject | None:
    """Return the reply to the request with this name; None without a request or a reply."""
    replies = conversation.recording.facts.get("endpoint")
    fields = replies.get(name) if type(replies) is dict else None
    return fields if type(fields) is dict else None


def observe_status(conversation: Conversation, name: str, *statuses: int) -> Iterator[Observation]:
    """Observe whether it was answered with one of these statuses."""
    fields = reply(conversation, name)
    if fields is not None and type(fields.get("status")) is int:
        status = fields["status"]
        yield observe_reply(status in statuses, fields, f"{name}: answered with status {status}")


def observe_reply(is_kept: bool, fields: JsonObject, why: str) -> Observation:
    number = fields.get("frame")
    numbers = (number,) if type(number) is int and number > 0 else ()
    return Observation(is_kept, numbers, "" if is_kept else why, fact="reply")


@rule("HTTP-03", side="server", fix="Serve POST, GET, DELETE and the upgrade under one address.")
def one_address_serves_everything(conversation: Conversation) -> Iterator[Observation]:
    for name in ("initialize", "connection stream", "delete", "upgrade"):
        fields = reply(conversation, name)
        if fields is not None and type(fields.get("status")) is int:
            yield observe_reply(fields["status"] not in (404, 405, 501), fields, f"{name}: not served here")


@rule("HTTP-05", side="server", fix="Answer initialize with 200, its JSON, and the header Acp-Connection-Id.")
def initialize_opens_a_connection(conversation: Conversation) -> Iterator[Observation]:
    fields = reply(conversation, "initialize")
    if fields is not None and "status" in fields:
        headers = fields.get("headers", {})
        kind = headers.get("content-type", "").startswith("application/json")
        fine = fields["status"] == 200 and kind and bool(headers.get("acp-connection-id"))
        yield observe_reply(fine, fields, "initialize is not answered with 200, JSON and Acp-Connection-Id")


@rule("HTTP-06", side="server", fix="Answer every other POST that you take with 202 and no body.")
def a_post_is_taken_with_202(conversation: Conversation) -> Iterator[Observation]:
    for name in ("new session", "prompt", "load"):
        fields = reply(conversation, name)
        if fields is not None and 200 <= fields.get("status", 0) < 300:
            fine = fields["status"] == 202 and fields.get("size") == 0
            yield observe_reply(fine, fields, f"{name}: not 202 with an empty body")


@rule("HTTP-09", side="server", fix="Refuse a POST of another Content-Type with 415.")
def another_content_type_is_refused(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "plain text", 415)


@rule("HTTP-10", side="server", fix="Refuse a GET that does not accept text/event-stream with 406.")
def a_get_that_wants_no_events_is_refused(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "accept json", 406)


@rule("HTTP-11", side="server", fix="Answer 400 without a connection id, and 404 with one you do not know.")
def a_connection_is_named_and_known(conversation: Conversation) -> Iterator[Observation]:
    for name in ("post without connection", "get without connection", "delete without connection"):
        yield from observe_status(conversation, name, 400)
    for name in ("post to unknown connection", "get unknown connection", "after delete"):
        yield from observe_status(conversation, name, 404)


@rule("HTTP-12", side="server", fix="Refuse a message about a session without Acp-Session-Id with 400.")
def a_session_is_named_in_the_header(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "no session header", 400)


@rule(
    "HTTP-13", side="server", fix="Answer 404 to a stream of an unknown session, or let it wait for a load."
)
def a_stream_of_an_unknown_session(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "unknown session stream", 404)


@rule(
    "HTTP-14",
    "HTTP-15",
    side="server",
    fix="Send what is about a session on its own stream, the rest on the connection's.",
)
def every_stream_carries_its_own(conversation: Conversation) -> Iterator[Observation]:
    whole, own = reply(conversation, "connection stream"), reply(conversation, "session stream")
    if whole is None or own is None or whole.get("status") != 200 or own.get("status") != 200:
        return
    strays = [number for number in whole.get("frames", []) if _is_about_session(conversation, number)]
    why = "an update came on the stream of the connection" if strays else ""
    yield Observation(not strays, tuple(strays[:4]), why, fact="connection stream")
    prompt = reply(conversation, "prompt") or {}
    if prompt.get("status") == 202:
        yield observe_reply(
            bool(prompt.get("answered")), prompt, "the answer to a prompt did not come on its stream"
        )


def _is_about_session(conversation: Conversation, number: Json) -> bool:
    is_recorded = type(number) is int and 0 < number <= len(conversation.frames)
    return is_recorded and is_update(conversation.frames[number - 1])


@rule("HTTP-16", side="server", fix="Refuse a batch with 501, or with 400 and one error -32600.")
def a_batch_is_not_served(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "batch", 501)


@rule("HTTP-19", side="server", fix="Refuse a second reader of a stream with 409.")
def a_stream_has_one_reader(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "second reader", 409)


@rule("HTTP-20", side="server", fix="Refuse a header and a body that name different sessions with 400.")
def header_and_body_name_the_same_session(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "another session header", 400)


@rule("HTTP-21", side="server", fix="Refuse initialize on a connection that is open with 400.")
def initialize_opens_no_connection_twice(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "initialize again", 400)


@rule("HTTP-22", side="server", fix="Send events as data lines and a blank line.")
def events_are_plain(conversation: Conversation) -> Iterator[Observation]:
    for name in ("connection stream", "session stream"):
        fields = reply(conversation, name)
        for event in fields.get("events", []) if fields is not None else []:
            lines = [line for line in str(event).split("\n") if line]
            fine = all(line.startswith(("data:", ":")) for line in lines)
            yield observe_reply(fine, fields or {}, f"{name}: an event has more than data")


@rule("HTTP-25", side="server", fix="Keep sessions when their connection ends, so that they can be loaded.")
def sessions_outlive_connections(conversation: Conversation) -> Iterator[Observation]:
    fields = reply(conversation, "load")
    if fields is not None and fields.get("status") == 202:
        number = fields.get("answered") or 0
        answer = conversation.frames[number - 1].message if 0 < number <= len(conversation.frames) else {}
        yield observe_reply("result" in answer, fields, "a session could not be loaded on another connection")


@rule("HTTP-28", side="server", fix="Keep messages until their stream is read.")
def what_comes_early_waits(conversation: Conversation) -> Iterator[Observation]:
    prompt, own = reply(conversation, "prompt"), reply(conversation, "session stream")
    if prompt is not None and prompt.get("status") == 202 and own is not None and own.get("status") == 200:
        yield observe_reply(
            bool(prompt.get("answered")), prompt, "nothing was kept for the reader who came later"
        )


@rule(
    "HTTP-29", side="server", fix="Refuse ids of more than 1024 characters with 400, other methods with 405."
)
def limits_are_told(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "long id", 400)
    yield from observe_status(conversation, "put", 405)


@rule("HTTP-30", side="server", fix="Refuse requests of pages from elsewhere, by their Origin.")
def pages_from_elsewhere_are_refused(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_status(conversation, "foreign origin", 401, 403)


@rule(
    "WS-01",
    side="server",
    fix="Accept the upgrade at the same address, and send Acp-Connection-Id with the 101.",
)
def the_upgrade_names_the_connection(conversation: Conversation) -> Iterator[Observation]:
    fields = reply(conversation, "upgrade")
    if fields is not None and fields.get("status"):
        fine = fields["status"] == 101 and bool(fields.get("headers", {}).get("acp-connection-id"))
        yield observe_reply(fine, fields, f"answered with {fields['status']}, or without Acp-Connection-Id")


@rule(
    "WS-08",
    side="server",
    fix="Refuse a second initialize with -32600, and close with 1002 after one without an id.",
)
def a_socket_is_opened_once(conversation: Conversation) -> Iterator[Observation]:
    again, null = (
        reply(conversation, "socket initialize again"),
        reply(conversation, "socket initialize under null"),
    )
    if again is not None:
        yield observe_reply(
            again.get("error") == -32600, again, "a second initialize is not refused with -32600"
        )
    if null is not None:
        yield observe_reply(
            null.get("closed") == 1002, null, "an initialize under null does not close with 1002"
        )


@rule("WS-09", side="server", fix="Close with 1008 when a limit is passed.")
def a_limit_closes_with_its_code(conversation: Conversation) -> Iterator[Observation]:
    fields = reply(conversation, "socket long id")
    if fields is not None:
        yield observe_reply(
            fields.get("closed") == 1008, fields, "an id that is too long does not close with 1008"
        )


@rule("WS-10", side="server", fix="Let all sessions of a connection share its socket.")
def sessions_share_the_socket(conversation: Conversation) -> Iterator[Observation]:
    first, second = reply(conversation, "socket session"), reply(conversation, "socket second session")
    if first is not None and second is not None and first.get("closed") is None and not first.get("error"):
        fine = second.get("closed") is None and not second.get("error")
        yield observe_reply(fine, second, "a second session was not taken")
