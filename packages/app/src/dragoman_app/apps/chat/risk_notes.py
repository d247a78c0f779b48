"""Finds risks in an agent's permission requests with the reviewer's rules, for the dialog.

The rules are our own, here as at a hub. What a hub has found is added and takes nothing away: `_meta` is
data, and an agent that said there that it is harmless would not be believed. Nobody waits for the rules, and
they decide nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from dragoman_app.tui.ports import Caution
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_review.assessor import Assessor
from dragoman_review.risks import make_proposal

_SEVERITIES = frozenset({"critical", "high", "medium", "low", "info"})


class RiskNotes:
    """The risk notes of one conversation. Constructing starts nothing."""

    def __init__(self) -> None:
        self._assessor: Assessor | None = None

    def about(self, question: PermissionPrompt) -> Callable[[], Awaitable[Sequence[Caution]]]:
        """Return the found risks when they are ready."""

        async def find_cautions() -> Sequence[Caution]:
            own = await self._find_risks(question)
            return list(dict.fromkeys([*own, *cautions_in(question.meta)]))

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
    """Return the risks that a hub has found, from the `_meta` of a request (docs/hub-protocol.md)."""
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
