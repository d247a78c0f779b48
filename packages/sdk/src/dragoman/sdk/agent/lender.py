"""What a client provides to an agent in a session: files, terminals, permission decisions, answers to
questions.

Everything here is refused locally, with the capability's name, when the client did not advertise it. A
permission counts as given only when the client chose, by its id, an option that was offered and whose kind
allows.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import UNSET, Struct

from dragoman.errors import BadAnswer, CallFailed, InvalidValue
from dragoman.schema import v1
from dragoman.sdk.agent.speaker import Speaker
from dragoman.sdk.agent.terminal import Terminal
from dragoman.sdk.outbound import as_list


@cache
def allow_or_reject() -> tuple[v1.PermissionOption, ...]:
    """The default options of a permission request: allow once or reject once."""
    return (
        v1.PermissionOption(option_id="allow_once", name="Allow", kind="allow_once"),
        v1.PermissionOption(option_id="reject_once", name="Reject", kind="reject_once"),
    )


class Permission(Struct, frozen=True):
    """The user's decision. It is true only if the user allowed an option.

        permission = await turn.ask(call)
        if permission:
            await turn.say("Thank you.")
        elif permission.option is None:
            await turn.say("Nobody decided.")

    Specification: https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
    """

    option: v1.PermissionOption | None
    """The chosen option; None if there is none (cancelled, refused, or an invalid answer)."""

    def __bool__(self) -> bool:
        return self.option is not None and self.option.kind.startswith("allow")


NOT_GIVEN = Permission(None)

_content: Callable[[v1.ReadTextFileResponse], str] = attrgetter("content")


class Lender(Speaker):
    """A speaker that can also send requests to its client."""

    __slots__ = ()

    def read_text_file(
        self, path: str, *, line: int | None = None, limit: int | None = None
    ) -> Coroutine[object, None, str]:
        """Read a file from the client, with unsaved changes (`fs/read_text_file`). `line` counts from 1;
        `limit` is a number of lines.
        """
        if self._has_ended or line is not None or limit is not None:
            return self._read_lines(path, line, limit)
        # Most ask for all of it, and many ask often: no coroutine waits for another.
        request = v1.ReadTextFileRequest(session_id=self.session_id, path=path)
        return self.client.ask_for("fs/read_text_file", request, v1.ReadTextFileResponse, _content)

    async def _read_lines(self, path: str, line: int | None, limit: int | None) -> str:
        self._check_open()
        request = reading(self.session_id, path, line, limit)
        return (await self.client.ask("fs/read_text_file", request, v1.ReadTextFileResponse)).content

    async def write_text_file(self, path: str, content: str) -> None:
        """Write a file at the client, which creates it if necessary (`fs/write_text_file`)."""
        self._check_open()
        request = v1.WriteTextFileRequest(session_id=self.session_id, path=path, content=content)
        await self.client.ask("fs/write_text_file", request, v1.WriteTextFileResponse)

    async def create_terminal(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_byte_limit: int | None = None,
    ) -> Terminal:
        """Start a command at the client. Use it as `async with`, so that it is always released."""
        self._check_open()
        if not isinstance(env, Mapping | None):
            raise InvalidValue("env", env, "must be a mapping of names to values")
        request = v1.CreateTerminalRequest(
            session_id=self.session_id,
            command=command,
            args=list(args) if args else UNSET,
            env=[v1.EnvVariable(name=name, value=value) for name, value in env.items()] if env else UNSET,
            cwd=UNSET if cwd is None else cwd,
            output_byte_limit=UNSET if output_byte_limit is None else output_byte_limit,
        )
        return await Terminal.create(self.client, request)

    async def ask(
        self, tool_call: v1.ToolCallUpdate, options: Sequence[v1.PermissionOption] | None = None
    ) -> Permission:
        """Ask the user whether a tool may run; without options, yes or no. A failed or invalid answer
        means no.
        """
        self._check_open()
        if not isinstance(tool_call, v1.ToolCallUpdate):
            raise InvalidValue("tool_call", tool_call, "must be a v1.ToolCallUpdate")
        options = allow_or_reject() if options is None else options
        # A subclass of the update (the session's own variant) would write its tag, which has no place here.
        call = v1.ToolCallUpdate(
            **{name: getattr(tool_call, name) for name in v1.ToolCallUpdate.__struct_fields__}
        )
        request = v1.RequestPermissionRequest(
            session_id=self.session_id, tool_call=call, options=as_list(options, "options")
        )
        try:
            answer = await self.client.ask(
                "session/request_permission", request, v1.RequestPermissionResponse
            )
        except (CallFailed, BadAnswer):
            return NOT_GIVEN
        outcome = answer.outcome
        if not isinstance(outcome, v1.SelectedPermissionOutcome):
            return NOT_GIVEN
        matches = [option for option in options if option.option_id == outcome.option_id]
        return Permission(matches[0]) if len(matches) == 1 else NOT_GIVEN

    async def elicit(
        self, message: str, schema: v1.ElicitationSchema, *, tool_call_id: str | None = None
    ) -> v1.CreateElicitationResponse:
        """Ask the user to fill in a form."""
        self._check_open()
        self.client.capabilities.require("elicitation.form", "elicitation/create")
        request = v1.ElicitationFormMode(
            session_id=self.session_id,
            message=message,
            requested_schema=schema,
            tool_call_id=UNSET if tool_call_id is None else tool_call_id,
        )
        return await self._elicit(request)

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str, *, tool_call_id: str | None = None
    ) -> v1.CreateElicitationResponse:
        """Send the user to a page. Accepting means consent to open the page, not that the user completed a
        step there.
        """
        self._check_open()
        self.client.capabilities.require("elicitation.url", "elicitation/create")
        request = v1.ElicitationUrlMode(
            session_id=self.session_id,
            message=message,
            url=url,
            elicitation_id=elicitation_id,
            tool_call_id=UNSET if tool_call_id is None else tool_call_id,
        )
        return await self._elicit(request)

    async def _elicit(
        self, request: v1.ElicitationFormMode | v1.ElicitationUrlMode
    ) -> v1.CreateElicitationResponse:
        kind: Any = v1.CreateElicitationResponse  # a union is no `type` to a type checker
        answer: v1.CreateElicitationResponse = await self.client.ask("elicitation/create", request, kind)
        return answer


def reading(session_id: str, path: str, line: int | None, limit: int | None) -> v1.ReadTextFileRequest:
    return v1.ReadTextFileRequest(
        session_id=session_id,
        path=path,
        line=UNSET if line is None else line,
        limit=UNSET if limit is None else limit,
    )
