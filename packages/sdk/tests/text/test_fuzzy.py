from dragoman.text.fuzzy import fuzzy_search

PATHS = ["README.md", "src/app/main.py", "src/app/domain.py", "tests/test_main.py", "docs/maintenance.md"]


def find(query: str) -> list[str]:
    return fuzzy_search(query, PATHS, key=str)


def test_letters_in_order_find_a_path_and_names_count_more_than_folders() -> None:
    assert find("main")[0] == "src/app/main.py"
    assert find("tmain")[0] == "tests/test_main.py"
    assert find("rdme") == ["README.md"]


def test_nothing_fits_letters_that_are_not_there() -> None:
    assert find("xyz") == []


def test_without_letters_all_are_there_in_their_order() -> None:
    assert find("") == PATHS


def test_special_characters_are_letters_too() -> None:
    assert fuzzy_search("a+(", ["a+(b", "ab"], key=str) == ["a+(b"]
