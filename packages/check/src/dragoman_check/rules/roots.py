"""ADIR: additional folders."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule_v1
from dragoman_check.rules.folders import (
    USES,
    ended_calls,
    file_requests,
    may_use,
    named_files,
    touched_paths,
    was_allowed,
)
from dragoman_check.timeline import (
    BAD_PARAMS,
    is_fair,
    is_in_stretch,
    session_of,
    setup_at,
    setup_requests,
    setups,
)
from dragoman_check.values import is_absolute, is_same, is_under, items, normalize, text

UNOBSERVED: dict[str, str] = {
    "ADIR-09": "which instructions an agent finds goes to its model and not over the wire",
}


def _roots(exchange: Exchange) -> Json:
    return exchange.params.get("additionalDirectories")


def _can(conversation: Conversation) -> bool:
    return conversation.agent_can("sessionCapabilities", "additionalDirectories") not in (None, False)


def _is_good(roots: object) -> bool:
    return type(roots) is list and all(is_absolute(root) for root in roots)


@rule_v1("ADIR-01", side="client", fix="Send additionalDirectories only to agents that advertise them.")
def roots_are_for_agents_that_take_them(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if _roots(request):
            yield observe(_can(conversation), request.request, "additionalDirectories was not advertised")


@rule_v1("ADIR-02", side="client", fix="Make additional directories absolute before they are sent.")
def roots_are_absolute(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if _roots(request):
            yield observe(
                _is_good(_roots(request)), request.request, "an additional directory is not absolute"
            )


@rule_v1(
    "ADIR-03",
    side="agent",
    fix="Refuse roots that are not a list of absolute paths with -32602.",
    is_reading=True,
)
def bad_roots_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if _roots(request) is not None and not _is_good(_roots(request)) and is_fair(conversation, request):
            yield observe(
                request.has_error, request.request, "bad additionalDirectories were taken", request.answer
            )


@rule_v1(
    "INIT-14",
    side="agent",
    unavoidable=True,
    fix="Accept additionalDirectories, or do not advertise sessionCapabilities.additionalDirectories.",
)
def advertised_roots_are_taken(conversation: Conversation) -> Iterator[Observation]:
    """Check the stretch `new with roots`, in which the folders exist."""
    for request in setup_requests(conversation, "session/new"):
        is_asked = is_in_stretch(conversation, request.request, "new with roots")
        if is_asked and _can(conversation) and is_fair(conversation, request):
            why = "additionalDirectories was advertised, and a folder that is there was refused"
            yield observe(request.has_result, request.request, why, request.answer)


@rule_v1("ADIR-04", side="agent", fix="Without additionalDirectories, work in cwd only.")
def without_roots_there_is_only_the_folder(conversation: Conversation) -> Iterator[Observation]:
    for request in file_requests(conversation):
        setup = setup_at(conversation, session_of(request), request.request.number)
        if setup is None or setup.roots or not is_absolute(setup.cwd) or was_allowed(conversation, request):
            continue
        roots = [
            root for other_setup in setups(conversation) for root in other_setup.roots if is_absolute(root)
        ]
        inside = is_under(request.params["path"], [setup.cwd])
        if inside or is_under(request.params["path"], roots):
            yield observe(inside, request.request, "a root was used that this session was not given")


@rule_v1("ADIR-05", side="agent", fix="Forget the roots of a session when it is loaded without them.")
def roots_count_for_as_long_as_they_were_given(conversation: Conversation) -> Iterator[Observation]:
    for request in file_requests(conversation):
        old = _lost_roots(conversation, session_of(request), request.request)
        if old and not was_allowed(conversation, request):
            right = not is_under(request.params["path"], old)
            yield observe(right, request.request, "a root that was not given again is used")
    for turn in conversation.turns:
        old = _lost_roots(conversation, turn.session, turn.exchange.request)
        for call in ended_calls(turn) if old else ():
            there = [path for path in call.paths if is_under(path, old)]
            if there and call.kind in USES and not may_use(conversation, turn.session, there[0], call.end):
                yield observe(not call.is_success, call.end, "a root that was not given again is used")


def _lost_roots(conversation: Conversation, session: str, frame: Frame) -> list[str]:
    """The roots that a session once had, and has no more."""
    setup = setup_at(conversation, session, frame.number)
    if setup is None:
        return []
    earlier = {
        root
        for other_setup in setups(conversation)
        if other_setup.session == session and other_setup.since < setup.since
        for root in other_setup.roots
    }
    return [root for root in earlier if is_absolute(root) and not is_under(root, setup.folders)]


@rule_v1("ADIR-06", side="client", fix="Send the whole list of additional directories on load and resume.")
def roots_are_sent_again(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load", "session/resume"):
        before = setup_at(conversation, session_of(request), request.request.number)
        if before is not None and before.roots and _can(conversation):
            roots = _roots(request)
            if not roots:
                yield observe(False, request.request, "additionalDirectories was not sent again")
            elif type(roots) is list and set(before.roots) <= {text(root) for root in roots}:
                yield kept(request.request)


@rule_v1("ADIR-07", side="agent", fix="Refuse a root that cannot be used; never leave it out in silence.")
def no_root_is_dropped_in_silence(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if (
            _roots(request)
            and _is_good(_roots(request))
            and is_in_stretch(conversation, request.request, "root that is not there")
            and is_fair(conversation, request)
            and request.has_error
        ):
            yield kept(request.request, request.answer)
    for listing in conversation.calls("session/list", direction="to_agent"):
        for item in items(listing.result.get("sessions")):
            setup = setup_at(conversation, text(item.get("sessionId")), listing.request.number)
            listed_roots = item.get("additionalDirectories")
            if setup is not None and setup.roots and type(listed_roots) is list:
                lost_roots = [
                    root
                    for root in setup.roots
                    if not any(is_same(text(listed_root), root) for listed_root in listed_roots)
                ]
                yield observe(not lost_roots, listing.answer, "a root was dropped", setup.exchange.request)


@rule_v1("ADIR-08", side="agent", fix="Resolve relative paths against cwd only.")
def relative_paths_start_at_the_folder_only(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        setup = setup_at(conversation, turn.session, turn.exchange.request.number)
        if setup is None or not setup.roots or not all(map(is_absolute, setup.folders)):
            continue
        paths = touched_paths(turn)
        for name in named_files(turn):
            first = [frame for frame, path in paths if is_same(path, f"{normalize(setup.cwd)}/{name}")]
            in_other_roots = [
                frame
                for frame, path in paths
                if any(is_same(path, f"{normalize(root)}/{name}") for root in setup.roots)
            ]
            if first or in_other_roots:
                frame = (first or in_other_roots)[0]
                yield observe(bool(first), frame, "a relative path was resolved against another root")


@rule_v1("ADIR-10", side="client", fix="Leave out roots that stand twice or are the cwd.")
def roots_stand_once(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if _roots(request) and _is_good(_roots(request)):
            all_of_them = [normalize(root) for root in [*_roots(request), text(request.params.get("cwd"))]]
            once = len(set(all_of_them)) == len(all_of_them)
            yield observe(once, request.request, "a root stands twice, or is the cwd")


@rule_v1("ADIR-11", side="client", fix="Serve only files in the session's folders, links resolved.")
def files_outside_of_the_roots_are_not_served(conversation: Conversation) -> Iterator[Observation]:
    for request in file_requests(conversation):
        setup = setup_at(conversation, session_of(request), request.request.number)
        if setup is None or request.answer is None or not all(map(is_absolute, setup.folders)):
            continue
        outside = not is_under(request.params["path"], setup.folders)
        if outside and (request.has_error or not was_allowed(conversation, request)):
            yield observe(
                request.has_error, request.request, "a file outside of the roots was served", request.answer
            )


@rule_v1("ADIR-12", side="agent", fix="Refuse roots that do not suit a stored session with -32602.")
def roots_of_a_stored_session_are_taken_or_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load", "session/resume"):
        if _roots(request) and _is_good(_roots(request)) and is_fair(conversation, request):
            right = request.has_result or request.code == BAD_PARAMS
            yield observe(right, request.request, "refused in another way than -32602", request.answer)
