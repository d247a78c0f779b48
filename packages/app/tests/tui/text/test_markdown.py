from tests.text.drawing import markdown


def lines(text: str, width: int = 40) -> list[str]:
    return [line.plain for line in markdown(text, width)]


def styles(text: str) -> set[str]:
    return {str(span.style) for line in markdown(text, 80) for span in line.spans}


def test_the_common_kinds_of_blocks() -> None:
    text = "# Title\n\ntext\nmore\n\n- one\n  - two\n1. three\n- [x] done\n- [ ] open\n\n> said\n\n---"
    assert lines(text) == [
        *("Title", "", "text", "more", ""),
        *("• one", "  ◦ two", "1. three", "☑ done", "☐ open", ""),
        *("▎ said", "", "─" * 40),
    ]


def test_emphasis_is_style_and_its_marks_are_gone() -> None:
    assert lines("**bold** *slanted* `code` ~~gone~~ __too__ _me_") == ["bold slanted code gone too me"]
    assert {"bold", "italic", "$text-warning", "strike"} <= styles("**b** *i* `c` ~~s~~")


def test_a_link_shows_where_it_leads() -> None:
    assert lines("[here](https://example.org/x)", 80) == ["here (https://example.org/x)"]
    assert lines("![logo](file:///etc/passwd)", 80) == ["[image] logo (file:///etc/passwd)"]


def test_what_looks_like_markup_of_the_screen_is_text() -> None:
    assert lines("[bold red]no[/] [@click=app.quit]x[/]", 80) == ["[bold red]no[/] [@click=app.quit]x[/]"]


def test_words_with_underscores_and_unclosed_marks_stay() -> None:
    assert lines("snake_case_name and 2 * 3 * 4 and **open", 80) == [
        "snake_case_name and 2 * 3 * 4 and **open"
    ]


def test_code_keeps_its_lines_and_wraps_what_is_too_long() -> None:
    assert lines("```python\nif x:\n    y = 1\n```\nafter", 12) == ["│ if x:", "│     y = 1", "after"]
    assert lines("```\n" + "a" * 25 + "\n```", 12) == ["│ " + "a" * 10, "│ " + "a" * 10, "│ " + "a" * 5]


def test_a_table_has_columns_where_they_fit_and_rows_where_not() -> None:
    table = "| name | lines |\n|---|--:|\n| a.py | 10 |\n| b.py | 2 |"
    assert lines(table) == ["name │ lines", "─────┼──────", "a.py │    10", "b.py │     2"]
    assert lines("| a | middle |\n|:--|:-:|\n| 1 | x |") == ["a │ middle", "──┼───────", "1 │   x   "]
    wide = "|" + "|".join("abcdefgh") + "|\n" + "|-" * 8 + "|\n|" + "|".join("12345678") + "|"
    assert lines(wide, 20)[:2] == ["a: 1", "b: 2"]


def test_a_list_item_hangs() -> None:
    assert lines("- one two three four", 12) == ["• one two", "  three four"]
