from dragoman_hub.agents.host.agent_host import KEPT, LINE, LastLines


def taken(lines: LastLines) -> list[bytes]:
    return list(iter(lines.take, None))


def test_lines_are_whole_however_they_are_cut() -> None:
    lines = LastLines()
    for chunk in (b"on", b"e\ntwo\r\n\nthr", b"ee"):
        lines.feed(chunk)
    assert taken(lines) == [b"one", b"two", b""]
    lines.finish()
    assert taken(lines) == [b"three"]


def test_the_last_lines_stay_when_there_are_too_many() -> None:
    lines = LastLines()
    for number in range(KEPT):
        lines.feed(b"%d\n" % number)
    kept = taken(lines)
    assert kept[-1] == b"%d" % (KEPT - 1)
    assert len(b"".join(kept)) + LINE * len(kept) <= KEPT + LINE


def test_an_endless_line_is_cut() -> None:
    lines = LastLines()
    for _ in range(3):
        lines.feed(b"x" * KEPT)
    assert taken(lines) == [b"x" * KEPT]
    lines.finish()
    assert taken(lines) == [b"x" * KEPT]
