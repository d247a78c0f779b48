"""Finds out why an agent does not start: checks each step, and reports its finding, the meaning and advice.

    diagnosis = await diagnose(find_agent("claude"), seconds=30)
    diagnosis.outcome, diagnosis.steps, diagnosis.frames, diagnosis.stderr

The agent is started just as `connect` would start it: with the closed environment, the login shell's PATH and
one empty session, and no prompt. Every step has a deadline; nothing of the agent is left at the end. All
texts are free of the secrets that we know of.
"""

from dragoman_local.known.doctor.examination import diagnose
from dragoman_local.known.doctor.findings import (
    CheckResult,
    Diagnosis,
    DiagnosisOutcome,
    DiagnosisStep,
    SeenFrame,
)

__all__ = ["CheckResult", "Diagnosis", "DiagnosisOutcome", "DiagnosisStep", "SeenFrame", "diagnose"]
