"""Asks the user at the terminal with dialogs: one question at a time, the others wait.

A question whose turn was cancelled is taken back, and its dialog closes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from textual.app import App

from dragoman_app.tui.ports import FormAnswer, FormPrompt, PermissionQuestion
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.screens.form import FormScreen
from dragoman_app.tui.screens.permission import PermissionScreen

T = TypeVar("T")


class ScreenUser:
    """Implements `ChatUser`."""

    def __init__(self, app: App[Any], typed_at: Callable[[], float]) -> None:
        self._app = app
        self._typed_at = typed_at
        self._lock = asyncio.Lock()

    async def ask(self, question: PermissionQuestion) -> str | None:
        asked_at = time.time()  # others may have to be answered before it is shown
        return await self._show_dialog(
            lambda: PermissionScreen(question, typed_at=self._typed_at(), asked_at=asked_at)
        )

    async def fill(self, form: FormPrompt) -> FormAnswer:
        asked_at = time.time()
        answer = await self._show_dialog(lambda: FormScreen(form, asked_at=asked_at))
        return answer or FormAnswer(action="cancel")

    async def _show_dialog(self, make: Callable[[], Dialog[T]]) -> T | None:
        async with self._lock:
            answer_future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

            def answer(result: T | None) -> None:
                if not answer_future.done():
                    answer_future.set_result(result)

            dialog = make()
            self._app.bell()
            await self._app.push_screen(dialog, answer)
            try:
                return await answer_future
            finally:
                dialog.take_back()
