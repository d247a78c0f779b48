"""Tools that only read: read a file, list a folder, find files by name, fetch an attachment."""

from __future__ import annotations

import asyncio
import os
import stat
from typing import Annotated

from msgspec import Meta, Struct

from dragoman_app.agents.code.permission import PermissionWish, ToolProblem
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome, ToolPicture

LINES = 2000
"""The lines of a file to read by default."""

CHARACTERS = 60_000
"""The most characters of one result. A model can request more, but can't forget earlier results."""

ENTRIES = 500
MATCHES = 200

PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
PICTURES[".webp"] = "image/webp"


class ReadArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the working folder or absolute")]
    line: Annotated[int, Meta(ge=1, description="The first line, counted from 1")] = 1
    limit: Annotated[int, Meta(ge=1, description="How many lines")] = LINES


async def read(work: ToolContext, arguments: ReadArguments) -> ToolOutcome:
    path = await admit_path(work, arguments.path)
    kind = PICTURES.get(os.path.splitext(path)[1].lower())
    if kind is not None:
        data = await work.places.bytes_of(path)
        words = f"{work.places.display(path)}: a picture, {len(data)} bytes"
        return ToolOutcome(words, pictures=[ToolPicture(data=data, media_type=kind)])
    # One more than wanted tells whether there is more.
    text = await work.places.read(path, line=arguments.line, limit=arguments.limit + 1)
    return ToolOutcome(number_lines(text, first=arguments.line, limit=arguments.limit))


async def admit_path(work: ToolContext, path: str) -> str:
    """Return the absolute path. Files outside the session's folders, which a client may provide, need
    permission.
    """
    full_path = work.places.resolve(path)
    if work.places.reads_there and await asyncio.to_thread(work.places.is_outside, full_path):
        always = "Allow reading this file in this session"
        await work.permit(PermissionWish(kind="read", key=f"read:{full_path}", always=always))
    else:
        await work.begin()
    return full_path


def number_lines(text: str, *, first: int, limit: int) -> str:
    """Return numbered lines as far as there is room, and say how many are left out."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "(no lines)" if first > 1 else "(the file is empty)"
    numbered_lines: list[str] = []
    room = CHARACTERS
    for number, line in enumerate(lines[:limit], first):
        room -= len(line) + 8
        if room < 0:
            break
        numbered_lines.append(f"{number:>6}\t{line.removesuffix(chr(13))}")
    if not numbered_lines:
        return f"{first:>6}\t{lines[0][:CHARACTERS]}\n(the rest of this line, and what follows, is left out)"
    if len(numbered_lines) < len(lines):
        numbered_lines.append(f"(there is more, from line {first + len(numbered_lines)} on)")
    return "\n".join(numbered_lines)


class ListArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The folder; the working folder if not given")] = "."


async def list_folder(work: ToolContext, arguments: ListArguments) -> ToolOutcome:
    path = work.places.resolve(arguments.path)
    if not await work.places.is_folder(path):
        raise ToolProblem("There is no such folder.")
    entries = await asyncio.to_thread(_entries, path)
    more = [f"(and {len(entries) - ENTRIES} more)"] if len(entries) > ENTRIES else []
    return ToolOutcome("\n".join([*entries[:ENTRIES], *more]) or "(the folder is empty)")


def _entries(path: str) -> list[str]:
    try:
        with os.scandir(path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise ToolProblem(f"The folder cannot be listed: {error.strerror}") from None
    return [_describe(entry) for entry in entries]


def _describe(entry: os.DirEntry[str]) -> str:
    try:
        mode = entry.stat(follow_symlinks=False)
    except OSError:
        return entry.name
    if stat.S_ISDIR(mode.st_mode):
        return f"{entry.name}/"
    if stat.S_ISLNK(mode.st_mode):
        return f"{entry.name} (a link)"
    return f"{entry.name} ({mode.st_size} bytes)"


class GlobArguments(Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(description="Such as src/**/*.py; relative to the working folder")]


async def glob(work: ToolContext, arguments: GlobArguments) -> ToolOutcome:
    matches, more = await work.places.glob(arguments.pattern, limit=MATCHES)
    lines = [work.places.display(path) for path in matches]
    return ToolOutcome("\n".join([*lines, *(["(there may be more)"] if more else [])]) or "(no file matches)")


class FetchArguments(Struct, forbid_unknown_fields=True):
    uri: Annotated[str, Meta(description="The address of the attachment or link, as the prompt has it")]
    offset: Annotated[int, Meta(ge=0, description="The first character")] = 0


async def fetch(work: ToolContext, arguments: FetchArguments) -> ToolOutcome:
    text = work.conversation.attachments.get(arguments.uri)
    if text is None:
        if not arguments.uri.startswith("file://"):
            raise ToolProblem(
                "No such thing is attached. Only attachments and files can be fetched, no web pages."
            )
        text = await work.places.read(await admit_path(work, arguments.uri))
    else:
        await work.begin()
    piece = text[arguments.offset : arguments.offset + CHARACTERS]
    remaining = len(text) - arguments.offset - len(piece)
    return ToolOutcome(f"{piece}\n({remaining} more characters)" if remaining > 0 else piece or "(nothing)")


READING = (
    CoderTool(
        name="read",
        description="Read a text file, or see a picture. Each line comes after its number and a tab.",
        arguments=ReadArguments,
        kind="read",
        title=lambda arguments: f"Read {arguments.path}",
        path=lambda arguments: arguments.path,
        may_ask=True,
        run=read,
    ),
    CoderTool(
        name="list",
        description="List a folder: names, with a slash for folders and the size of files.",
        arguments=ListArguments,
        kind="read",
        title=lambda arguments: f"List {arguments.path}",
        path=lambda arguments: arguments.path,
        run=list_folder,
    ),
    CoderTool(
        name="glob",
        description="Find files by their paths. `*` and `?` match within a name, `**` any folders.",
        arguments=GlobArguments,
        kind="search",
        title=lambda arguments: f"Find {arguments.pattern}",
        run=glob,
    ),
    CoderTool(
        name="fetch",
        description="Get the text of an attachment of the conversation, or of a linked file.",
        arguments=FetchArguments,
        kind="fetch",
        title=lambda arguments: f"Fetch {arguments.uri}",
        may_ask=True,
        run=fetch,
    ),
)
