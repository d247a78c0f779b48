"""Every fault of the network and of the disk that is tried on an endpoint: its id, what happens, and what
must follow.

The ids without an X are shared with others who try endpoints on the same faults, and have gaps; those with an
X are ours. The name of a test begins with the id. `network_part` makes a part of `tests/faults/FAULTS.md`.
"""

from __future__ import annotations

from typing import NamedTuple

KINDS = {
    "NWS": "WebSocket: texts that are no message, frames that are none",
    "NSE": "Security: who gets in, and what others can do from outside",
    "NHT": "Streamable HTTP: requests that make no sense, streams that break",
    "NBP": "Pressure: too much, too many, and peers that do not read",
    "NLN": "Line: what happens to the connection to an agent on another machine (the hub alone)",
    "PST": "Persistence: what is on disk when the hub is killed, and when the disk fails (the hub alone)",
}

TEXT = """
NWS-01 | a text that is not JSON, before and after initialize | parse error without an id; it stays open
NWS-02 | a number, null, a string or an array as a message | invalid request without an id; it stays open
NWS-04 | a message in 100 fragments with a ping behind each | answered; every ping has its pong
NWS-05 | a ping | a pong with the same bytes
NWS-07 | a reserved opcode | closed with 1002
NWS-08 | a reserved bit | closed with 1002
NWS-10 | a ping of 126 bytes | closed with 1002
NWS-11 | a ping in fragments | closed with 1002
NWS-13 | a close frame with code 999 | closed with 1002
NWS-14 | a frame that claims 2^62 bytes | closed with 1009
NWS-16 | a first message that is not initialize, or one without an id | closed with 1002; no agent was started
NWS-17 | handshakes without a key, of an old version, as a POST | 400, 426, 405
NWS-19 | 1000 updates | all of them in order, before the answer
NWS-X1 | an id of more than 1024 characters, of a request or of a session | an error; the connection stays
NWS-X2 | a second initialize | invalid request; the connection stays
NWS-X3 | binary messages, and answers before anything was asked | mean nothing
NWS-X4 | the server goes | closed with 1001
NWS-X5 | the agent ends | `serve` closes with 1011; a hub ends the turn and starts it again
NWS-X6 | the client is gone in the middle of a turn | the turn ends
NWS-X7 | a text that is not UTF-8 | closed with 1007
NWS-X8 | a message in 100 000 empty fragments | closed with 1008; others are served
NWS-X9 | a million pings, and nobody reads | 16 MiB at most
NSE-01 | a handshake from a page of somebody else | 403
NSE-02 | a handshake for another host | 421
NSE-04 | a post for another host | 421
NSE-05 | the origin null | 403
NSE-07 | no token | 401
NSE-08 | the token in the address | 401
NSE-10 | ids of connections | cannot be guessed
NSE-11 | a post of a kind that any page may send | 415
NSE-13 | 256 KiB of headers, 5000 headers | 400, 431 or closed
NSE-14 | 100 requests that are half sent | others are served
NSE-16 | garbage, noise, TLS instead of HTTP | 400 or closed
NSE-17 | where it listens | loopback only
NSE-X1 | the id of a connection with another token | 404
NSE-X3 | a target that names another host, with a good header | 421
NSE-X2 | a deciding header that stands there twice | 400
NHT-01 | initialize | 200, its answer and the connection's id
NHT-02 | a body that is not JSON | 400
NHT-04 | a number as a body | 400
NHT-05 | an empty body | 400
NHT-07 | a body nested 100 000 deep | 400
NHT-08 | a request without a connection | 400
NHT-10 | a reader that does not want an event stream | 406
NHT-11 | a connection that is not known | 404
NHT-13 | a prompt for a session that is not known | an error on a stream that is read
NHT-14 | DELETE in the middle of a turn | 202, the turn ends; then 404
NHT-16 | a turn of 200 updates | in order over the session's stream, the answer last
NHT-17 | two sessions at once | each stream carries its own
NHT-19 | a stream that breaks in mid-turn and is opened again | what came meanwhile is not lost
NHT-20 | one id as a number and as a string | two answers, each on its stream
NHT-X1 | a batch | 400 and an error that can be read
NHT-X2 | a second initialize | 400
NHT-X3 | a header and a body that name different sessions, a prompt without the header | 400
NHT-X4 | ids of more than 1024 characters | 400
NHT-X5 | a second reader of a stream | 409
NHT-X6 | a stream that is opened late | everything that was said before
NHT-X7 | another method | 405
NHT-X8 | resets in a head, a body, and a stream in mid-turn | others are served; a new stream has the rest
NBP-01 | a WebSocket message of 128 MiB | closed with 1009; 64 MiB at most
NBP-02 | a post of 128 MiB, announced or not | 413; 64 MiB at most
NBP-04 | a message that unpacks to a large one | compression is not negotiated
NBP-05 | a body that unpacks to a large one | 415, not unpacked
NBP-07 | a reader of a stream that stops while 64 MiB are said | 32 MiB at most; others are served
NBP-08 | 200 idle WebSockets | all are served, 512 KiB each at most
NBP-10 | 300 connections opened and dropped | descriptors and memory come back
NBP-11 | a client that vanishes without a goodbye | is noticed; its turn ends
NBP-X1 | a WebSocket that nobody reads | is given up; the turn ends
NBP-X2 | a stream that nobody reads | the connection is given up; then 404
NBP-X3 | a connection without readers, a socket that says nothing | is forgotten
NBP-X4 | many large posts at once | are taken one after the other; all are answered
NBP-X5 | an initialize of 2 MiB | 413
NBP-X7 | a thousand connections by posts that are left alone | a hub forgets the oldest, and lets others in
NBP-X9 | 8 clients that leave in the middle of a message of 15 MiB | 40 MiB at most
NBP-X10 | 1,000 clients at once, on a hub | each is let in; a turn of one of them arrives; all is given back
NBP-X8 | more WebSockets than a hub takes | 503 and why; the owner gets in
NBP-X6 | a prompt of 12 MiB, and little memory | an error, or the connection ends; others are served
NLN-X1 | ssh is cut every second for a whole turn that asks | every word once, in order; asked once
PST-00 | a clean end and a new start (the control) | the turn is back
PST-01 | kill -9 right after a turn was answered | the turn is back
PST-03 | kill -9 at random moments of running turns | what was answered stays; the session loads each time
PST-04 | kill -9 in mid-turn | every update that a client has seen is in the replay
PST-06 | the newest file is cut by 7 bytes | everything before the tear loads; the session goes on
PST-07 | a byte of the stored text is changed on disk | it is never served; other sessions load
PST-09 | the disk is full: a limit on files, a file system without room | an error; with room it goes on
PST-10 | the modes of all files | their owner's alone
PST-12 | the order of writing, syncing and answering | it is on disk before its answer
PST-13 | a second hub on the same journal | is refused, and told who is there
PST-15 | ids that are paths | not found; nothing is read or made
PST-X1 | the journal's file is deleted under a running hub | prompts are refused; a restart has all of it
PST-X4 | a history of 500 MB, kill -9, and it is loaded | in order, within 24 MiB; others are served
PST-X3 | kill -9 with a sealed journal; another key | the turn is back, and nowhere readable; refused
PST-X2 | the disk fails to sync | a prompt that may be stored is not refused; it goes on with the disk
"""

INTRODUCTION = """
# Faults that an endpoint survives

What clients, networks and strangers do to `dragoman serve` and to `dragoman hub`. After each of them the next
client is served. A test whose name begins with the id tries each row on both over real sockets:
`pytest packages/hub/tests/hub/faults -k nws_16`.

Where a turn ends with its client, `detached.on_last_leave` is `cancel`; by default the turn goes on.
"""


class Fault(NamedTuple):
    """One row."""

    name: str
    what: str
    follows: str

    @property
    def kind(self) -> str:
        return self.name.partition("-")[0]


FAULTS = [Fault(*(cell.strip() for cell in text.split(" | "))) for text in TEXT.strip().splitlines()]


def network_part() -> str:
    parts = [INTRODUCTION]
    for kind, title in KINDS.items():
        table = [f"| {row.name} | {row.what} | {row.follows} |" for row in FAULTS if row.kind == kind]
        head = [f"## {title}", "", "| id | what happens | what follows |", "|---|---|---|"]
        parts.append("\n".join([*head, *table, ""]))
    return "\n".join(parts)
