"""Every fault that is tried here: its id, what happens, and what must follow.

The ids without an X are shared with others who try agents on the same faults, and have gaps; those with an X
are ours. `page` makes `tests/faults/FAULTS.md` of it.
"""

from __future__ import annotations

from typing import NamedTuple

KINDS = {
    "FRM": "Framing: how messages are cut out of the stream",
    "JSN": "JSON: texts that are none, and values that are hard",
    "ENV": "Envelopes: the shell of a message, its parameters, failing handlers",
    "LIF": "Lifecycle: initialize, versions, sessions",
    "CAN": "Cancellation: in time, too late, too often",
    "PER": "Permission: what counts as a yes",
    "SUP": "Supervision: ends, signals, children, descriptors",
    "BPR": "Back-pressure: clients that do not read, floods, long runs",
}

TEXT = """
FRM-01 | lines end in CR LF | answered as if in LF
FRM-02 | blank lines, and lines of white space, between messages | ignored
FRM-04 | a message arrives one byte a write | answered once
FRM-05 | 1000 requests in one write | 1000 answers, in order
FRM-07 | a byte order mark before the first message | answered
FRM-08 | NUL bytes, alone and around a message | parse error
FRM-10 | 64 KiB of random bytes | a parse error for each line, nothing else on stdout
FRM-11 | the byte FF inside a string | parse error, never a replaced character
FRM-13 | a message in UTF-16 | parse error
FRM-14 | a message of 1 MiB | comes back whole
FRM-16 | 256 MiB without a newline | memory grows by 128 MiB at most
FRM-17 | half a message, nothing for a while, the other half | answered
FRM-19 | two objects on one line | one parse error, neither is run
FRM-20 | U+2028, U+2029, U+0085 and escaped control characters in a text | they are text
FRM-X1 | blanks, tabs and carriage returns around a message | mean nothing
FRM-X2 | a million empty lines, a million blanks | mean nothing
FRM-X3 | a byte order mark before a later message | parse error
FRM-X4 | overlong, truncated and impossible UTF-8, Latin-1 | parse error
FRM-X5 | UTF-32, UTF-16 without a mark | parse error
FRM-X6 | a carriage return alone between two messages | one parse error, neither is run
FRM-X7 | record separators, event stream fields, colours before a message | parse error
FRM-X8 | a raw vertical tab and form feed inside a string | parse error, no line break
FRM-X9 | a character cut between two writes | comes back whole
FRM-X10 | a message spread over five lines | five parse errors, nothing is run
FRM-X11 | a Content-Length header before a message | the header is refused, the message answered
FRM-X12 | bad lines between good ones in one write | each costs only itself, order is kept
FRM-X13 | messages of exactly the size of pages, pipes and reads | answered
FRM-X14 | 2000 notifications in one write | silence
FRM-X15 | a stream cut at random places | every answer with its id
FRM-X16 | the very first lines are garbage | refused; initialize behind them works
FRM-X17 | the input ends without a newline behind the last message | answered, exit status 0
FRM-X18 | the input ends in the middle of a message | parse error, not run, exit status 0
FRM-X19 | a line above the limit, then a good message | refused once, then answered
FRM-X20 | the input ends within an endless line | exit status 0
FRM-X21 | a message of 16 MiB | comes back whole
FRM-X22 | ten messages of 8 MiB | memory does not grow with their number
FRM-X23 | a message of 64 MiB | answered; the memory is given back
FRM-X24 | half a megabyte of an executable | refused line by line
JSN-01 | a comma too many | parse error without an id
JSN-02 | single quotes | parse error without an id
JSN-04 | leading zeros, plus signs, hexadecimal numbers | parse error without an id
JSN-05 | an object cut at any place | parse error without an id
JSN-07 | a number as a message | invalid request without an id
JSN-08 | a string as a message | invalid request without an id
JSN-10 | true as a message | invalid request without an id
JSN-11 | an empty array | invalid request without an id
JSN-13 | a batch of two requests | one invalid request, neither is run
JSN-14 | NaN and Infinity | parse error
JSN-16 | arrays nested 100 000 deep | refused
JSN-17 | objects nested 5000 deep in the _meta of a prompt | answered or refused
JSN-19 | numbers of 5000 digits and beyond any exponent | answered or refused, no Infinity
JSN-20 | method, id or params named twice | invalid request
JSN-22 | half a surrogate pair in an id | echoed or refused, no broken line
JSN-23 | half a surrogate pair in a method | unknown method
JSN-25 | member names that mean something to some language | mean nothing, now and later
JSN-26 | 100 000 members in _meta | answered in five seconds
JSN-28 | emoji, both directions, combining and astral characters | come back code point for code point
JSN-29 | more than sixty malformed texts | each is refused
JSN-31 | unusual but allowed JSON, and a suite of it if one is given | no harm
JSN-X1 | bare names, comments | parse error
JSN-X2 | raw control characters in strings | parse error
JSN-X3 | escapes that do not exist | parse error
JSN-X4 | the constants of other languages | parse error
JSN-X5 | numbers without their digits | parse error
JSN-X6 | something before or behind the message | parse error
JSN-X7 | null and false as messages | invalid request
JSN-X8 | batches of one, of notifications, of nothing sensible | invalid request
JSN-X9 | objects that are no message | invalid request
JSN-X10 | a malformed text between two requests | both are answered
JSN-X11 | allowed JSON of every form as params | read as JSON
JSN-X12 | objects nested 100 000 deep | refused
JSN-X13 | arrays and objects nested 100 000 deep | refused
JSN-X14 | a million open brackets | refused
JSN-X15 | many depths between sixty and ten thousand | each is read or refused
JSN-X16 | a version that is too large a number | refused
JSN-X17 | a member named twice, once with an escape | invalid request
JSN-X18 | a parameter named twice | one answer
JSN-X19 | half a surrogate pair in a prompt | the turn goes on
JSN-X20 | an array of a million numbers | answered in five seconds
JSN-X21 | a member name of two million characters | answered in five seconds
JSN-X22 | the same name 100 000 times | answered in five seconds
JSN-X23 | a text of escapes only | answered in five seconds
JSN-X24 | control characters, marks and noncharacters in a text | come back code point for code point
JSN-X25 | text that looks like escapes and messages | comes back as it is
JSN-X26 | text that looks like templates and code | comes back as it is
JSN-X27 | member names written with escapes | are the same names
ENV-01 | no jsonrpc member | invalid request
ENV-02 | jsonrpc 1.0 | invalid request
ENV-04 | an object as id | invalid request
ENV-05 | an array as id | invalid request
ENV-07 | null as method | invalid request
ENV-08 | an object as method | invalid request
ENV-10 | the ids 1 and "1" at the same time | an answer each, with its type
ENV-11 | an id that is still in use | refused; both are answered
ENV-13 | methods that do not exist | unknown method
ENV-14 | an extension that nobody knows | unknown as a request, ignored as a notification
ENV-16 | an array as params | invalid params
ENV-17 | no params | invalid params
ENV-19 | content blocks of unknown types | refused or left out
ENV-20 | answers to requests that were never sent | ignored
ENV-22 | answers with result and error, or neither | ignored
ENV-23 | members that nobody knows | ignored
ENV-25 | a prompt without an id, for a session that does not exist | silence
ENV-26 | _meta with the names of parameters | never overrides a parameter
ENV-28 | a handler fails with a secret in its reason | an internal error that says nothing
ENV-29 | 3000 mutated messages | it lives, stdout is clean, no traceback
ENV-X1 | jsonrpc as a number, null, almost right | invalid request
ENV-X2 | booleans and fractions as ids | invalid request
ENV-X3 | numbers, booleans and arrays as methods | invalid request
ENV-X4 | notifications with a wrong shell | invalid request
ENV-X5 | an id that was answered is used again | answered again
ENV-X6 | ids of every size and script | come back as they were
ENV-X7 | whole numbers beyond 64 bits as ids | echoed or refused
ENV-X8 | null as id | answered
ENV-X9 | empty, reserved and odd methods | unknown method
ENV-X10 | methods named like things inside | unknown method
ENV-X11 | methods of the other side | unknown method
ENV-X12 | notifications sent as requests | unknown method
ENV-X13 | a method of a million characters | unknown method, in a short answer
ENV-X14 | requests sent as notifications | silence
ENV-X15 | errors and answers of every wrong form | silence
ENV-X16 | cancels with senseless params | silence
ENV-X17 | notifications with senseless params | silence
ENV-X18 | a prompt without an id, for a session that exists | silence, and no turn
ENV-X19 | method, result and error in one message | one answer
ENV-X20 | 1000 bad messages in one write | 1000 refusals
ENV-X21 | a secret in what is refused | is not repeated
ENV-X22 | numbers, strings and booleans as params | refused
ENV-X23 | null as params | invalid params
ENV-X24 | content blocks without what they need | refused or left out
ENV-X25 | parameters of the wrong type, or missing | invalid params
ENV-X26 | an MCP server of an unknown kind, with a command | refused, never started
ENV-X27 | _meta with what is missing | is no substitute
ENV-X28 | _meta that is no object | no harm
ENV-X29 | a handler fails by exit, recursion, memory, groups, nonsense | one internal error each
ENV-X30 | 3000 other mutated messages | it lives, stdout is clean, no traceback
ENV-X31 | ids written with points and exponents | invalid request
LIF-01 | a session before initialize | an error; then initialize works
LIF-02 | a prompt for an unknown session | not found
LIF-04 | versions that are not spoken | answered with one that is
LIF-05 | versions that are none | invalid params; can be corrected
LIF-07 | a folder that does not exist | answered in time
LIF-08 | an MCP server that cannot start | answered in time
LIF-10 | loading an unknown session | unknown method if not offered, else not found
LIF-11 | two prompts at once in one session | both are answered
LIF-13 | session ids | 64 bits that cannot be guessed
LIF-14 | two sessions stream at once | nothing is mixed
LIF-16 | a session waits for permission | another is not held up
LIF-X1 | a prompt before initialize | an error; then all works
LIF-X2 | an extension before initialize | an error; then all works
LIF-X3 | notifications before initialize | ignored
LIF-X4 | initialize and 48 sessions in one write | all answered, initialize first
LIF-X5 | versions of every wrong type | invalid params; can be corrected
LIF-X6 | capabilities and client info that nobody knows | initialize works
LIF-X7 | initialize again, and in the middle | repeated, then refused
LIF-X8 | a session that could not be loaded, also with a path for its name | is not there
LIF-X9 | a session whose handler failed | an internal error, and no session
LIF-X10 | content that was not offered | invalid params
LIF-X11 | methods that were not offered | unknown method
LIF-X12 | a request taken back while initialize is answered | both are answered
LIF-X13 | unknown sessions with odd and long names | not found
LIF-X14 | names that are almost a session's | not found
LIF-X15 | a device for a folder | answered in time
LIF-X16 | folders that are not absolute | invalid params
LIF-X17 | five streaming prompts in one session | one after the other, nothing is mixed
LIF-X18 | 500 prompts at once in one session | all are answered, some refused
LIF-X19 | prompts without anything in them | answered or refused
LIF-X20 | a prompt of ten thousand blocks | one turn
LIF-X21 | modes that do not exist | invalid params, nothing changes
LIF-X22 | a hundred sessions prompted in one write | each gets its own
LIF-X23 | closing a session in the middle of its turn | the turn is answered first; then it is gone
CAN-01 | a cancel in the middle of a turn | cancelled in two seconds
CAN-02 | a cancel without a turn | silence; the next turn runs
CAN-04 | a hundred cancels | one answer
CAN-05 | cancels for unknown sessions, with broken params | ignored
CAN-07 | a cancel, and at once a new prompt | the new turn runs
CAN-08 | a prompt is taken back by its id | cancelled in three seconds
CAN-10 | taken back with an id of another type | nothing is cancelled
CAN-11 | a cancel while permission is pending | cancelled, the tool is not run
CAN-13 | a hundred cancels at random moments | a hundred answers, none an error
CAN-X1 | a cancel in the middle of a stream | cancelled, and not a word behind the answer
CAN-X2 | prompt and cancel in one write | cancelled
CAN-X3 | a cancel just before the prompt | the turn runs
CAN-X4 | requests taken back that do not exist, by ids of every type | ignored
CAN-X5 | a cancel in one session | the others go on
CAN-X6 | a cancel with five prompts waiting | all five are cancelled
CAN-X7 | a waiting prompt is taken back | it alone
CAN-X8 | an answered request is taken back | silence
CAN-X9 | cancels sent as requests | unknown method, nothing is cancelled
CAN-X10 | both cancels at once, twice | one answer
CAN-X11 | prompts, cancels and closings in any order | no request stays open
CAN-X12 | a cancel, and the permission is never answered | cancelled; the question is taken back
CAN-X13 | a yes behind the cancel | cancelled, the tool is not run
CAN-X14 | a cancel while children run | cancelled, the children are gone
CAN-X15 | a handler fails when it is cancelled | cancelled, no error
CAN-X16 | a handler ends as if nothing was | cancelled
CAN-X17 | a handler ignores its cancellation | cancelled in two seconds, and it is not heard any more
CAN-X18 | a handler blocks its thread | cancelled in two seconds
PER-01 | a no | the tool is not run
PER-02 | an option that was not offered | the tool is not run
PER-04 | an error for an answer | the tool is not run
PER-05 | a string and null for an error | the tool is not run
PER-07 | a yes three times | the tool is run once
PER-08 | the input ends while it asks | the tool is not run, it ends in time
PER-09 | a yes | the tool is run: the other rows measure something
PER-X1 | the outcome cancelled | the tool is not run
PER-X2 | the name of an option for its id | the tool is not run
PER-X3 | the id in capitals | the tool is not run
PER-X4 | the id with a blank | the tool is not run
PER-X5 | an empty id | the tool is not run
PER-X6 | null for the id | the tool is not run
PER-X7 | the id in an array | the tool is not run
PER-X8 | an outcome that is no object | the tool is not run
PER-X9 | the id for the outcome | the tool is not run
PER-X10 | cancelled, with an option | the tool is not run
PER-X11 | an option without an outcome | the tool is not run
PER-X12 | an unknown outcome with an option | the tool is not run
PER-X13 | a yes in _meta alone | the tool is not run
PER-X14 | an empty object | the tool is not run
PER-X15 | null | the tool is not run
PER-X16 | true | the tool is not run
PER-X17 | a string | the tool is not run
PER-X18 | a yes in an array | the tool is not run
PER-X19 | a no with a yes in its _meta | the tool is not run
PER-X20 | error objects of every wrong form | the tool is not run
PER-X21 | a no and then a yes | the first counts
PER-X22 | a yes under ids that are almost right | is no answer
PER-X23 | a yes in a batch, beside an error, in a request | is no answer
PER-X24 | a yes before the question | is no answer
PER-X25 | two questions at once, answered in reverse | each has its own
PER-X26 | SIGTERM while it asks | the tool is not run
PER-X27 | SIGKILL while it asks | the tool is not run
PER-X28 | SIGINT while it asks | the tool is not run
PER-X29 | a yes with members that nobody knows | the tool is run
PER-X30 | the session is closed while it asks, then a yes | cancelled, the tool is not run
SUP-01 | the input ends while idle | exit status 0 in five seconds
SUP-02 | the input ends in the middle of a turn | gone in five seconds
SUP-04 | SIGTERM while idle | gone in five seconds
SUP-05 | SIGTERM in the middle of a turn | gone in five seconds
SUP-07 | the client closes the output in the middle of a stream | gone in five seconds
SUP-08 | the client closes stderr | goes on
SUP-10 | stopped for a while | answers all that was sent meanwhile
SUP-11 | the input ends while children run | the children are gone too
SUP-13 | a child ends | it is reaped
SUP-14 | files for input and output | answers into the file, exit status 0
SUP-X1 | SIGINT while idle | gone in five seconds, without a traceback
SUP-X2 | SIGINT in the middle of a turn | gone in five seconds, without a traceback
SUP-X3 | SIGTERM while children run | the children are gone too
SUP-X4 | SIGINT while children run | the children are gone too
SUP-X5 | SIGHUP while children run | the children are gone too
SUP-X6 | SIGKILL while children run | the children are gone too
SUP-X7 | the input ends in the middle of the first message | gone in five seconds
SUP-X8 | SIGTERM while it starts | gone in five seconds
SUP-X9 | the input ends while 200 turns run | gone in five seconds
SUP-X10 | the input ends and a handler ignores its cancellation | gone in five seconds
SUP-X11 | SIGTERM and a handler ignores its cancellation | gone in five seconds
SUP-X12 | the input ends and a handler blocks its thread | gone in five seconds
SUP-X13 | SIGTERM and a handler blocks its thread | gone in five seconds
SUP-X14 | SIGTERM and a handler blocks the event loop | gone in five seconds
SUP-X15 | stopped in the middle of a stream | the stream is whole
SUP-X16 | SIGTERM while stopped | gone when it goes on
SUP-X17 | ten times SIGTERM | one orderly end
SUP-X18 | signals that mean nothing | nothing
SUP-X19 | 10 000 requests from a file | as many answers in the file, in order
SUP-X20 | the null device for input | exit status 0
SUP-X21 | no input at all | exit status 0
SUP-X22 | no standard descriptors at all | exit status 0
SUP-X23 | the null device for input, a full one for output | exit status 0
SUP-X24 | no output at all | it ends
SUP-X25 | a full device for output | it ends
SUP-X26 | no stderr at all | stdout holds messages and nothing else
SUP-X27 | one socket for input and output | works
SUP-X28 | a terminal for input and output | works
SUP-X29 | the client closes the output while idle | gone at the next word
SUP-X30 | the same, and the client goes on writing | it does not spin
SUP-X31 | nobody reads stderr | goes on
SUP-X32 | code, children and C libraries print to stdout | on stderr, never on the wire
SUP-X33 | children of the agent | do not hold the wire
SUP-X34 | its folder is removed | goes on
SUP-X35 | an empty environment | no text is changed
SUP-X36 | an ASCII locale | no text is changed
SUP-X37 | a debugging environment without folders | no text is changed
SUP-X38 | thirty trees of children, one after the other | no descriptor is left
SUP-X39 | a child is killed | the turn ends, the child is reaped
SUP-X40 | two dozen descriptors allowed | enough
SUP-X41 | started with SIGINT ignored | SIGINT stays ignored
BPR-01 | nobody reads while 64 MiB are streamed | 32 MiB at most; then all of it, in order
BPR-02 | nobody reads; SIGTERM | gone in five seconds
BPR-04 | 20 000 requests, and nobody reads | 16 MiB at most; then an answer each
BPR-05 | 50 000 unknown notifications | 64 MiB at most; answers at once
BPR-07 | 200 sessions that were left | no descriptors
BPR-08 | three idle seconds after a turn | 5 % of a processor at most
BPR-X1 | nobody reads; the input ends | gone in five seconds
BPR-X2 | nobody reads; SIGINT | gone in five seconds
BPR-X3 | nobody reads; a cancel | it is heard
BPR-X4 | nobody reads for a while | it does not spin
BPR-X5 | 15 000 lines of garbage, and nobody reads | 5 MiB at most; then a refusal each
BPR-X6 | 800 turns, and nobody reads | 24 MiB at most; then an answer each
BPR-X7 | 32 answers of a megabyte, and nobody reads | 16 MiB at most; then all of them
BPR-X8 | a client that reads byte by byte | gets everything
BPR-X9 | 10 000 requests before initialize | 4 MiB at most, a refusal each
BPR-X10 | 200 000 notifications to a handler that waits | 64 MiB at most
BPR-X11 | 20 000 requests to a handler that waits | 40 MiB at most; an answer each
BPR-X12 | 1800 sessions made and closed | no memory
BPR-X13 | 3000 turns | no memory, no descriptors
BPR-X14 | 1000 turns at once | 64 MiB at most; an answer each
BPR-X15 | 10 000 cancels | one answer, no memory
BPR-X16 | 10 000 answers that nobody asked for | silence, no memory
BPR-X17 | a waiting turn and half a message | it sleeps
BPR-X18 | 12 MiB in one message, and little memory | a refusal, or an answer; the next turn is answered
"""


class Fault(NamedTuple):
    """One row."""

    name: str
    what: str
    follows: str

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]


def _rows() -> dict[str, Fault]:
    rows = [Fault(*(cell.strip() for cell in text.split(" | "))) for text in TEXT.strip().splitlines()]
    assert len({row.name for row in rows}) == len(rows), "an id stands twice"
    return {row.name: row for row in rows}


FAULTS = _rows()
