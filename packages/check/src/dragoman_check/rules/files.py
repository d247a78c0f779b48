"""FS: files that a client provides to an agent.

Some things show only in an examination, in stretches marked `write a file`, `write into a missing folder`,
`read a missing file`, `read what is not text`, `read outside`, `read through dots` and `read through a link`.
The fact `written` says whether the first of them did what it should.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.calls import turn_of
from dragoman_check.conversation import Conversation, Exchange, is_update
from dragoman_check.recording import Frame
from dragoman_check.replies import client_capability_at
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.shapes import shape_errors
from dragoman_check.timeline import BAD_PARAMS, NOT_FOUND, has_spoken_after, is_in_stretch, session_of
from dragoman_check.values import is_absolute, normalize, text

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
FLAGS = {READ: "readTextFile", WRITE: "writeTextFile"}
OUTSIDE = ("read outside", "read through dots", "read through a link")
UINT32 = range(2**32)

UNOBSERVED: dict[str, str] = {
    "FS-04": "what an editor holds that was not saved is not on the wire",
}


def _calls(conversation: Conversation, *methods: str) -> list[Exchange]:
    return conversation.calls(*(methods or FLAGS), direction="to_client")


def _calls_in_stretch(conversation: Conversation, *names: str) -> list[Exchange]:
    return [call for call in _calls(conversation) if is_in_stretch(conversation, call.request, *names)]


@rule(
    "FS-01", side="agent", fix="Call fs methods only if the client set the flag of that very method to true."
)
def files_are_asked_for_only_where_they_are_lent(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for call in _calls(conversation):
        right = client_capability_at(conversation, call.request, "fs", FLAGS[call.method]) is True
        yield observe(right, call.request, f"the client did not advertise fs.{FLAGS[call.method]}")
    for turn in conversation.turns:
        lent = [
            client_capability_at(conversation, turn.exchange.request, "fs", flag) is True
            for flag in FLAGS.values()
        ]
        if not all(lent) and turn.end is not None and turn.updates("tool_call", "tool_call_update"):
            yield kept(turn.end)  # it worked without


@rule("FS-02", side="agent", fix="Send sessionId and path; line and limit as numbers; content with a write.")
def requests_for_files_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation):
        faults = shape_errors(call.request, conversation)
        yield observe(not faults, call.request, str(faults[0]) if faults else "")


@rule("FS-03", side="agent", fix="Ask for files by absolute paths.")
def paths_of_files_are_absolute(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation):
        if type(call.params.get("path")) is str:
            yield observe(is_absolute(call.params["path"]), call.request, "path is not absolute")


@rule("FS-05", side="client", fix="Count lines from 1, and give no more of them than limit says.")
def parts_of_a_file_are_those_asked_for(conversation: Conversation) -> Iterator[Observation]:
    for read, whole in _reads_of_known_texts(conversation):
        line, limit = read.params.get("line"), read.params.get("limit")
        start = line if type(line) is int else 1
        count = limit if type(limit) is int else len(whole)
        expected_lines = whole[start - 1 : start - 1 + count] if start > 0 and count > 0 else []
        if expected_lines and read.has_result and (line is not None or limit is not None):
            right = _plain(_lines(text(read.result.get("content")))) == _plain(expected_lines)
            yield observe(right, read.answer, "these are other lines than those asked for", read.request)


def _reads_of_known_texts(conversation: Conversation) -> Iterator[tuple[Exchange, list[str]]]:
    """Reads of files whose text is known, because it was just read or written and nothing else happened."""
    texts: dict[str, list[str]] = {}
    files = {call.request.number: call for call in _calls(conversation)}
    for frame in conversation.frames:
        if _may_change_files(frame):
            texts.clear()
        request = files.get(frame.number)
        if request is None:
            continue
        path = normalize(text(request.params.get("path")))
        if request.method == WRITE:
            texts.pop(path, None)
            if request.has_result or (request.answer is not None and "result" in request.answer.message):
                texts[path] = _lines(text(request.params.get("content")))
        elif request.params.get("line") is None and request.params.get("limit") is None:
            texts.pop(path, None)
            if request.has_result:
                texts[path] = _lines(text(request.result.get("content")))
        elif path in texts:
            yield request, texts[path]


def _may_change_files(frame: Frame) -> bool:
    changes = ("terminal/create", "session/prompt", "session/request_permission")
    return frame.method in changes or is_update(frame, "tool_call", "tool_call_update")


def _lines(content: str) -> list[str]:
    return [line.removesuffix("\r") for line in content.split("\n")]


def _plain(lines: list[str]) -> list[str]:
    """The text without a final newline, which no rule demands."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


@rule("FS-06", side="client", fix="Answer reads of line 0, past the end, and of no lines.")
def odd_reads_are_answered(conversation: Conversation) -> Iterator[Observation]:
    texts = {read.request.number: whole for read, whole in _reads_of_known_texts(conversation)}
    for call in _calls(conversation, READ):
        line, limit = call.params.get("line"), call.params.get("limit")
        whole = texts.get(call.request.number)
        past = whole is not None and type(line) is int and line > len(whole)
        if (type(line) is int and line == 0) or (type(limit) is int and limit == 0) or past:
            yield from observe_answer(conversation, call)


def observe_answer(conversation: Conversation, exchange: Exchange) -> Iterator[Observation]:
    """Observe that there is any answer."""
    if exchange.answer is not None:
        yield kept(exchange.answer)
    elif has_spoken_after(conversation, exchange.request, "client"):
        yield observe(False, exchange.request, "it was never answered")


@rule("FS-07", side="client", fix="Make a file that is written to if there is none.")
def a_write_makes_a_file(conversation: Conversation) -> Iterator[Observation]:
    is_written = conversation.recording.facts.get("written")
    for call in _calls_in_stretch(conversation, "write a file"):
        if call.answer is not None:
            right = not call.has_error and is_written is not False
            yield observe(right, call.answer, "a new file could not be written", call.request)
    for failed_read, write in _missing(conversation):
        yield kept(write.answer, failed_read.request)


def _missing(conversation: Conversation) -> Iterator[tuple[Exchange, Exchange]]:
    """Reads that failed, each with the write that made the file in the same turn."""
    failed_reads: dict[str, Exchange] = {}
    good_paths: set[str] = set()
    for call in _calls(conversation):
        path = normalize(text(call.params.get("path")))
        if call.method == WRITE and call.answer is not None and not call.has_error and path in failed_reads:
            if session_of(failed_reads[path]) == session_of(call):
                yield failed_reads[path], call
            del failed_reads[path]
        elif call.method == READ and call.has_error and path not in good_paths and call.code != BAD_PARAMS:
            failed_reads[path] = call
        if call.answer is not None and not call.has_error:
            good_paths.add(path)


@rule("FS-08", side="client", fix="Answer a write into a folder that is not there.")
def a_write_into_a_missing_folder_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls_in_stretch(conversation, "write into a missing folder"):
        yield from observe_answer(conversation, call)


@rule("FS-09", side="client", fix="Answer a write with an empty object.", versions=(1,))
def a_write_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, WRITE):
        if call.answer is not None and not call.has_error:
            right = type(call.answer.message.get("result")) in (dict, type(None))
            yield observe(right, call.answer, "the result of a write is neither an object nor null")


@rule("FS-09", side="agent", fix="Accept null as the result of a write.", versions=(1,))
def null_is_a_result_of_a_write(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, WRITE):
        if call.answer is None or call.answer.message.get("result", 0) is not None:
            continue
        turn = turn_of(conversation, call.request, session_of(call))
        if turn is not None and turn.exchange.answer is not None:
            why = "the turn failed after null was the result of a write"
            yield observe(turn.exchange.has_result, turn.exchange.answer, why, call.answer)


@rule("FS-10", side="client", fix="Answer a read of a file that is not there with -32002.")
def a_missing_file_is_not_found(conversation: Conversation) -> Iterator[Observation]:
    missing = _calls_in_stretch(conversation, "read a missing file")
    for failed_read in [*missing, *(read for read, _ in _missing(conversation) if read not in missing)]:
        if failed_read.answer is not None:
            yield observe(
                failed_read.code == NOT_FOUND,
                failed_read.answer,
                "a missing file is not answered with -32002",
            )


@rule("FS-11", side="client", fix="Resolve dots and links before you look whether a file was lent.")
def what_was_not_lent_stays_closed(conversation: Conversation) -> Iterator[Observation]:
    calls = [call for call in _calls_in_stretch(conversation, *OUTSIDE) if call.answer is not None]
    if any(call.has_error for call in calls):  # who lets everything through has never said that it would not
        for call in calls:
            yield observe(call.has_error, call.answer, "a file outside was read by a detour", call.request)


@rule("FS-12", side="client", fix="Answer a read of what is not text with an error.")
def what_is_no_text_is_not_read(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls_in_stretch(conversation, "read what is not text"):
        if call.answer is not None:
            yield observe(call.has_error, call.answer, "bytes that are not text were given out as text")


@rule("FS-13", side="client", fix="Answer a line or a limit that is not a number with -32602.")
def a_bad_line_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, READ):
        if call.answer is not None and any(_is_bad(call.params.get(name)) for name in ("line", "limit")):
            yield observe(call.code == BAD_PARAMS, call.answer, "not refused with -32602", call.request)


def _is_bad(number: object) -> bool:
    return number is not None and (type(number) is not int or number not in UINT32)
