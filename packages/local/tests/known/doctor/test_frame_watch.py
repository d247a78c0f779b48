"""What is kept of a conversation."""

from dragoman_local.known.doctor.frame_watch import FRAMES, NOISE, FrameWatch


def watch() -> FrameWatch:
    ticks = iter(range(10_000))
    return FrameWatch(lambda: float(next(ticks)))


def test_frames_are_kept_with_their_time_and_direction() -> None:
    seen = watch()
    seen("to_agent", b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    seen("to_client", b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\n\n')
    assert [(one.direction, one.seconds) for one in seen.frames] == [("to_agent", 1.0), ("to_client", 2.0)]
    assert (seen.first, seen.initialize) == (2.0, {"protocolVersion": 1})


def test_noise_is_told_from_the_protocol() -> None:
    seen = watch()
    seen("to_client", b'Loading\n{"jsonrpc":"2.0","method":"x"}\n[1]\n\xff\n')
    assert (seen.noise_count, seen.noise[:2]) == (3, ["Loading", "[1]"])


def test_our_own_words_coming_back_are_noticed() -> None:
    seen = watch()
    seen("to_agent", b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    assert not seen.echoes
    seen("to_client", b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    assert seen.echoes


def test_only_so_much_is_kept_and_the_rest_is_counted() -> None:
    seen = watch()
    seen("to_client", b"x" * 100_000 + b"\n" + b"noise\n" * 500)
    assert (len(seen.frames), seen.omitted_count) == (FRAMES, 501 - FRAMES)
    assert (len(seen.noise), seen.noise_count) == (NOISE, 501)
    assert len(seen.frames[0].text) < 3_000
    assert seen.frames[0].text.endswith("(100000 characters)")


def test_a_result_that_is_no_object_is_no_introduction() -> None:
    seen = watch()
    seen("to_client", b'{"jsonrpc":"2.0","id":1,"result":[1]}\n')
    assert seen.initialize == {}
