"""`_dragoman/hub/commit…`: a user previews a commit of a session's files, and makes it.

Files are those below the session's folder, by their paths in it. A commit that has begun goes on although its
client leaves; it ends with the hub.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection
from typing import TypeVar

from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import invalid_params, invalid_request
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.session_progress import SessionProgress
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.table import FORBIDDEN
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.machine import title_of
from dragoman_local.workspace.commit import CommitResult, make_commit
from dragoman_local.workspace.commit_message import NamedChange, propose_message
from dragoman_local.workspace.commit_preview import CommitPreview, preview_commit, repository_top
from dragoman_local.workspace.disk_threads import in_disk_thread

T = TypeVar("T")

log = logging.getLogger(__name__)

READ_BACK = (200, 10_000)
"""The entries in which to search for the last prompt, a few first."""


class CommitMethods:
    """The two methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub, progress: SessionProgress) -> None:
        self._hub = hub
        self._progress = progress

    async def preview(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`commit/preview`: the files, the difference, the message, and an id of all that."""
        session = await self._session(client, params)
        folder = session.state.cwd
        changed_paths = await self._hub.changes.own_paths(session.id)
        own_paths = await in_disk_thread(folder, _within, folder, changed_paths)
        paths = None if value_of(params.get("paths")) is None else _paths(params)
        preview = await in_disk_thread(folder, preview_commit, folder, paths=paths, own_paths=own_paths)
        prompt, title = await self._last_prompt(session), session.title
        message = await in_disk_thread(folder, _proposal, preview, prompt=prompt, title=title, folder=folder)
        return {
            **_describe(preview, own_paths),
            "message": message,
            "warnings": [*preview.warnings, *await self._hook_warnings(session, preview)],
        }

    async def commit(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`commit`: make the previewed commit, or nothing."""
        session = await self._session(client, params)
        message, identity = client.text(params, "message"), client.text(params, "identity")
        work = self._commit(session, _paths(params), message, identity)
        result = await go_on(self._hub.owner.start(work))
        log.info("session %s: %d files committed by %s", session.id, len(result.paths), client.grant.name)
        return {
            "commit": result.commit,
            "short": result.short,
            "branch": result.branch,
            "subject": result.subject,
            "output": result.output,
        }

    async def _commit(
        self, session: LiveSession, paths: Collection[str], message: str, identity: str
    ) -> CommitResult:
        folder = session.state.cwd
        result = await make_commit(folder, paths=paths, message=message, identity=identity)
        root = await in_disk_thread(folder, os.path.realpath, folder)
        await self._hub.changes.accept(session.id, [os.path.join(root, path) for path in paths])
        self._progress.forget(session.id)
        return result

    async def _session(self, client: HubClient, params: dict[str, Raw]) -> LiveSession:
        """The session, if its folder is here and the client may use the repository around it."""
        session = await client.session(params)
        if self._hub.changes.far_side(session.id) is not None:
            raise invalid_request("the session's folder is on another machine: commit there")
        if client.grant.roots:
            top = await in_disk_thread(session.state.cwd, repository_top, session.state.cwd)
            await client.grant.look_at((top,))
            if not client.grant.may_open(top):
                why = "Forbidden: this token may not use the folder of the repository"
                raise ErrorAnswer(FORBIDDEN, why, {"scope": "roots"})
        return session

    async def _last_prompt(self, session: LiveSession) -> str:
        """The first line of what the person asked for last."""
        for count in READ_BACK:
            prompt: Raw | None = None
            start = max(0, session.log.last - count)
            async for page in self._hub.journal.replay(session.stream, after=start, limit=count):
                for entry in page:
                    if entry.direction == "to_agent" and b'"session/prompt"' in entry.frame:
                        prompt = object_of(entry.frame).get("params")
            if prompt is not None:
                return title_of(prompt)
        return ""

    async def _hook_warnings(self, session: LiveSession, preview: CommitPreview) -> list[str]:
        """Hooks that are younger than the session: its agent may have written them, and they run as the
        person.
        """
        info = await self._hub.journal.info(session.stream)
        session_start = 0.0 if info is None else info.created
        return [
            f"the {hook.name} hook was changed since this session began: read {hook.path} before you commit"
            for hook in preview.hooks
            if hook.modified > session_start
        ]


async def go_on(task: asyncio.Task[T]) -> T:
    """Return the result of a task that goes on although the client leaves."""
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else may look at it
    return await asyncio.shield(task)


def _paths(params: dict[str, Raw]) -> list[str]:
    paths = value_of(params.get("paths"))
    if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
        raise invalid_params("paths is not a list of texts")
    if any("\0" in path for path in paths):
        raise invalid_params("a path contains a NUL")
    return paths


def _within(folder: str, paths: Collection[str]) -> set[str]:
    start = os.path.realpath(folder).rstrip("/") + "/"
    return {path.removeprefix(start) for path in paths if path.startswith(start)}


def _describe(preview: CommitPreview, own_paths: Collection[str]) -> JsonObject:
    return {
        "head": preview.head,
        "branch": preview.branch,
        "author": preview.author,
        "identity": preview.identity,
        "hooks": [hook.name for hook in preview.hooks],
        "files": [
            {
                "path": file.path,
                "kind": file.kind,
                "isChosen": file.is_chosen,
                "isOwn": file.path in own_paths,
                "added": file.lines_added,
                "removed": file.lines_removed,
            }
            for file in preview.files
        ],
        "diff": preview.diff,
        "isDiffCut": preview.is_diff_cut,
    }


def _proposal(preview: CommitPreview, *, prompt: str, title: str, folder: str) -> str:
    inner = os.path.relpath(os.path.realpath(folder), os.path.realpath(preview.top))
    files = [
        NamedChange(path=os.path.normpath(os.path.join(inner, file.path)), kind=file.kind)
        for file in preview.files
        if file.is_chosen
    ]
    return propose_message(files, prompt=prompt, title=title, subjects=preview.subjects)
