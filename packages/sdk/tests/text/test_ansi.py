from dragoman.text.ansi import output_pieces


def plain(text: str) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in output_pieces(text)]


def styled(text: str) -> list[tuple[str, str]]:
    return [piece for line in output_pieces(text) for piece in line if piece[1]]


def test_colours_become_styles_and_go_on_over_lines() -> None:
    assert styled("\x1b[1;31mred\nstill\x1b[0m not") == [("red", "bold ansi_red"), ("still", "bold ansi_red")]
    assert styled("\x1b[38;5;208mx\x1b[48;2;1;2;3my") == [
        ("x", "rgb(255,135,0)"),
        ("y", "rgb(255,135,0) on rgb(1,2,3)"),
    ]
    assert styled("\x1b[92mx\x1b[39my\x1b[2mz\x1b[22m") == [("x", "ansi_bright_green"), ("z", "dim")]


def test_progress_writes_over_itself() -> None:
    assert plain("10%\r50%\r100%\ndone\r\n") == ["100%", "done"]


def test_sequences_that_do_something_are_left_out_and_other_controls_are_shown() -> None:
    assert plain("\x1b]0;title\x07a\x1b[2J\x1b[Hb\x1b(Bc\x08d") == ["abc␈d"]
    assert plain("\x1b]52;c;never ended") == [""]
    assert plain("a\x1b") == ["a"]
