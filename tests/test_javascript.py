"""The rules of the page, `web/rules.js`, against ours: whole games, refusals, records; under Node.

The checks are in `tests/web/rules.test.js`; here is what they compare with. With them runs what of
the page needs no browser, `tests/web/page.test.js`.
"""

import copy
import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import make_golden
import numpy as np
import pytest
from conftest import random_board, random_position
from test_agreement import NAMED, choose
from test_position import AWAY, REFUSED, changed, mutate, three_seats

from thatslife_env import PRESETS, Position, PositionError, Ruleset, baselines
from thatslife_env.board import N_ACTIONS
from thatslife_env.position import dice
from thatslife_env.records import Game, RecordError, load, save

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

ROOT = Path(__file__).parent.parent
SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
N_GAMES = 20_000 if SLOW else 2_100
N_MUTANTS = 60_000 if SLOW else 8_000


def playthrough(number: int) -> list[str]:
    """A game in the format of the golden files, by a player of some taste."""
    rng = random.Random(f"javascript {number}")
    named = number < len(NAMED) or number % 2 == 0
    ruleset = Ruleset(**(NAMED[number % len(NAMED)] if named else random_board(rng)))
    seed = rng.randrange(2**64)
    taste = rng.choice(["any", "any", "mixed", "rear", "guards"])
    position = Position.deal(ruleset, seed)
    lines = make_golden.header(ruleset, seed) + make_golden.shown(position)
    rolls = 0
    while not position.is_over:
        if position.phase == "roll":
            position, more = make_golden.after_roll(position, dice(seed, rolls))
            rolls += 1
        else:
            action = choose(rng, taste, position.legal_actions())
            position, more = make_golden.after_play(position, action)
        lines += more
    return lines + make_golden.ending(position)


def position_texts() -> list[str]:
    """Positions as JSON texts, most of them bad: clause by clause, then changed at random."""
    texts = []
    for change, _ in (case for cases in REFUSED.values() for case in cases):
        position = three_seats()
        for key, value in change.items():
            if value is AWAY:
                *above, last = key.split(".")
                del (position["rules"] if above else position)[last]
            else:
                position = changed(position, {key: value})
        texts.append(json.dumps(position))
    for number in range(N_MUTANTS):
        rng = random.Random(f"javascript position {number}")
        position = random_position(rng)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            mutate(position, rng)
        texts.append(json.dumps(position))
    return texts


def place_of_refusal(text: str) -> str | None:
    """Where it is refused; NaN and Infinity, which are not JSON, end the reading there already."""
    if re.search(r"\b(NaN|Infinity)\b", text):
        return "not JSON"
    try:
        Position.from_json(text)
    except PositionError as error:
        return str(error).split(": ")[1]
    return None


def games() -> list[Game]:
    """Games with large seeds and rich meta, finished or not."""
    made = []
    for number in range(40):
        rng = random.Random(f"javascript record {number}")
        ruleset = Ruleset.preset(rng.choice(list(PRESETS)), players=rng.randint(2, 6))
        meta = {"names": ["a\n", '"\\u0000'], "half": 0.5, "two": 2.0, "big": [10**30, -(2**60)]}
        game = Game.deal(ruleset, rng.randrange(2**64), meta)
        while not game.position.is_over and (number % 4 or len(game.events) < 30):
            if game.position.phase == "roll":
                game.roll(rng.randint(1, 6))
            else:
                game.play(rng.choice(game.position.legal_actions()))
        made.append(game)
    return made


def bad_records(game: Game) -> list[str]:
    """One finished game with one thing wrong in each."""
    good = game.to_json()
    changes = [
        *[{key: AWAY} for key in good],
        *[{"version": 2}, {"version": "1"}, {"extra": 1}, {"opening": None}, {"meta": []}],
        *[{"events": {}}, {"scores": None}, {"winners": None}, {"scores": [0, 0]}],
        {"scores": [float(points) for points in good["scores"]]},
        {"opening": {**good["opening"], "die": 3}},
        {"events": good["events"][:-1]},
    ]
    for wrong in (["roll", 0], ["roll", 7], ["roll", 1.0], ["play", 15], ["move", 1], ["play"], 5):
        for index in (0, 1, 7, len(good["events"]) - 1):
            events = copy.deepcopy(good["events"])
            events[index] = wrong
            changes.append({"events": events})
    texts = ["", "{", "[]", "null", '{"version": 1', json.dumps(good) + "x"]
    for change in changes:
        record = {**good, **change}
        kept = {key: value for key, value in record.items() if value is not AWAY}
        texts.append(json.dumps(kept))
    return texts[1:]


def decisions() -> list[dict]:
    """What random and greedy do in positions of games and in made-up ones."""
    made = []
    for number in range(1_500):
        rng = random.Random(f"javascript decision {number}")
        position = Position.from_json(random_position(rng, rng.choice(["move", "give", "steal"])))
        seed, n = rng.randrange(2**64), rng.randrange(200)
        state = position.state[0]
        key = np.uint64(baselines.decision_key(np.uint64(seed), n))
        bits = int(baselines.greedy_actions(state))
        made.append(
            {
                "position": json.dumps(position.to_json()),
                "greedy": [action for action in range(N_ACTIONS) if bits >> action & 1],
                "seed": str(seed),
                "n": n,
                "plays": [int(baselines.baseline_action(state, code, key)) for code in (0, 1)],
            }
        )
    return made


def refused_event(text: str) -> int | None:
    with pytest.raises(RecordError) as refusal:
        Game.from_json(text)
    return refusal.value.event


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_rules_of_the_page_are_ours(tmp_path):
    node = shutil.which("node")
    assert node is not None, "Node.js (20 or newer) is needed to check web/rules.js"
    with (tmp_path / "games.txt").open("w", encoding="utf-8") as file:
        for number in range(N_GAMES):
            file.write("\n".join(playthrough(number)) + "\n")
    cases = [{"text": text, "place": place_of_refusal(text)} for text in position_texts()]
    write_lines(tmp_path / "positions.jsonl", [json.dumps(case) for case in cases])
    recorded = games()
    save(tmp_path / "records.jsonl", recorded)
    finished = next(game for game in recorded if game.position.is_over)
    bad = [{"text": text, "event": refused_event(text)} for text in bad_records(finished)]
    write_lines(tmp_path / "bad_records.jsonl", [json.dumps(case) for case in bad])
    write_lines(tmp_path / "decisions.jsonl", [json.dumps(case) for case in decisions()])

    run = subprocess.run(
        [
            node,
            "--test",
            "--test-reporter=tap",
            "tests/web/rules.test.js",
            "tests/web/page.test.js",
        ],
        cwd=ROOT,
        env={**os.environ, "THATSLIFE_FROM_PYTHON": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    counts = dict(re.findall(r"^# (tests|pass|fail|skipped|todo) (\d+)$", run.stdout, re.MULTILINE))
    assert int(counts["pass"]) == int(counts["tests"]) >= 20, run.stdout

    written = load(tmp_path / "written.jsonl")
    assert len(written) == 60
    for number, game in enumerate(written):
        ruleset = Ruleset.of(game.meta["ruleset"])
        assert game.opening == Position.deal(ruleset, game.meta["seed"]), number
        assert game.meta["names"] == ["Zoë"]
        assert game.position.is_over == (number < 40)
