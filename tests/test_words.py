"""What the terminal says, in every language, and that the page says the same."""

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import random_position
from rich.cells import cell_len

from agents.words import LANGUAGES, Words, preferred
from thatslife_env import Position
from thatslife_env.outcomes import outcome
from thatslife_env.records import Game

ROOT = Path(__file__).parent.parent
ENGLISH = Words("en").messages
NAMES = ["Ann", "Bob", "Cem", "Dora", "Eve", "Filip"]


def blanks(message):
    return sorted(re.findall(r"{(\w+)}", message))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_is_complete(language):
    messages = Words(language).messages
    assert list(messages) == list(ENGLISH)
    for key, message in messages.items():
        assert message.strip() == message != "", key
        assert blanks(message) == blanks(ENGLISH[key]), key
    own = [key for key in messages if key.startswith(("desk.", "replay.", "mistakes."))]
    copies = [key for key in own if messages[key] == ENGLISH[key]]
    assert language == "en" or copies == []
    for key in ("short.start", "short.finish"):
        assert cell_len(messages[key]) <= 5  # the width of a tile
    for key in messages:
        if key.startswith(("desk.keys", "replay.keys")):
            assert cell_len(messages[key]) <= 80, key


def test_every_message_is_used():
    source = "".join(path.read_text() for path in (ROOT / "agents").glob("*.py"))
    for key in ENGLISH:
        parts = key.split(".")
        families = [".".join(parts[:n]) + ".{" for n in range(1, len(parts))]
        assert f'"{key}"' in source or any(f'f"{family}' in source for family in families), key


def events():
    """Positions and legal events of every kind, in every language."""
    rng = random.Random(5)
    for number in range(400):
        phase = ["roll", "move", "move", "give", "steal"][number % 5]
        position = Position.from_json(random_position(rng, phase))
        legal = position.legal_actions()
        for event in [("play", action) for action in legal] or [("roll", rng.randint(1, 6))]:
            yield LANGUAGES[number % len(LANGUAGES)], position, event


def test_the_page_says_the_same():
    """Event by event, and message by message where the keys are the same."""
    node = shutil.which("node")
    assert node, "these tests need Node.js 20 or newer"
    cases = list(events())
    told = [
        [language, position.to_json(), event, NAMES[: position.players]]
        for language, position, event in cases
    ]
    done = subprocess.run(
        [node, ROOT / "tests" / "web" / "words.js"],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=True,
    )
    page = json.loads(done.stdout)
    all_words = {language: Words(language) for language in LANGUAGES}
    for (language, position, event), said in zip(cases, page["said"], strict=True):
        names = NAMES[: position.players]
        assert all_words[language].happened(position, event, names) == said
    assert sorted(page["messages"]) == sorted(LANGUAGES)
    for language, messages in page["messages"].items():
        shared = set(messages) & set(ENGLISH)
        assert len(shared) > 40
        for key in shared:
            assert all_words[language].messages[key] == messages[key], (language, key)


def test_outcomes_by_hand():
    position = {
        "rules": {"players": 3, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", -3, "gift", 8, "finish"],
        "pawns": [[2], [1], [1]],
        "guards": [],
        "towers": [[-6], [5], [4]],
        "player": 0,
        "phase": "move",
        "die": 1,
    }
    words = Words()
    done = outcome(Position.from_json(position), 0)
    assert (done.turns, done.passed, done.giver, done.receiver) == ("gift", -6, 0, 1)
    said = words.sentence(Position.from_json(position), 0, NAMES)
    assert said == "Pawn on gift · turns gift · −6 goes to Bob · lands alone on +8"
    german = Words("de").sentence(Position.from_json(position), 0, NAMES)
    assert (
        german == "Figur auf Geschenk · dreht Geschenk um · −6 geht an Bob · landet allein auf +8"
    )


def test_numbers_and_lists():
    words = Words("de")
    assert words.percent(0.545) == "55\u00a0%"
    assert words.percent(0.0549, 1) == "5,5\u00a0%"
    assert Words("en").percent(0.0549, 1) == "5.5%"
    assert Words("en").listed(["a", "b", "c"]) == "a, b, and c"
    assert words.listed(["a", "b", "c"]) == "a, b und c"
    assert words.listed(["a", "b"]) == "a und b"
    assert words.listed(["a"]) == "a"


def test_names():
    opening = Position.from_json(random_position(random.Random(1), "roll"))
    n = opening.players

    def names(given):
        return Words("en").names(Game(opening, meta={"names": given}))

    assert names(["human", "greedy", "random"][:n])[:2] == ["Player 1", "Greedy 2"]
    assert names(["td:builtin/2p"] * n)[:2] == ["td:builtin/2p 1", "td:builtin/2p 2"]
    assert names("nonsense") == [f"Player {seat + 1}" for seat in range(n)]
    assert names(["", 3])[:2] == ["Player 1", "Player 2"]
    assert names(["a\x1b[2Jb"])[0] == "a?[2Jb"  # nothing that a terminal would obey
    assert cell_len(names(["x" * 500])[0]) == 24


def test_the_language_asked_for():
    assert preferred({}) == "en"
    assert preferred({"LANG": "de_DE.UTF-8"}) == "de"
    assert preferred({"LANG": "de_DE.UTF-8", "LC_ALL": "pl_PL.UTF-8"}) == "pl"
    assert preferred({"LANG": "xx"}) == "en"
    assert preferred({"LANG": "C.UTF-8", "LC_MESSAGES": "fr"}) == "fr"
