"""Counts what recorded agents would be asked under a policy: the price of every rule that gets stricter.

    python -m tests.workspace.policy.count_questions [POLICY.toml]

Judges every permission request, lent file and lent terminal of the recordings with the example policy of
`docs/policy.md`, or with the file that you name. Where something differs from what you expect, `-v` names it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.schema import v1
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_call, act_of_request
from dragoman_local.workspace.policy.policy import Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.policy.policy_parser import read_policy

REPOSITORY: Final = Path(__file__).parents[5]
RECORDINGS: Final = next(
    (folder for each in REPOSITORY.parents if (folder := each / "shared" / "wire").is_dir()),
    REPOSITORY / "shared" / "wire",
)


def example_policy() -> str:
    """The first policy of the documentation."""
    text = (REPOSITORY / "docs" / "policy.md").read_text(encoding="utf-8")
    return text.partition("```toml\n")[2].partition("```")[0]


def recorded_acts(folder: Path = RECORDINGS) -> Iterator[tuple[str, Act]]:
    """Everything that recorded agents asked for, with the name of its recording."""
    for file in sorted(folder.glob("*/*.ndjson")):
        roots: tuple[str, ...] = ("/project",)
        for line in file.read_text(encoding="utf-8").splitlines():
            message = json.loads(line).get("msg")
            params = message.get("params") if isinstance(message, dict) else None
            if not isinstance(params, dict):
                continue
            if isinstance(params.get("cwd"), str) and message["method"] != "terminal/create":
                roots = (params["cwd"],)
            act = _act(message["method"], params, ActContext(agent="claude", roots=roots, home="/home/me"))
            if act is not None:
                yield file.stem, act


def _act(method: str, params: dict[str, Any], setting: ActContext) -> Act | None:
    if method != "session/request_permission":
        return act_of_request(method, params, setting)
    call = params.get("toolCall") or params.get("subject", {}).get("toolCall")
    try:
        return act_of_call(msgspec.convert(call, v1.ToolCallUpdate), setting)
    except msgspec.ValidationError:
        return None


def policy_of(text: str) -> Policy:
    """A policy as a session has it: with the files that are guarded whatever the rules say."""
    book = read_policy(text, "example")
    guarded = load_policy(roots=["/project"], environ={"HOME": "/home/me"}).protected_paths
    layer = PolicyLayer(name="example", rules=book.rules, default=book.default)
    return Policy(layers=(layer,), protected_paths=guarded)


def main(arguments: list[str]) -> None:
    files = [each for each in arguments if not each.startswith("-")]
    policy = policy_of(Path(files[0]).read_text(encoding="utf-8") if files else example_policy())
    outcomes: Counter[str] = Counter()
    for name, act in recorded_acts():
        decision = policy.decide(act)
        outcomes[decision.outcome] += 1
        if "-v" in arguments:
            what = act.script.text if act.script else f"{act.kind} {' '.join(act.paths)}"
            print(f"{decision.outcome:5} {name:14} {what!r}: {decision.why}")
    print(dict(sorted(outcomes.items())), "of", outcomes.total())


if __name__ == "__main__":
    main(sys.argv[1:])
