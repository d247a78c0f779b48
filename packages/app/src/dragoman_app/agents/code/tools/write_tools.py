"""Tools that change files: edit a place, write a whole file. Both show the change before it happens."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import UNSET, Meta, Struct, field

from dragoman.schema import v1
from dragoman_app.agents.code.permission import PermissionWish, ToolProblem
from dragoman_app.agents.code.tools.edit_match import replace
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome


class EditArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file")]
    old: Annotated[
        str, Meta(description="The text to replace, copied exactly, without line numbers; it must be unique")
    ]
    new: Annotated[str, Meta(description="What stands there instead")]
    everywhere: Annotated[bool, Meta(description="Replace every place where it stands")] = field(
        default=False, name="all"
    )


async def edit(work: ToolContext, arguments: EditArguments) -> ToolOutcome:
    path = work.places.resolve(arguments.path)
    text = await work.places.read_before_write(path)
    if text is None:
        raise ToolProblem("There is no such file. Use write to make it.")
    result = await asyncio.to_thread(
        replace, text, arguments.old, arguments.new, everywhere=arguments.everywhere
    )
    diff = await _write(work, path, text, result.text)
    note = f" The place was found {result.note}: check it." if result.note else ""
    return ToolOutcome(f"Edited {work.places.display(path)} at line {result.line}.{note}", [diff])


class WriteArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file; missing folders are made")]
    content: Annotated[str, Meta(description="Its whole text")]


async def write(work: ToolContext, arguments: WriteArguments) -> ToolOutcome:
    path = work.places.resolve(arguments.path)
    text = await work.places.read_before_write(path)
    if text == arguments.content:
        return ToolOutcome(f"{work.places.display(path)} has this text already.")
    diff = await _write(work, path, text, arguments.content)
    verb = "Made" if text is None else "Wrote"
    return ToolOutcome(f"{verb} {work.places.display(path)}, {len(arguments.content)} characters.", [diff])


async def _write(work: ToolContext, path: str, old: str | None, new: str) -> v1.Diff:
    diff = v1.Diff(path=path, old_text=UNSET if old is None else old, new_text=new)
    risky = await asyncio.to_thread(work.places.is_risky, path)
    await work.permit(
        PermissionWish(
            kind="edit", key="edit", always="Allow all edits in this session", content=[diff], risky=risky
        )
    )
    # The user may have taken long to decide, and the file may be another one by now.
    if await work.places.read_before_write(path) != old:
        raise ToolProblem("The file has changed since it was read. Read it again.")
    await work.places.write(path, new)
    return diff


WRITING = (
    CoderTool(
        name="edit",
        description="Replace a piece of a text file. Small differences in spaces are forgiven if there is "
        "only one such place.",
        arguments=EditArguments,
        kind="edit",
        title=lambda arguments: f"Edit {arguments.path}",
        path=lambda arguments: arguments.path,
        run=edit,
        changes=True,
    ),
    CoderTool(
        name="write",
        description="Write a whole text file, new or in place of the one that is there.",
        arguments=WriteArguments,
        kind="edit",
        title=lambda arguments: f"Write {arguments.path}",
        path=lambda arguments: arguments.path,
        run=write,
        changes=True,
    ),
)
