import os
import pty
import threading

import pytest

from dragoman_app.apps.chat.command import QUESTION, ask_terminal, is_light_answer, theme_for

LIGHT = b"\x1b]11;rgb:fafa/fafa/f0f0\x1b\\"
ATTRIBUTES = b"\x1b[?62;22c"


def never() -> bytes:
    raise AssertionError("the terminal was asked")


def test_the_theme_is_as_wished_or_as_the_terminal_is() -> None:
    assert theme_for("dark", {}, never) == "dragoman"
    assert theme_for("light", {"NO_COLOR": "1"}, never) == "dragoman-light"
    assert theme_for("nord", {}, never) == "nord"
    assert theme_for("auto", {"NO_COLOR": "1"}, never) == "dragoman"
    assert theme_for("auto", {"COLORFGBG": "0;default;15"}, never) == "dragoman-light"
    assert theme_for("auto", {"COLORFGBG": "15;0"}, never) == "dragoman"
    assert theme_for("auto", {"COLORFGBG": "?", "COLORTERM": "1"}, lambda: LIGHT) == "dragoman-light"
    assert theme_for("auto", {}, never) == "dragoman"
    assert theme_for("auto", {"COLORTERM": "truecolor"}, lambda: b"\x1b]11;rgb:1/2/3\x07") == "dragoman"
    assert not is_light_answer(b"\x1b]11;rgb:zz/2/3")


@pytest.mark.parametrize("answer", [LIGHT + ATTRIBUTES, ATTRIBUTES])
def test_a_terminal_is_asked_and_one_that_knows_no_colours_keeps_nobody_waiting(answer: bytes) -> None:
    terminal, ours = pty.openpty()

    def reply() -> None:
        asked = b""
        while not asked.endswith(QUESTION):
            asked += os.read(terminal, 1024)
        os.write(terminal, answer)

    person = threading.Thread(target=reply)
    person.start()
    try:
        assert ask_terminal(ours) == answer
    finally:
        person.join()
        os.close(terminal)
        os.close(ours)


def test_keys_that_were_typed_already_are_left_to_the_client() -> None:
    terminal, ours = pty.openpty()
    try:
        os.write(terminal, b"hello\n")
        while not os.read(terminal, 100).endswith(b"\n"):  # the echo: then it is there
            pass
        assert ask_terminal(ours) == b""
        assert os.read(ours, 100) == b"hello\n"
    finally:
        os.close(terminal)
        os.close(ours)
