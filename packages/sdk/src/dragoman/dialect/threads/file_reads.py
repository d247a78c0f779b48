"""Translates file reads, from a v1 agent to a threads client and from a threads agent to a v1 client.

For a threads agent the v1 client is asked if it has said that it lends such things; otherwise the host is,
which reads below the folders of the session and nowhere else.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from msgspec import UNSET

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Message, Object, as_object, as_text
from dragoman.dialect.threads.exchange import ThreadsEdge
from dragoman.dialect.threads.files import (
    IN_THREADS,
    IN_V1,
    asked_in_threads,
    asked_in_v1,
    needs_whole_text,
    told_in_threads,
    told_in_v1,
    wrong_params,
)
from dragoman.dialect.threads.ledger_notes import Lost
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND

CHANGED = 409
"""Our workspace's error code for a file whose version differs from the expected one."""


class ReadsAtPeer(ThreadsEdge):
    """Reads files at the peer for the v1 side."""

    def read_at_peer(self, message: Message) -> list[Out]:
        method = str(message.method)
        params = asked_in_threads(method, message.params, self.note)
        if params is None:
            return [self.refuse_inside(message.id, INVALID_PARAMS, wrong_params("sessionId", method))]
        return [self.ask_peer(IN_THREADS[method], params, partial(self._read_by_peer, message))]

    def _read_by_peer(self, question: Message, answer: Message) -> list[Out]:
        if answer.error is not UNSET:
            return [self.fail_inside(question.id, answer.error)]
        result = told_in_v1(str(question.method), question.params, answer.result, self.note)
        if result is None:
            return [self.refuse_inside(question.id, INTERNAL_ERROR, "the peer's answer makes no sense")]
        expected_version = as_object(question.params).get("ifVersion")
        if type(expected_version) is str and result.get("version") != expected_version:
            data = {"reason": "changed_since_read", "version": result.get("version")}
            return [self.refuse_inside(question.id, CHANGED, "the file has another version now", data)]
        self.was_read(question, result)
        return [self.tell_inside(question.id, result)]

    def was_read(self, question: Message, fields: Object) -> None:
        """Called after each read, to record it."""


class ReadsForPeer(ThreadsEdge):
    """Reads files for the peer, through v1 or the host."""

    lent_by_client: frozenset[str] = frozenset()
    """The file methods that the v1 client has offered."""

    @abstractmethod
    def folders_of(self, thread_id: str) -> Object | None:
        """Return `cwd` and `additionalDirectories` of a thread; None for an unknown thread."""

    def read_for_peer(self, message: Message) -> list[Out]:
        method = IN_V1[str(message.method)]
        params = asked_in_v1(str(message.method), message.params)
        if params is None:
            return [self.refuse_peer(message.id, INVALID_PARAMS, wrong_params("threadId", method))]
        then = partial(self._read_for_peer, message, params)
        if method in self.lent_by_client:
            return [self.ask_inside(method, params, then)]
        folders = self.folders_of(params["sessionId"])
        if folders is None:
            return [self.refuse_peer(message.id, NOT_FOUND, "there is no such thread")]
        return [self.ask_host(method, {**params, **folders}, then)]

    def _read_for_peer(self, question: Message, params: Object, answer: Message) -> list[Out]:
        if answer.error is not UNSET:
            return [self.fail_peer(question.id, answer.error)]
        if needs_whole_text(str(question.method), params, answer.result):
            whole = {name: params[name] for name in ("sessionId", "path")}
            then = partial(self._read_whole, question, answer)
            return [self.ask_inside("fs/read_text_file", whole, then)]
        if self._may_be_unsaved(question, answer):
            start = {"sessionId": params["sessionId"], "path": params["path"], "line": 1, "limit": 1}
            return [self.ask_inside("fs/read_text_file", start, partial(self._read_start, question, answer))]
        return self._tell_read(question, answer)

    def _may_be_unsaved(self, question: Message, answer: Message) -> bool:
        """Whether the host has found nothing, and an editor may have it all the same."""
        return (
            question.method == "stat"
            and as_object(answer.result).get("exists") is not True
            and "_dragoman/fs/stat" not in self.lent_by_client
            and "fs/read_text_file" in self.lent_by_client
        )

    def _read_start(self, question: Message, status: Message, answer: Message) -> list[Out]:
        """What an editor can read is there, saved or not."""
        if answer.error is UNSET and type(as_object(answer.result).get("content")) is str:
            return [self.tell_peer(question.id, {"exists": True, "isDirectory": False})]
        return self._tell_read(question, status)

    def _read_whole(self, question: Message, excerpt: Message, answer: Message) -> list[Out]:
        """A version names the whole file, whatever was read of it."""
        text = as_object(answer.result).get("content")
        if answer.error is UNSET and type(text) is str:
            return self._tell_read(question, excerpt, whole=text)
        self.note(Lost.EXCERPT_VERSIONS)
        return self._tell_read(question, excerpt)

    def _tell_read(self, question: Message, answer: Message, *, whole: str | None = None) -> list[Out]:
        result = told_in_threads(str(question.method), answer.result, self.note, whole=whole)
        if result is None:
            return [self.refuse_peer(question.id, INTERNAL_ERROR, "the answer makes no sense")]
        return [self.tell_peer(question.id, result)]


def lent_by(client: Object) -> frozenset[str]:
    """Return the file capabilities of a v1 client."""
    extensions = as_object(as_object(client.get("_meta")).get("dragoman")).get("extensions")
    methods = {as_text(name) for name in extensions} if type(extensions) is list else set()
    if as_object(client.get("fs")).get("readTextFile") is True:
        methods.add("fs/read_text_file")
    return frozenset(methods & IN_THREADS.keys())
