"""All findings as one document."""

import msgspec

from dragoman_review import Finding, ReviewNote
from dragoman_review.formats import as_json
from tests.review.findings import MENDED, finding


def test_findings_can_be_read_back() -> None:
    found = [finding(fix=MENDED), finding(line=3)]
    document = msgspec.json.decode(as_json(found, [ReviewNote("x", "skipped")], files=4))
    assert msgspec.convert(document["findings"], list[Finding]) == found
    assert document["version"] == 1
    assert document["files"] == 4
    assert document["summary"] == {"critical": 0, "high": 2, "medium": 0, "low": 0, "info": 0}
    assert document["notes"] == [{"path": "x", "text": "skipped", "is_failure": False}]
