"""The model layer takes long to import; no test's time shall be counted for it."""

from __future__ import annotations

from tests.agents import model_layer  # noqa: F401  before the workers fork
