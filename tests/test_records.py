"""Records: round trips, every reason for refusal, and files that crashes and failures leave."""

import copy
import json
import os
import pickle
import random
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import PHASES, random_board, random_position

from thatslife_env import PRESETS, IllegalMoveError, Position, Ruleset
from thatslife_env.records import KEYS, MAX_META_DEPTH, Game, RecordError, append, load, read, save

pytestmark = pytest.mark.filterwarnings("error")  # a warning that no test expects is a failure

TINY = Ruleset(players=2, pawns=1, layout=[-3, "lucky"], action_tiles=False)
NEWLINE = b"\n"


def continue_at_random(game: Game, rng: random.Random, n_events: int = 10**9) -> Game:
    """Up to `n_events` more events, at most to the end."""
    for _ in range(n_events):
        if game.position.is_over:
            break
        if game.position.phase == "roll":
            game.roll(rng.randint(1, 6))
        else:
            game.play(rng.choice(game.position.legal_actions()))
    return game


def tiny_game(seed: int, **meta: object) -> Game:
    return continue_at_random(Game.deal(TINY, seed, meta), random.Random(seed))


def by_hand() -> dict:
    """A finished game small enough to follow on the rule page."""
    return json.loads(
        """
        {"version": 1,
         "opening": {"rules": {"players": 2, "pawns": 1, "guards": false, "scoring": "standard"},
                     "track": ["start", -3, "finish"], "pawns": [[0], [0]], "guards": [],
                     "towers": [[], []], "player": 0, "phase": "roll", "die": 0},
         "events": [["roll", 1], ["play", 0], ["roll", 6], ["play", 0], ["roll", 2], ["play", 0]],
         "scores": [-3, 0], "winners": [1], "meta": {"names": ["Ann", "Bob"]}}
        """
    )


def changed(path: str, value: object) -> dict:
    """The game by hand with one entry replaced: `events/0/1` is that of `["roll", 1]`."""
    record = by_hand()
    *outer, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    spot = record
    for key in outer:
        spot = spot[key]
    spot[last] = value
    return record


def unfinished(n_events: int) -> dict:
    """The first events of the game by hand."""
    record = by_hand()
    return {**record, "events": record["events"][:n_events], "scores": None, "winners": None}


def refused(record: object, line: int | None = None) -> RecordError:
    with pytest.raises(RecordError) as caught:
        Game.from_json(record, line)
    return caught.value


def written(path: Path, *lines: object) -> Path:
    """A record file of records and of raw lines (bytes)."""
    with path.open("wb") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + NEWLINE)
    return path


# A game being recorded -----------------------------------------------------------------


def test_the_game_by_hand_reads_replays_and_writes_as_on_the_rule_page():
    game = Game.from_json(by_hand())
    assert game.events[:3] == (("roll", 1), ("play", 0), ("roll", 6))
    assert (game.scores, game.winners) == ([-3, 0], [1])
    assert [position.phase for position in game.positions()] == [*["roll", "move"] * 3, "over"]
    assert next(game.positions()) == game.opening
    assert list(game.positions())[-1] == game.position
    assert game.to_json() == by_hand()
    assert tuple(game.to_json()) == KEYS
    assert Game.from_json(json.dumps(by_hand())) == game
    assert Game.from_json(json.dumps(by_hand()).encode()) == game


def test_recording_step_by_step_is_the_same_as_reading():
    game = Game(Position.from_json(by_hand()["opening"]), meta=by_hand()["meta"])
    assert (game.scores, game.winners, game.events) == (None, None, ())
    for n_events, (kind, value) in enumerate(by_hand()["events"]):
        assert game.to_json() == unfinished(n_events)
        assert Game.from_json(unfinished(n_events)) == game
        game.roll(value) if kind == "roll" else game.play(value)
    assert game == Game.from_json(by_hand())


def test_a_refused_roll_or_action_changes_nothing():
    game = Game.deal(TINY, 0)
    for wrong in (0, 7, True, 2.0, "2", None):
        with pytest.raises(IllegalMoveError):
            game.roll(wrong)
    with pytest.raises(IllegalMoveError):
        game.play(0)
    assert game == Game.deal(TINY, 0)
    game.roll(np.int64(2))
    before = copy.deepcopy(game)
    for wrong in (1, 11, -1, 16, True, 0.0, "0", None):
        with pytest.raises(IllegalMoveError):
            game.play(wrong)
    with pytest.raises(IllegalMoveError):
        game.roll(2)
    assert game == before
    game.play(np.array(0))
    assert [type(value) for _, value in game.events] == [int, int]


def test_events_given_to_a_new_game_are_checked():
    opening = Position.deal(TINY, 0)
    game = Game(opening, [("roll", 2), ["play", 0]])
    assert game.events == (("roll", 2), ("play", 0))
    with pytest.raises(RecordError, match="^event 1: action 1 is not legal"):
        Game(opening, [("roll", 2), ("play", 1)])


def test_taking_back_leaves_the_first_game_alone():
    game = tiny_game(3)
    shorter = Game(game.opening, game.events[:-2], game.meta)
    assert shorter.position == list(game.positions())[-3]
    shorter.meta["names"] = ["Ann"]
    assert game == tiny_game(3) != shorter


def test_a_replay_does_not_see_what_is_played_meanwhile():
    game = Game(Position.deal(TINY, 0), [("roll", 2)])
    replay = game.positions()
    assert [next(replay), next(replay)] == [game.opening, game.position]
    game.play(0)
    assert list(replay) == []


def test_a_deal_writes_down_where_it_came_from():
    rules = Ruleset.preset("classic", players=5)
    game = Game.deal(rules, np.uint64(2**64 - 1), {"names": ["a", "b", "c", "d", "e"]})
    entries = json.loads(json.dumps(game.to_json()))["meta"]
    assert entries["seed"] == 2**64 - 1
    assert Ruleset.of(entries["ruleset"]) == rules
    assert entries["names"] == ["a", "b", "c", "d", "e"]
    assert game.opening == Position.deal(rules, 2**64 - 1)
    with pytest.raises(RecordError, match="'seed'"):
        Game.deal(rules, 1, {"seed": 2})
    with pytest.raises(ValueError, match="seed"):
        Game.deal(rules, 2**64)


def test_equality_looks_at_opening_events_and_meta():
    game = tiny_game(1)
    assert game == tiny_game(1)
    assert game != Game(Position.deal(TINY.of("full"), 1))
    assert game != Game(game.opening, game.events[:-1], game.meta)
    assert game != Game(game.opening, game.events)
    assert game != game.to_json()
    with pytest.raises(TypeError, match="unhashable"):
        hash(game)


def test_repr_and_pickle_give_the_game_back():
    game = tiny_game(2, name="quote \"' and \u00e4")
    assert eval(repr(game)) == game
    assert pickle.loads(pickle.dumps(game)) == game


# Round trips ---------------------------------------------------------------------------


def test_presets_and_player_counts_survive_the_round_trip(tmp_path):
    rng = random.Random(1)
    games = []
    for name in PRESETS:
        for players in range(2, 7):
            game = Game.deal(Ruleset.preset(name, players=players), rng.getrandbits(64))
            games.append(continue_at_random(game, rng))
    save(tmp_path / "games.jsonl", games)
    loaded = load(tmp_path / "games.jsonl")
    assert loaded == games
    assert all(game.position.is_over for game in loaded)
    assert [game.scores for game in loaded] == [game.position.scores() for game in games]
    assert list(loaded[-1].positions()) == list(games[-1].positions())


def test_custom_boards_survive_the_round_trip_finished_or_not(tmp_path):
    rng = random.Random(2)
    games = []
    for number in range(150):
        game = Game.deal(Ruleset(**random_board(rng)), rng.getrandbits(64), {"number": number})
        games.append(continue_at_random(game, rng, rng.choice([0, 1, 2, 9, 30, 10**9])))
    save(tmp_path / "games.jsonl", games)
    loaded = load(tmp_path / "games.jsonl")
    assert loaded == games
    assert {game.position.is_over for game in loaded} == {True, False}
    assert all((game.scores is None) == (not game.position.is_over) for game in loaded)


@pytest.mark.parametrize("phase", PHASES)
def test_games_from_any_opening_survive_the_round_trip(phase, tmp_path):
    rng = random.Random(phase)
    games = []
    for _ in range(40):
        opening = Position.from_json(random_position(rng, phase))
        assert opening.phase == phase
        games.append(continue_at_random(Game(opening), rng, rng.choice([0, 1, 5, 10**9])))
    save(tmp_path / "games.jsonl", games)
    assert load(tmp_path / "games.jsonl") == games


def test_a_loaded_game_can_be_played_on(tmp_path):
    rng = random.Random(3)
    save(tmp_path / "games.jsonl", [continue_at_random(Game.deal(Ruleset(), 5), rng, 20)])
    (game,) = load(tmp_path / "games.jsonl")
    continue_at_random(game, rng)
    append(tmp_path / "games.jsonl", game)
    first, second = load(tmp_path / "games.jsonl")
    assert second.events[:20] == first.events
    assert second == game


# Refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_named(key):
    record = by_hand()
    del record[key]
    assert str(refused(record)) == f"the key {key!r} is missing"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({**by_hand(), "date": 1}, "unknown key 'date'"),
        ([by_hand()], "must be an object"),
        (None, "must be an object"),
        (3, "must be an object"),
        ("3", "must be an object"),
        ("", "not JSON"),
        ("{", "not JSON"),
        (json.dumps(by_hand()) + "}", "something follows"),
        (json.dumps(by_hand()) * 2, "something follows"),
        ('{"version": 1, "version": 1}', "'version' stands twice"),
        (b"\xff", "not UTF-8"),
        (changed("version", 2), "version: must be 1, not 2"),
        ({"version": 2, "games": []}, "version: must be 1, not 2"),
        (changed("version", 1.0), "version"),
        (changed("version", True), "version"),
        (changed("version", "1"), "version"),
        (changed("version", None), "version"),
        (changed("opening", None), "opening: must be an object"),
        (changed("opening", json.dumps(by_hand()["opening"])), "opening: must be an object"),
        (changed("opening/track/1", 9), r"opening: .*track\[1\]"),
        (changed("opening/phase", "over"), "opening: .*phase"),
        (changed("opening/die", 10**5000), "opening: "),
        (changed("events", None), "events: must be a list"),
        (changed("events", {}), "events: must be a list"),
        (changed("meta", None), "meta: must be an object"),
        (changed("meta", []), "meta: must be an object"),
        (changed("meta", "x"), "meta: must be an object"),
        (changed("scores", None), r"scores: must be a list of whole numbers, not null"),
        (changed("scores", [0, -3]), r"scores: must be \[-3, 0\] by the rules, not \[0, -3\]"),
        (changed("scores", [-3]), "scores: must be"),
        (changed("scores", [-3, 0, 0]), "scores: must be"),
        (changed("scores", [-3, 0.0]), "scores: must be a list of whole numbers"),
        (changed("scores", [-3, False]), "scores: must be a list of whole numbers"),
        (changed("scores", "-3 0"), "scores: must be a list of whole numbers"),
        (changed("scores", {}), "scores: must be a list of whole numbers"),
        (changed("winners", None), "winners: must be a list of whole numbers"),
        (changed("winners", []), r"winners: must be \[1\]"),
        (changed("winners", [0]), r"winners: must be \[1\]"),
        (changed("winners", [1, 1]), r"winners: must be \[1\]"),
        (changed("winners", [True]), "winners: must be a list of whole numbers"),
        (changed("winners", 1), "winners: must be a list of whole numbers"),
        ({**unfinished(5), "scores": [-3, 0]}, "scores: must be null"),
        ({**unfinished(5), "scores": []}, "scores: must be null"),
        ({**unfinished(0), "winners": [0, 1]}, "winners: must be null"),
        ({**unfinished(0), "winners": False}, "winners: must be null"),
    ],
)
def test_the_reason_is_told_with_the_line(record, reason):
    error = refused(record, line=12)
    assert error.line == 12
    assert error.event is None
    assert str(error) == f"line 12: {error.reason}"
    with pytest.raises(RecordError, match=f"^line 12: .*{reason}"):
        raise error


@pytest.mark.parametrize(
    ("index", "event", "reason"),
    [
        (0, "roll", "must be"),
        (0, None, "must be"),
        (0, [], "must be"),
        (0, ["roll"], "must be"),
        (0, ["roll", 1, 1], "must be"),
        (0, {"roll": 1}, "must be"),
        (0, ["Roll", 1], "must be"),
        (0, ["move", 1], "must be"),
        (0, [1, "roll"], "must be"),
        (0, [["roll"], 1], "must be"),
        (0, [None, 1], "must be"),
        (0, ["roll", 0], "a die shows"),
        (0, ["roll", 7], "a die shows"),
        (0, ["roll", -1], "a die shows"),
        (0, ["roll", True], "a die shows"),
        (0, ["roll", 1.0], "a die shows"),
        (0, ["roll", "1"], "a die shows"),
        (0, ["roll", None], "a die shows"),
        (0, ["roll", [1]], "a die shows"),
        (0, ["roll", 10**5000], ""),
        (0, ["play", 0], "no play in phase 'roll'"),
        (1, ["roll", 1], "no roll in phase 'move'"),
        (1, ["play", 1], "action 1 is not legal"),
        (1, ["play", 3], "action 3 is not legal"),
        (1, ["play", 11], "action 11 is not legal"),
        (1, ["play", -1], "action -1 is not legal"),
        (1, ["play", 16], "action 16 is not legal"),
        (1, ["play", 10**30], "action 1000000000000000000000000000000 is not legal"),
        (1, ["play", False], "action"),
        (1, ["play", 0.0], "action"),
        (1, ["play", "0"], "action"),
        (1, ["play", None], "action"),
        (1, ["play", {}], "action"),
        (5, ["play", 1], "action 1 is not legal"),
        (6, ["roll", 1], "no roll in phase 'over'"),
        (6, ["play", 0], "no play in phase 'over'"),
    ],
)
def test_the_first_impossible_event_is_named(index, event, reason):
    record = by_hand()
    record["events"][index:] = [event, ["roll", 9]]
    error = refused(record, line=3)
    assert (error.line, error.event) == (3, index)
    assert str(error).startswith(f"line 3: event {index}: ")
    assert reason in error.reason


def test_choices_of_an_opponent_are_checked_too():
    rng = random.Random(4)
    for phase in ("give", "steal"):
        opening = random_position(rng, phase)
        legal = Position.from_json(opening).legal_actions()
        record = {**unfinished(0), "opening": opening}
        for action in range(16):
            record["events"] = [["play", action]]
            if action not in legal:
                assert f"event 0: action {action} is not legal" in str(refused(record))
        record["events"] = [["roll", 3]]
        assert f"event 0: no roll in phase {phase!r}" in str(refused(record))


def test_every_single_wrong_number_is_found():
    """No event of a recorded game can be replaced by an impossible one unnoticed."""
    rng = random.Random(5)
    game = continue_at_random(Game.deal(Ruleset.preset("full", players=3), 1), rng)
    positions = list(game.positions())
    for index in range(0, len(game.events), 7):
        record = game.to_json()
        kind = game.events[index][0]
        legal = range(1, 7) if kind == "roll" else positions[index].legal_actions()
        wrong = rng.choice([value for value in range(-1, 17) if value not in legal])
        record["events"][index] = [kind, wrong]
        assert refused(record).event == index
        record["events"][index] = ["play" if kind == "roll" else "roll", 1]
        assert refused(record).event == index


def test_an_error_in_a_file_names_file_line_event_and_reason(tmp_path):
    bad = changed("events/3", ["play", 9])
    path = written(tmp_path / "games.jsonl", by_hand(), b"\n", bad, by_hand())
    with pytest.raises(RecordError) as caught:
        load(path)
    error = caught.value
    assert (error.path, error.line, error.event) == (str(path), 3, 3)
    assert str(error).startswith(f"{path}: line 3: event 3: action 9 is not legal; legal: [0]")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


def test_games_before_the_error_can_be_had_one_by_one(tmp_path):
    games = read(written(tmp_path / "games.jsonl", by_hand(), unfinished(2), {}, by_hand()))
    assert next(games) == Game.from_json(by_hand())
    assert next(games) == Game.from_json(unfinished(2))
    with pytest.raises(RecordError, match=r"games.jsonl: line 3: the key 'version' is missing"):
        next(games)


# Meta ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"": None, "a": True, "b": -1, "c": 2**64, "d": 0.1, "e": "", "f": [], "g": {}},
        {"names": ["J\u00fcrgen", "\u5f20", "\U0001f600", "\u2028\u2029\x85\x00\n\r\"'\\"]},
        {"deep": {"er": [[{"list": [1, [2, [3]]]}]]}},
        {"long": 10**4000, "tiny": 5e-324, "minus": -0.0},
        {"version": 2, "events": [["roll", 9]]},
    ],
)
def test_any_json_may_be_meta(meta, tmp_path):
    game = Game(Position.deal(TINY, 0), meta=meta)
    save(tmp_path / "games.jsonl", [game, game])
    content = (tmp_path / "games.jsonl").read_bytes()
    assert content.isascii()
    assert content.decode().splitlines() == content.decode().split("\n")[:-1]
    assert load(tmp_path / "games.jsonl") == [game, game]
    assert game.meta == meta


def test_meta_is_copied_and_made_plain():
    names = ["Ann"]
    game = Game(Position.deal(TINY, 0), meta={"names": names, "pair": (1, np.int64(2))})
    names.append("Bob")
    assert game.meta == {"names": ["Ann"], "pair": [1, 2]}
    record = game.to_json()
    record["meta"]["names"].append("Cid")
    assert game.meta["names"] == ["Ann"]
    assert type(game.meta["pair"][1]) is int


def nested(depth: int) -> list:
    inner: list = []
    for _ in range(depth - 1):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "meta.x: nan is not"),
        (float("-inf"), "meta.x: -inf is not"),
        ([0, {"y": float("inf")}], r"meta.x\[1\].y: inf is not"),
        ({1: 2}, "meta.x: the key 1 must be a string"),
        ({None: 2}, "meta.x: the key null must be a string"),
        ({1, 2}, "meta.x: a set is not"),
        (b"x", "meta.x: a bytes is not"),
        (1j, "meta.x: a complex is not"),
        (np.zeros(2), "meta.x: a ndarray is not"),
        (Position.deal(TINY, 0), "meta.x: a Position is not"),
        ("\ud800", "meta.x: .* half a surrogate pair"),
        ({"\udfff": 1}, "meta.x: .* half a surrogate pair"),
        ([10**5000], r"meta.x\[0\]: .*digits"),
        (nested(MAX_META_DEPTH), "deeper than 100"),
        (nested(5000), "deeper than 100"),
    ],
)
def test_what_is_not_json_is_refused_before_anything_is_written(value, reason, tmp_path):
    path = tmp_path / "games.jsonl"
    with pytest.raises(RecordError, match=f"^meta.*{reason}|^{reason}"):
        Game(Position.deal(TINY, 0), meta={"x": value})
    game = tiny_game(1)
    game.meta["x"] = value
    save(path, [tiny_game(0)])
    content = path.read_bytes()
    with pytest.raises(RecordError, match=rf"games.jsonl: line 2: .*{reason}"):
        save(path, [tiny_game(0), game])
    with pytest.raises(RecordError, match=rf"games.jsonl: .*{reason}"):
        append(path, game)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["games.jsonl"]


def test_meta_as_deep_as_allowed_comes_back(tmp_path):
    game = Game(Position.deal(TINY, 0), meta={"x": nested(MAX_META_DEPTH - 1)})
    save(tmp_path / "games.jsonl", [game])
    assert load(tmp_path / "games.jsonl") == [game]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999", "inf is not"),
        ("9" * 5000, "digits"),
        ("[" * 100_000, "not readable"),
        ("[" * 100 + "]" * 100, "deeper than 100"),
        ('"\\ud800"', "half a surrogate pair"),
        ('{"a": 1, "b": 2, "a": 3}', "'a' stands twice"),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_meta_that_is_no_json_or_not_portable_is_refused_when_read(text, reason, end, tmp_path):
    line = json.dumps(changed("meta", {"x": 0})).replace('"x": 0', f'"x": {text}') + end
    path = written(tmp_path / "games.jsonl", by_hand(), line.encode())
    with pytest.raises(RecordError, match=rf"games.jsonl: line 2: .*{reason}"):
        load(path)


# Files ---------------------------------------------------------------------------------


def test_a_file_has_one_compact_line_per_game(tmp_path):
    game = Game.from_json(by_hand())
    save(tmp_path / "games.jsonl", [game])
    append(tmp_path / "games.jsonl", game)
    line = json.dumps(by_hand(), separators=(",", ":")) + "\n"
    assert (tmp_path / "games.jsonl").read_bytes() == 2 * line.encode()


def test_no_games_make_an_empty_file(tmp_path):
    save(tmp_path / "games.jsonl", [])
    assert (tmp_path / "games.jsonl").read_bytes() == b""
    assert load(tmp_path / "games.jsonl") == []


def test_paths_may_be_strings(tmp_path):
    path = str(tmp_path / "games.jsonl")
    save(path, [tiny_game(0)])
    append(path, tiny_game(1))
    assert load(path) == list(read(path)) == [tiny_game(0), tiny_game(1)]


def test_a_missing_file_is_not_found_by_readers_and_made_by_append(tmp_path):
    path = tmp_path / "games.jsonl"
    with pytest.raises(FileNotFoundError):
        load(path)
    append(path, tiny_game(0))
    assert load(path) == [tiny_game(0)]
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "nowhere" / "games.jsonl", [])


def test_lines_of_other_writers(tmp_path):
    """Blank lines, spaces, other key orders, CRLF, byte order marks, raw UTF-8, no last newline."""
    record = changed("meta", {"name": "\u5f20"})
    shuffled = dict(reversed(list(record.items())))
    path = written(
        tmp_path / "games.jsonl",
        b"\xef\xbb\xbf" + json.dumps(record, ensure_ascii=False).encode() + b"\r\n",
        b"\n  \r\n\t\n",
        b"  " + json.dumps(shuffled, separators=(" ,\t", ": ")).encode() + b"  \n",
        b"\xef\xbb\xbf" + json.dumps(record).encode(),
    )
    assert load(path) == [Game.from_json(record)] * 3
    append(path, tiny_game(0))
    assert load(path) == [*[Game.from_json(record)] * 3, tiny_game(0)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"garbage\n", "not JSON: Expecting value at column 1"),
        (b"{\n", "not JSON"),
        (json.dumps(by_hand()).encode()[:-1] + b"\n", "not JSON"),
        (json.dumps(by_hand()).encode()[:200] + json.dumps(by_hand()).encode() + b"\n", "not JSON"),
        (json.dumps(by_hand()).encode() * 2 + b"\n", "something follows the record"),
        (b'{"version": 1, \xff}\n', "not UTF-8: invalid start byte at byte 16"),
        (b'{"version": 1, "\xe5\xbc\n', "not UTF-8"),
        (b"\x00\x00\n", "not JSON"),
        (b"null\n", "must be an object"),
        (b"[]\n", "must be an object"),
    ],
)
def test_a_bad_line_in_the_middle_is_an_error(line, reason, tmp_path):
    path = written(tmp_path / "games.jsonl", by_hand(), line, by_hand())
    with pytest.raises(RecordError, match=f"games.jsonl: line 2: .*{reason}"):
        load(path)
    assert len(load(written(path, by_hand()))) == 1
    path = written(path, by_hand(), line)  # nor is it a crash at the end, having its newline
    with pytest.raises(RecordError, match=f"games.jsonl: line 2: .*{reason}"):
        load(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (json.dumps(by_hand()).encode() + b"}", "something follows the record"),
        (json.dumps(by_hand()).encode() + b"\xe5", "something follows the record"),
        (json.dumps(by_hand()).encode() + b" {", "something follows the record"),
        (json.dumps(changed("version", 2)).encode(), "version"),
        (json.dumps(changed("events/0/1", 9)).encode(), "event 0: a die shows"),
        (b'{"version": 1, \xff', "not UTF-8"),
        (b"3", "must be an object"),
    ],
)
def test_a_bad_last_line_that_is_complete_is_an_error_without_its_newline_too(
    line, reason, tmp_path
):
    path = written(tmp_path / "games.jsonl", by_hand(), line)
    with pytest.raises(RecordError, match=f"games.jsonl: line 2: .*{reason}"):
        load(path)


# Crashes -------------------------------------------------------------------------------


def three_games() -> list[Game]:
    rolled = [("roll", 1), ("play", 0), ("roll", 4), ("play", 0)]
    opening = Position.from_json(by_hand()["opening"])
    finished = [*rolled, ("roll", 1), ("play", 0)]
    return [Game(opening, finished), Game(opening, rolled, {"J\u00fc": "\u5f20"}), Game(opening)]


def as_other_writers(games: list[Game]) -> bytes:
    lines = [json.dumps(game.to_json(), ensure_ascii=False) + "\n" for game in games]
    return "".join(lines).encode()


@pytest.mark.parametrize("ascii_only", [True, False])
def test_cut_anywhere_a_file_keeps_every_complete_game_and_can_be_appended_to(ascii_only, tmp_path):
    path = tmp_path / "games.jsonl"
    games = three_games()
    save(path, games)
    content = path.read_bytes() if ascii_only else as_other_writers(games)
    assert content.isascii() is ascii_only
    ends = [index for index, byte in enumerate(content) if byte == NEWLINE[0]]
    assert len(ends) == 3
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        complete = sum(size >= end for end in ends)  # with or without the newline
        rest = content[:size].rpartition(NEWLINE)[2]
        is_cut = bool(rest) and size not in ends
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert load(path) == games[:complete]
            append(path, games[0])
        texts = [str(warning.message) for warning in caught]
        assert texts == is_cut * [
            f"{path}: line {complete + 1}: unfinished, left out",
            f"{path}: line {complete + 1}: unfinished, cut off ({len(rest)} bytes)",
        ]
        assert load(path) == [*games[:complete], games[0]]


def test_the_warnings_point_to_the_caller(tmp_path):
    path = written(tmp_path / "games.jsonl", by_hand(), b'{"version"')
    for use in (lambda: load(path), lambda: list(read(path)), lambda: append(path, tiny_game(0))):
        with pytest.warns(UserWarning, match="line 2: unfinished") as caught:
            use()
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("rest", [b"Dear diary", b"\x00\x00", b'"', b'{"version": 1} {', b"{\xff"])
def test_append_cuts_off_only_what_may_be_a_record(rest, tmp_path):
    path = written(tmp_path / "notes.txt", b"Monday\n", rest)
    with pytest.raises(RecordError, match=r"notes.txt: line 2: "):
        append(path, tiny_game(0))
    assert path.read_bytes() == b"Monday\n" + rest


def test_append_after_trailing_blanks(tmp_path):
    path = written(tmp_path / "games.jsonl", by_hand(), b"  ")
    append(path, tiny_game(0))
    assert load(path) == [Game.from_json(by_hand()), tiny_game(0)]


class Failure(BaseException):
    """Like a KeyboardInterrupt, no Exception."""


def fail(*args: object, **kwargs: object) -> None:
    raise Failure


def games_that_fail():
    yield tiny_game(0)
    raise Failure


@pytest.mark.parametrize("failing", ["games", "fsync", "replace", "copymode"])
@pytest.mark.parametrize("old", [None, b"old, and no record file"])
def test_a_failure_while_saving_leaves_the_old_file_and_nothing_else(
    failing, old, tmp_path, monkeypatch
):
    path = tmp_path / "games.jsonl"
    if old is not None:
        path.write_bytes(old)
    games = iter([tiny_game(0), tiny_game(1)])
    if failing == "games":
        games = games_that_fail()
    elif failing == "copymode":
        monkeypatch.setattr("shutil.copymode", fail)
    else:
        monkeypatch.setattr(os, failing, fail)
    with pytest.raises(Failure):
        save(path, games)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ([] if old is None else ["games.jsonl"])
    if old is not None:
        assert path.read_bytes() == old
    save(path, [tiny_game(2)])
    assert load(path) == [tiny_game(2)]
    assert os.listdir(tmp_path) == ["games.jsonl"]


def test_a_full_disk_while_saving_leaves_the_old_file(tmp_path):
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path = tmp_path / "games.jsonl"
    save(path, [tiny_game(0)])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        with pytest.raises(OSError, match="large"):
            save(path, (tiny_game(seed) for seed in range(200)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(tmp_path) == ["games.jsonl"]
    assert load(path) == [tiny_game(0)]


def test_saving_over_the_file_that_is_being_read(tmp_path):
    path = tmp_path / "games.jsonl"
    save(path, three_games())
    save(path, (game for game in read(path) if not game.meta))
    assert load(path) == three_games()[::2]


def test_saving_keeps_mode_and_link(tmp_path):
    path, link = tmp_path / "games.jsonl", tmp_path / "latest.jsonl"
    save(path, [])
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    link.symlink_to(path)
    save(link, [tiny_game(0)])
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load(path) == [tiny_game(0)]
