"""What the kernel counts in games, against counting by hand over `Position`."""

import itertools

import numpy as np
import pytest

import agents
from agents.arena import play_games
from agents.tally import STAGES, TALLY, tally
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import MIN_VALUE
from thatslife_env.games import stream_seeds
from thatslife_env.position import dice

SETTINGS = [(preset, players) for preset in PRESETS for players in (2, 3)] + [("full", 6)]


def recorded(ruleset: Ruleset, n_games: int, spec: str = "random", seed: int = 3):
    """Deal seeds and actions of some games."""
    seeds = stream_seeds(seed, n_games)
    lineups = np.zeros((n_games, ruleset.players), np.int64)
    results = play_games([agents.make(spec)], ruleset, seeds, lineups, record=True)
    return seeds, results


def kind(tile) -> int:
    return (0 if tile == "lucky" else tile) - MIN_VALUE


def tiles_on(track) -> list:
    return [entry for entry in track if entry == "lucky" or isinstance(entry, int)]


def takes(position: Position, action: int) -> bool:
    before, after = position.to_json()["track"], position.play(action).to_json()["track"]
    return len(tiles_on(after)) < len(tiles_on(before))


def is_home(table: dict, seat: int) -> bool:
    return all(slot == len(table["track"]) - 1 for slot in table["pawns"][seat])


def leader(position: Position) -> int:
    scores = position.scores()
    return scores.index(max(scores)) if scores.count(max(scores)) == 1 else -1


def win_shares(position: Position) -> list[float]:
    winners = position.winners()
    return [(seat in winners) / len(winners) for seat in range(position.players)]


def by_hand(ruleset: Ruleset, seed: int, actions: list[int]) -> np.ndarray:
    """TALLY[1] of a game, slowly and from the JSON of its positions."""
    out = np.zeros(1, TALLY)
    position = Position.deal(ruleset, seed)
    number, led_last, n_home = 0, -1, 0
    stages = [set() for _ in range(STAGES)]
    while not position.is_over:
        if position.phase == "roll":
            position = position.roll(dice(seed, int(out["turns"][0])))
            out["turns"] += 1
            continue
        action, seat, legal = actions[number], position.player, position.legal_actions()
        before, after = position.to_json(), position.play(action).to_json()
        stage = int(STAGES * number / len(actions))
        if not stages[stage]:
            out["leader"][0, stage] = leader(position)
        stages[stage].add(number)
        if leader(position) >= 0:
            out["lead_changes"] += led_last >= 0 and led_last != leader(position)
            led_last = leader(position)
        out["decisions"] += 1
        out["options"][0, len(legal)] += 1
        out["stage_decisions"][0, stage] += 1
        out["stage_options"][0, stage] += len(legal)
        is_move = before["phase"] == "move"
        out["guard_open"] += is_move and any(3 <= other <= 10 for other in legal)
        out["guard_moves"] += 3 <= action <= 10
        heights = [len(tower) for tower in before["towers"]]
        change = len(after["towers"][seat]) - heights[seat]
        if takes(position, action):
            tile = kind(after["towers"][seat][-1])
            others = position.scores()
            own = others.pop(seat)
            standing = (own <= max(others)) + (own < max(others))
            way = 2 - all(takes(position, other) for other in legal) - (len(legal) == 1)
            out["taken"][0, tile, seat] += 1
            out["standing"][0, tile, standing] += 1
            out["way"][0, tile, way] += 1
            out["time"][0, tile] += number / len(actions)
        elif change == -1:
            out["gifts"] += 1
            out["gift_values"] += kind(before["towers"][seat][-1]) + MIN_VALUE
        elif change == 1:
            out["steals"] += 1
            out["steal_values"] += kind(after["towers"][seat][-1]) + MIN_VALUE
        elif is_move and after["track"] != before["track"]:
            out["idle"] += after["phase"] not in ("give", "steal")
        if is_move and action < 3:
            slot = before["pawns"][seat][action]
            tile = before["track"][slot]
            stay = sum(pawns.count(slot) for pawns in before["pawns"]) > 1
            if tile in tiles_on([tile]) and not stay and slot in before["guards"]:
                out["held"][0, kind(tile)] += 1
        if is_home(after, seat) and not is_home(before, seat):
            out["home"][0, seat] = n_home
            n_home += 1
        position = position.play(action)
        number += 1
    end = position.to_json()
    for tile in tiles_on(end["track"]):
        out["left"][0, kind(tile)] += 1
    out["guards_home"] = end["guards"].count(len(end["track"]) - 1)
    scores, shares = position.scores(), win_shares(position)
    for seat, tower in enumerate(end["towers"]):
        faces = sum(kind(tile) + MIN_VALUE for tile in tower)
        out["points"][0, seat], out["win_share"][0, seat] = scores[seat], shares[seat]
        out["lucky"][0, seat] = tower.count("lucky")
        out["turned"][0, seat] = scores[seat] - faces
        if ruleset.scoring == "standard":
            n_minus = sum(kind(tile) + MIN_VALUE < 0 for tile in tower)
            out["turning"][0, seat] = min(tower.count("lucky"), n_minus)
        else:
            pairs = itertools.pairwise(tower)
            out["turning"][0, seat] = sum(a != "lucky" and b == "lucky" for a, b in pairs)
        for level, tile in enumerate(tower):
            towers = [list(other) for other in end["towers"]]
            del towers[seat][level]
            without = Position.from_json(end | {"towers": towers})
            out["kept"][0, kind(tile)] += 1
            out["points_with"][0, kind(tile)] += scores[seat] - without.scores()[seat]
            out["wins_with"][0, kind(tile)] += shares[seat] - win_shares(without)[seat]
    return out


@pytest.mark.parametrize(("preset", "players"), SETTINGS)
def test_every_count_is_that_by_hand(preset, players):
    ruleset = Ruleset.preset(preset, players=players)
    seeds, results = recorded(ruleset, 2)
    found = tally(ruleset, seeds, results.actions)
    for game, (seed, actions) in enumerate(zip(seeds, results.actions, strict=True)):
        wanted = by_hand(ruleset, int(seed), actions)
        for name in TALLY.names:
            np.testing.assert_allclose(found[name][game], wanted[name][0], err_msg=name)


def test_counts_add_up():
    """Over many games, every tile is somewhere and every way of counting counts the same."""
    ruleset = Ruleset.preset("full", players=4)
    seeds, results = recorded(ruleset, 40, "greedy")
    found = tally(ruleset, seeds, results.actions)
    taken = found["taken"].sum(axis=2)
    assert (found["points"] == results.points).all()
    np.testing.assert_allclose(found["win_share"], results.win_shares)
    assert (found["decisions"] == results.decisions).all()
    assert (taken + found["left"]).sum() == 40 * 32
    assert (taken == found["kept"]).all()  # what is given or stolen stays somebody's
    assert (found["way"].sum(axis=2) == taken).all()
    assert (found["standing"].sum(axis=2) == taken).all()
    assert (found["options"].sum(axis=1) == found["decisions"]).all()
    assert (found["stage_decisions"].sum(axis=1) == found["decisions"]).all()
    assert (np.sort(found["home"][:, :4], axis=1) == range(4)).all()
    assert (found["guard_moves"] <= found["guard_open"]).all()


def test_a_game_of_fewer_decisions_than_stages():
    """Stages without a decision have no leader and count nothing."""
    ruleset = Ruleset(players=2, pawns=1, layout=[-3], action_tiles=False)
    seeds, results = recorded(ruleset, 20)
    found = tally(ruleset, seeds, results.actions)
    assert (found["decisions"] < STAGES).all()
    for game, (seed, actions) in enumerate(zip(seeds, results.actions, strict=True)):
        wanted = by_hand(ruleset, int(seed), actions)[0]
        is_empty = found["stage_decisions"][game] == 0
        assert is_empty.any()
        for name in set(TALLY.names) - {"leader"}:
            np.testing.assert_allclose(found[name][game], wanted[name], err_msg=name)
        assert (found["leader"][game][~is_empty] == wanted["leader"][~is_empty]).all()
        assert (found["leader"][game][is_empty] == -1).all()
