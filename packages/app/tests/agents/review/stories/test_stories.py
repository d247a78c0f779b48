"""Changes with a cause, from the words of a person to what they read at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.review.stories.bug_stories import BUG_STORIES
from tests.agents.review.stories.hostile_stories import HOSTILE_STORIES
from tests.agents.review.stories.quiet_stories import LOOKED, QUIET_STORIES
from tests.agents.review.stories.stage import Story, make_change, make_template, play

pytestmark = pytest.mark.bound(40)  # the model layer takes seconds to import on a busy machine

STORIES = [*QUIET_STORIES, *BUG_STORIES, *HOSTILE_STORIES]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template") / "repository")


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
async def test_a_story_ends_as_it_should(story: Story, template: Path, tmp_path: Path) -> None:
    folder = make_change(story, template, tmp_path / "project")
    ending = await play(story, folder)
    first = ending.model.requests[0].messages[0].text
    assert [words for words in story.asked if words not in first] == [], first
    assert [words for words in story.results if not any(words in text for text in ending.results)] == [], (
        ending.results
    )
    titles = iter(ending.titles)
    assert [title for title in story.calls if title not in titles] == [], ending.titles
    assert ending.findings == list(story.findings), ending.text
    rest = ending.text
    for words in story.told:
        assert words in rest, ending.text
        rest = rest.partition(words)[2]
    assert [words for words in story.silent if words in ending.frames or words in ending.sent] == []
    assert len(ending.questions) == story.questions


def test_there_are_thirty_of_them_and_ten_have_nothing_to_tell() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES) >= 30
    quiet = [story for story in STORIES if not story.findings and LOOKED in story.told]
    assert len(quiet) >= len(QUIET_STORIES) == 10
