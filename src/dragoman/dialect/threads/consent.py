"""Permission, which this dialect cannot carry: the configured policy answers, and nobody else."""

from __future__ import annotations

from dragoman.dialect.edge import Consent
from dragoman.dialect.message import Object, as_list, as_object, as_text


def outcome(consent: Consent, question: Object) -> Object:
    """The answer to `session/request_permission`.

    Only an option that was offered can be chosen. No is said with the option that rejects this once; one that
    rejects for ever would decide more than was asked. Without such an option nothing was chosen.
    """
    options = [as_object(option) for option in as_list(question.get("options"))]
    offered = {as_text(option.get("optionId")): as_text(option.get("kind")) for option in options}
    offered.pop("", None)
    chosen = consent(question)
    if chosen not in offered:
        chosen = next((name for name, kind in offered.items() if kind == "reject_once"), None)
    if chosen is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": chosen}}
