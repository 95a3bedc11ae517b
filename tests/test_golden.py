"""Golden playthroughs, line by line: by the engine, and by the reference.

The format is described in `make_golden.py`, which also writes the files anew.
"""

import json
import re
from itertools import zip_longest
from pathlib import Path

import make_golden
import pytest
import reference

from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.position import dice

FILES = sorted(make_golden.FOLDER.glob("*.txt"))


def lines_of(file: Path) -> list[str]:
    """The lines without their ends; a file that does not end with a line end has one too many."""
    text = file.read_bytes().decode()
    assert text.endswith("\n"), f"{file.name}: the last line has no end"
    return text[:-1].split("\n")


def header_of(file: Path) -> tuple[dict, int]:
    version, ruleset, seed = lines_of(file)[:3]
    assert version == "golden 1", file.name
    return json.loads(ruleset.removeprefix("ruleset ")), int(seed.removeprefix("seed "))


def assert_same_lines(file: Path, replayed: list[str]) -> None:
    for number, (golden, ours) in enumerate(zip_longest(lines_of(file), replayed), start=1):
        assert golden == ours, (
            f"{file.name}, line {number}:\n  file: {golden}\n  now:  {ours}\n"
            "(tests/make_golden.py writes the files anew)"
        )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_engine_replays_the_file(file):
    """The entries are the file's; everything else is worked out again."""
    ruleset, seed = header_of(file)
    position = Position.deal(Ruleset.of(ruleset), seed)
    replayed = make_golden.header(Ruleset.of(ruleset), seed) + make_golden.shown(position)
    n_rolls = 0
    for number, line in enumerate(lines_of(file), start=1):
        where = f"{file.name}, line {number}: {line}"
        if line.startswith("roll "):
            assert position.phase == "roll", where
            before = position.to_json()
            position, more = make_golden.after_roll(position, dice(seed, n_rolls))
            assert position.to_json() == {**before, "phase": "move", "die": position.die}, where
            n_rolls += 1
        elif line.startswith("play "):
            action = int(line.split(" ")[1])
            assert action in position.legal_actions(), where
            position, more = make_golden.after_play(position, action)
        else:
            continue
        replayed += more
    assert position.is_over, f"{file.name}: not a whole game"
    assert_same_lines(file, replayed + make_golden.ending(position))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_reference_confirms_the_file(file):
    """Read as another implementation would read it; nothing of the engine is used."""
    ruleset, seed = header_of(file)
    game = reference.Game.deal(**ruleset, seed=seed)
    n_rolls = 0
    keywords = []
    for number, line in enumerate(lines_of(file)[3:], start=4):
        keyword, rest = line.split(" ", 1)
        where = f"{file.name}, line {number}: {line}"
        keywords.append(keyword)
        if keyword == "roll":
            assert int(rest) == reference.dice(seed, n_rolls), where
            game.roll(int(rest))
            n_rolls += 1
        elif keyword == "play":
            assert int(rest.split(" ")[0]) in game.legal_actions(), where
            game.play(int(rest.split(" ")[0]))
        else:
            ours = {
                "position": game.to_json,
                "legal": game.legal_actions,
                "scores": game.scores,
                "end": game.scores,
                "winners": game.winners,
            }[keyword]()
            assert rest == json.dumps(ours, separators=(",", ":")), f"{where}\nreference: {ours}"
    assert game.phase == "over", f"{file.name}: not a whole game"
    shape = "position legal scores( roll legal| play position legal scores)* end winners"
    assert re.fullmatch(shape, " ".join(keywords)), f"{file.name}: lines in another order"


def test_files_are_those_of_the_maker():
    assert {file.stem for file in FILES} == set(make_golden.games())
    for file in FILES:
        rules, seed = make_golden.games()[file.stem]
        assert header_of(file) == (rules.to_dict(), seed), file.name


def test_files_are_enough_and_cover_the_game():
    assert len(FILES) >= 40
    assert sum(file.stat().st_size for file in FILES) < 1_500_000
    headers = [header_of(file)[0] for file in FILES]
    for name in PRESETS:
        for players in range(2, 7):
            assert Ruleset.preset(name, players=players).to_dict() in headers, (name, players)
    variants = {
        (h["layout"] if isinstance(h["layout"], str) else "list", h["scoring"]) for h in headers
    }
    layouts = ("shuffled", "standard", "variant1", "variant2", "list")
    assert variants == {(layout, s) for layout in layouts for s in ("standard", "expert")}
    for scoring in ("standard", "expert"):
        assert {h["players"] for h in headers if h["scoring"] == scoring} == {2, 3, 4, 5, 6}
    assert {h["pawns"] for h in headers} == {1, 2, 3}
    assert {(h["action_tiles"], h["guards"]) for h in headers} == {
        (a, g) for a in (False, True) for g in (False, True)
    }
    assert any(isinstance(h["layout"], list) and "steal" in h["layout"] for h in headers)


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a pawn takes a tile", r"play [0-2] pawn from .*, takes (-?\d+|lucky)$"),
        ("a guard moves", r"play ([3-9]|10) guard from "),
        ("a gift is turned", r"play [0-2] pawn .* turns the gift$"),
        ("a steal is turned", r"play [0-2] pawn .* turns the steal$"),
        ("a receiver is chosen", r"play 1[1-5] give (-?\d+|lucky) to seat \d$"),
        ("a victim is chosen", r"play 1[1-5] steal (-?\d+|lucky) from seat \d$"),
        ("the victory is shared", r"winners \[\d,"),
    ],
)
def test_it_happens_in_at_least_three_files(what, pattern):
    found = [file.stem for file in FILES if any(re.match(pattern, line) for line in lines_of(file))]
    assert len(found) >= 3, (what, found)
