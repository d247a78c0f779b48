from dragoman.testing.transcript import Passed, other, show


def test_the_last_frames_are_shown_and_the_others_counted() -> None:
    transcript = [Passed("agent" if n % 2 else "client", b"%d" % n) for n in range(20)]
    lines = show(transcript, last=2).splitlines()
    assert lines == ["(18 frames before)", "agent → client  18", "client → agent  19"]
    assert show(transcript[:1]) == "agent → client  0"


def test_a_long_frame_is_shortened_and_odd_bytes_are_shown() -> None:
    assert show([Passed("agent", b"\xff" + b"x" * 1000)]).endswith("… (1017 characters)")


def test_each_party_has_an_other() -> None:
    assert (other("agent"), other("client")) == ("client", "agent")
