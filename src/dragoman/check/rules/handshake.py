"""INIT: the handshake itself: who says what first, and which version comes out of it.

What follows from the capabilities that were exchanged is judged in `capabilities`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.check.manifest import Side
from dragoman.check.recording import Frame
from dragoman.check.replies import asked_of, fell_silent, proof, restarts, said, spoke_after
from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.rules.requests import is_ready
from dragoman.check.shapes import read_frame, shape_errors, table
from dragoman.check.story import Exchange, Story, update_of
from dragoman.check.walks import judged

VERSIONS = range(65536)
KNOWN = (1, 2)
"""Versions that exist; whoever agrees to another one has not looked."""

ONLY_V2 = frozenset({"state_update", "agent_message", "agent_thought", "user_message"})
"""Kinds of updates that version 1 never had."""

UNOBSERVED: dict[str, str] = {
    "INIT-24": "what a client displays cannot be seen on the wire",
    "INIT-27": "which block a side reads shows only in whether it keeps to the capabilities, see INIT-12",
}


def handshakes(story: Story) -> list[Exchange]:
    """All of them up to the first that succeeded, that one included."""
    found = []
    for one in story.calls("initialize", direction="to_agent"):
        found.append(one)
        if one.has_result:
            break
    return found


def wanted(one: Exchange) -> Any:
    """The version that was asked for if it is one, else None."""
    version = one.params.get("protocolVersion")
    return version if type(version) is int and version in VERSIONS else None


def info_of(fields: dict[str, Any], name: str) -> Any:
    """Who a side says it is; version 2 calls it `info`."""
    return fields.get(name, fields.get("info"))


@rule("INIT-01", side="client", fix="Send initialize first, and wait for its answer before anything else.")
def nothing_is_asked_before_the_handshake_is_over(story: Story) -> Iterator[Seen]:
    asked = story.calls(direction="to_agent")
    if not asked:
        return
    first = story.initialize
    if first is None:
        # A recording that begins in the middle looks the same, except for what it begins with.
        if story.frames[0].method in ("session/new", "authenticate"):
            yield kept_if(False, story.frames[0], "a conversation without initialize")
        return
    end = first.answer.number if first.answer is not None else story.frames[-1].number + 1
    early = [one for one in asked if one.request.number < end and one.method != "initialize"]
    yield kept_if(
        not early, early[0].request if early else first.request, "sent before initialize was answered"
    )


@rule("INIT-02", side="client", fix="Send protocolVersion as one integer from 0 to 65535.")
def the_client_names_one_version(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        why = "protocolVersion is no integer from 0 to 65535"
        yield kept_if(wanted(one) is not None, one.request, why)


@rule("INIT-03", side="client", fix="Send clientCapabilities as an object that says what the client can do.")
def the_client_says_what_it_can(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        name = "capabilities" if wanted(one) == 2 and "capabilities" in one.params else "clientCapabilities"
        if name in one.params:
            wrong = [found for found in _all_errors(one.request, story) if f"$.{name}" in found]
            fine = type(one.params[name]) is dict and not wrong
            yield kept_if(fine, one.request, wrong[0] if wrong else f"{name} is no object")


def _all_errors(frame: Frame, story: Story) -> list[str]:
    return [str(found) for found in shape_errors(frame, story)]


@rule("INIT-04", side="client", fix="Send clientInfo with name and version.")
def the_client_says_who_it_is(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        yield _introduced(info_of(one.params, "clientInfo"), one.request, "clientInfo")


@rule("INIT-10", side="agent", fix="Answer initialize with agentInfo: name and version.")
def the_agent_says_who_it_is(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        if one.has_result and one.answer is not None:
            yield _introduced(info_of(one.result, "agentInfo"), one.answer, "agentInfo")


def _introduced(info: Any, frame: Frame, name: str) -> Seen:
    fields = info if type(info) is dict else {}
    missing = [key for key in ("name", "version") if type(fields.get(key)) is not str or not fields[key]]
    return kept_if(not missing, frame, f"{name} has no {missing[0]}" if missing else "")


@rule("INIT-05", side="agent", fix="Answer initialize with protocolVersion and agentCapabilities.")
def the_agent_answers_with_version_and_capabilities(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        if one.answer is None or one.has_error:
            continue
        version = one.result.get("protocolVersion")
        if type(version) is not int or version not in VERSIONS:
            yield kept_if(False, one.answer, "protocolVersion is no integer from 0 to 65535")
            continue
        if _is_first_shape(one):
            continue  # judged by INIT-07
        # Ways to log in have rules of their own.
        wrong = [text for text in _all_errors(one.answer, story) if not text.startswith("$.authMethods")]
        yield kept_if(not wrong, one.answer, wrong[0] if wrong else "")


def _is_first_shape(one: Exchange) -> bool:
    """Whether an answer agrees to version 2 in the words of version 1."""
    is_second = one.result.get("protocolVersion") == 2
    return is_second and "agentCapabilities" in one.result and "capabilities" not in one.result


@rule("INIT-06", side="agent", fix="Answer with the version that was asked for if you speak it.")
def a_version_that_exists_is_agreed_upon(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        odd = read_frame(one.request, story).refused is not None or _is_malformed(one.request, story)
        if wanted(one) == 1 and one.answer is not None and not (odd and one.has_error):
            # An agent that speaks the second version only says so.
            fine = one.has_result and one.result.get("protocolVersion") in KNOWN
            yield kept_if(
                fine, one.answer, "version 1 was asked for, and is not answered with 1", one.request
            )
        elif wanted(one) == 2 and one.result.get("protocolVersion") == 2 and not _is_first_shape(one):
            yield kept_if(True, one.answer, "")


@rule("INIT-07", side="agent", fix="Answer a version you do not speak with the latest one you speak.")
def an_unknown_version_is_answered_with_the_latest(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        version = wanted(one)
        if version is None or version < 2 or one.answer is None:
            continue
        if one.has_error:
            yield kept_if(False, one.answer, "a version the agent does not speak is an error", one.request)
        elif one.result.get("protocolVersion") == version and version not in KNOWN:
            yield kept_if(False, one.answer, "a version that does not exist was agreed upon", one.request)
        elif _is_first_shape(one):
            yield kept_if(
                False, one.answer, "version 2 was agreed upon, in an answer of version 1", one.request
            )
        elif one.result.get("protocolVersion") != version:
            yield kept_if(one.result.get("protocolVersion") in KNOWN, one.answer, "no version that exists")


@rule(
    "INIT-08",
    side="agent",
    fix="Answer a version below all of yours with one you speak, or say what you speak.",
)
def a_version_below_all_is_answered(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        if wanted(one) == 0 and one.answer is not None:
            fine = one.result.get("protocolVersion") in KNOWN or one.code in (-32022, -32602)
            yield kept_if(fine, one.answer, "version 0 was answered with something else", one.request)


@rule(
    "INIT-09", side="client", fix="Close the connection if the agent answers with a version you do not speak."
)
def a_client_leaves_if_it_does_not_speak_the_version(story: Story) -> Iterator[Seen]:
    one = story.initialize
    if one is None or one.answer is None or not one.has_result:
        return
    asked, got = wanted(one), one.result.get("protocolVersion")
    if asked is not None and type(got) is int and got > asked:
        later = [
            frame for frame in said(story, "client") if frame.number > one.answer.number and frame.is_request
        ]
        yield kept_if(not later, one.answer, "the client went on with it", later[0] if later else None)


@rule("INIT-11", fix="Speak the version that was agreed upon, and no words of another one.")
def both_speak_the_agreed_version(story: Story, side: Side) -> Iterator[Seen]:
    if story.initialize is None or not story.initialize.has_result or story.version not in KNOWN:
        return
    other = table(1 if story.version == 2 else 2)
    own = {row.name for row in table(2 if story.version == 2 else 1)}
    foreign = {row.name for row in other} - own

    def why(frame: Frame) -> str:
        if frame.method in foreign:
            return f"{frame.method} is not a method of version {story.version}"
        kind = update_of(frame).get("sessionUpdate") if frame.method == "session/update" else ""
        is_new = story.version == 1 and type(kind) is str and kind in ONLY_V2
        return "a kind of update of version 2" if is_new else ""

    yield from judged((frame for frame in said(story, side) if frame.method), why)


@rule("INIT-15", side="agent", fix="Read a capability of the wrong type as absent.")
def malformed_capabilities_do_not_fail_the_handshake(story: Story) -> Iterator[Seen]:
    for one in handshakes(story):
        if wanted(one) is not None and one.answer is not None and _is_malformed(one.request, story):
            yield kept_if(
                one.has_result, one.answer, "a capability of the wrong type is an error", one.request
            )


@rule("INIT-15", side="client", fix="Read a capability of the wrong type as absent.")
def a_client_lives_with_malformed_capabilities(story: Story) -> Iterator[Seen]:
    one = story.initialize
    if one is None or one.answer is None or not one.has_result or not _is_malformed(one.answer, story):
        return
    if spoke_after(story, "client", one.answer):
        yield kept_if(True, one.answer, "")
    elif story.recording.facts.get("exit") not in (None, 0):
        yield kept_if(False, one.answer, "the client said nothing more after capabilities of the wrong type")


def _is_malformed(frame: Frame, story: Story) -> bool:
    found = read_frame(frame, story).forgiven
    return any(
        one.kind == "bad value" and "apabilities" in one.path and "_meta" not in one.path for one in found
    )


@rule("INIT-16", side="agent", fix="Refuse initialize without an integer protocolVersion with -32602.")
def a_version_that_is_none_is_refused(story: Story) -> Iterator[Seen]:
    for one in story.calls("initialize", direction="to_agent"):
        if wanted(one) is None and one.answer is not None and not is_ready(story, one):
            why = "protocolVersion is missing or no version, and is not refused with -32602"
            yield kept_if(one.code == -32602, one.answer, why, one.request)


@rule("INIT-17", side="agent", fix="Refuse every request before initialize with -32600.")
def nothing_is_done_before_the_handshake(story: Story) -> Iterator[Seen]:
    first = story.initialize
    if first is None:
        return
    tries = story.calls("initialize", direction="to_agent")
    for one in asked_of(story, "agent"):
        if one.request.number > tries[0].request.number:
            return
        if one.answer is None or one.code in (-32000, -32601) or one.method.startswith("_"):
            continue
        if one.answer.number < tries[0].request.number and read_frame(one.request, story).refused is None:
            yield kept_if(one.code == -32600, one.answer, "not refused with -32600", one.request)


@rule("INIT-18", side="agent", fix="Answer a second initialize, with a result or with an error.")
def a_second_handshake_is_answered(story: Story) -> Iterator[Seen]:
    for one in story.calls("initialize", direction="to_agent"):
        if not is_ready(story, one) or one.request.number in restarts(story):
            continue
        if one.answer is not None:
            yield kept_if(True, one.answer, "")
        elif proof(story, "agent").after(one.request.number) or fell_silent(story, "agent", one.request):
            yield kept_if(False, one.request, "a second initialize was never answered")
