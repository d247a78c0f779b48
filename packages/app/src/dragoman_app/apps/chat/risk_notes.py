"""What the reviewer's rules find in what an agent asks permission for, for the dialog.

The rules are our own, here as at a hub. What a hub has found is added and takes nothing away: `_meta` is
data, and an agent that said there that it is harmless would not be believed. Nobody waits for the rules, and
they decide nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TypeAlias

from dragoman.schema import v1
from dragoman_app.tui.ports import Caution
from dragoman_local.workspace.policy.permission_prompt import PermissionPrompt
from dragoman_review.assessor import Assessor
from dragoman_review.risks import make_proposal

Permit: TypeAlias = Callable[[v1.RequestPermissionRequest], Awaitable[v1.RequestPermissionResponse]]

_SEVERITIES = frozenset({"critical", "high", "medium", "low", "info"})

# Each request is answered in a task of its own, so this is the request that is being answered.
_known_cautions: ContextVar[Sequence[Caution]] = ContextVar("told", default=())


class RiskNotes:
    """For one conversation. Constructing one starts nothing."""

    def __init__(self) -> None:
        self._assessor: Assessor | None = None

    def keep_risks(self, permit: Permit) -> Permit:
        """The same answer, while what the request says of its risks is kept for `about`."""

        async def on_update(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
            _known_cautions.set(tuple(cautions_in(request.meta)))
            return await permit(request)

        return on_update

    def about(self, act: PermissionPrompt) -> Callable[[], Awaitable[Sequence[Caution]]]:
        """Gives what is found, as soon as it is."""
        known_cautions = _known_cautions.get()

        async def find_cautions() -> Sequence[Caution]:
            own = await self._find_risks(act)
            return list(dict.fromkeys([*own, *known_cautions]))

        return find_cautions

    async def _find_risks(self, prompt: PermissionPrompt) -> Sequence[Caution]:
        act = prompt.act
        proposal = await asyncio.to_thread(
            make_proposal,
            () if act.script is None else (act.script.text,),
            changes=prompt.texts,
            paths=act.written_paths,
            folders=act.roots,
        )
        if proposal.is_empty:
            return ()
        if self._assessor is None:
            self._assessor = Assessor()
        assessment = await self._assessor.judge(proposal)
        cautions = [
            _caution(risk.severity.value, risk.text, risk.rule, risk.path, risk.line)
            for risk in assessment.risks or ()
        ]
        return [*cautions, *([Caution(severity="", text=assessment.note)] if assessment.note else ())]

    async def aclose(self) -> None:
        if self._assessor is not None:
            await self._assessor.aclose()


def cautions_in(meta: object) -> Iterator[Caution]:
    """What a hub has found, from the `_meta` of a request (docs/hub-protocol.md)."""
    ours = meta.get("dragoman") if isinstance(meta, dict) else None
    risks = ours.get("risks") if isinstance(ours, dict) else None
    for risk in risks if isinstance(risks, list) else ():
        if isinstance(risk, dict) and isinstance(risk.get("text"), str):
            severity = str(risk.get("severity"))
            line = risk.get("line")
            yield _caution(
                severity if severity in _SEVERITIES else "",
                risk["text"],
                str(risk.get("rule") or ""),
                str(risk.get("path") or ""),
                line if isinstance(line, int) else 0,
            )


def _caution(severity: str, text: str, rule: str, path: str, line: int) -> Caution:
    where = f" in {path}{f':{line}' if line else ''}" if path else ""
    return Caution(severity=severity, text=f"{text}{where} ({rule})" if rule else f"{text}{where}")
