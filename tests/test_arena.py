"""Games between agents: results that depend on nothing but the games, and how they are counted."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
import reference

import agents
from agents import Agent, arena, tournament
from agents.arena import Results, play_games, to_records
from agents.cli import UsageError
from agents.files import write_json
from agents.report import markdown, table
from agents.tournament import Part, bootstrap, games_per_deal, play_part, play_tournament, tasks_of
from thatslife_env import PRESETS, IllegalMoveError, Position, Ruleset
from thatslife_env.baselines import decision_key
from thatslife_env.games import stream_seeds
from thatslife_env.records import Game

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

GAMMA = 0x9E3779B97F4A7C15
VARIANTS = list(itertools.product(PRESETS, range(2, 7)))


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


def random_lineups(n_games: int, players: int, n_agents: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, n_agents, (n_games, players))


def standings(position: Position) -> tuple[list[float], list[float]]:
    """Win share and rank of each seat, counted from the towers alone."""
    shown = position.to_json()
    keys = [
        (-reference.tower_score(tower, shown["rules"]["scoring"]), tower.count("lucky"))
        for tower in shown["towers"]
    ]
    winners = [key == min(keys) for key in keys]
    shares = [is_winner / sum(winners) for is_winner in winners]
    ranks = []
    for key in keys:
        first = 1 + sum(other < key for other in keys)
        ranks.append(first + (keys.count(key) - 1) / 2)  # the mean of the places that they share
    return shares, ranks


def slow_game(players: list[Agent], ruleset: Ruleset, seed: int, lineup: list[int]) -> dict:
    """One game through `Position`, with the dice of RULES and the key of each decision."""
    position = Position.deal(ruleset, seed)
    actions, n_rolls = [], 0
    while not position.is_over:
        if position.phase == "roll":
            position = position.roll(reference.dice(seed, n_rolls))
            n_rolls += 1
            continue
        key = decision_key(np.uint64(seed), len(actions))
        agent = players[lineup[position.player]]
        action = int(agent.act_batch(position.state.copy(), np.array([key], np.uint64))[0])
        position = position.play(action)
        actions.append(action)
    shares, ranks = standings(position)
    return {
        "points": position.scores(),
        "win_shares": shares,
        "ranks": ranks,
        "actions": actions,
        "position": position,
    }


def assert_same(one: Results, other: Results, order: np.ndarray | None = None) -> None:
    """The same results of the same games; the time they took is another matter."""
    order = np.arange(len(one.decisions)) if order is None else order
    for name in ("points", "win_shares", "ranks", "decisions"):
        np.testing.assert_array_equal(getattr(one, name)[order], getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.decided, other.decided)
    assert [one.actions[which] for which in order] == other.actions


# Games ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def field() -> dict:
    """300 games of four players, of three kinds, in all seats."""
    players = [agents.make(spec) for spec in ("random", "greedy", "mc:rollouts=2")]
    ruleset = Ruleset.preset("full", players=4)
    seeds = stream_seeds(3, 300)
    lineups = random_lineups(300, 4, 3)
    results = play_games(players, ruleset, seeds, lineups, record=True)
    return {
        "arguments": (players, ruleset, seeds, lineups),
        "results": results,
    }


def test_deals_are_drawn_as_design_says():
    for seed in (0, 7, 2**64 - 1):
        assert stream_seeds(seed, 5).tolist() == [draw64(seed, i) for i in range(5)]


@pytest.mark.parametrize("size", [1, 7, 299, 300, 1000])
def test_results_do_not_depend_on_the_size_of_batches(field, monkeypatch, size):
    monkeypatch.setattr(arena, "BATCH", size)
    assert_same(field["results"], play_games(*field["arguments"], record=True))


@pytest.mark.parametrize("threads", [2, 5])
def test_results_do_not_depend_on_threads(field, monkeypatch, threads):
    monkeypatch.setattr(arena, "BATCH", 13)
    assert_same(field["results"], play_games(*field["arguments"], record=True, threads=threads))


def test_results_do_not_depend_on_order_or_company(field):
    players, ruleset, seeds, lineups = field["arguments"]
    order = np.random.default_rng(2).permutation(300)
    assert_same(
        field["results"],
        play_games(players, ruleset, seeds[order], lineups[order], record=True),
        order,
    )
    some = slice(40, 60)
    part = play_games(players, ruleset, seeds[some], lineups[some], record=True)
    np.testing.assert_array_equal(part.points, field["results"].points[some])
    assert part.actions == field["results"].actions[some]


def test_results_do_not_depend_on_what_the_agents_played_before(field):
    players, ruleset, seeds, lineups = field["arguments"]
    for agent in players:
        agent.act(Position.deal(ruleset, 1).roll(2))
    again = play_games(players, ruleset, seeds, lineups, record=True)
    assert_same(field["results"], again)


def test_other_seeds_are_other_games(field):
    players, ruleset, seeds, lineups = field["arguments"]
    other = play_games(players, ruleset, seeds + np.uint64(1), lineups)
    assert (other.points != field["results"].points).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(("preset", "players"), VARIANTS)
def test_results_are_those_of_a_slow_game(preset, players):
    """Points, win shares, ranks, actions and counts of decisions, game by game."""
    contestants = [agents.make(spec) for spec in ("random", "greedy", "mc:playouts=4")]
    ruleset = Ruleset.preset(preset, players=players)
    n_games = 4
    seeds = stream_seeds(players, n_games)
    lineups = random_lineups(n_games, players, 3, seed=players)
    results = play_games(contestants, ruleset, seeds, lineups, record=True)
    decided = np.zeros(3, np.int64)
    for game in range(n_games):
        slow = slow_game(contestants, ruleset, int(seeds[game]), lineups[game].tolist())
        for name in ("points", "win_shares", "ranks"):
            row = getattr(results, name)[game]
            assert row[:players].tolist() == pytest.approx(slow[name], abs=1e-12), name
            assert not row[players:].any()
        assert results.actions[game] == slow["actions"]
        assert results.decisions[game] == len(slow["actions"])
    records = to_records(results, contestants, ruleset, seeds, lineups)
    for record, lineup in zip(records, lineups, strict=True):
        for before, (kind, _) in zip(record.positions(), record.events, strict=False):
            decided[lineup[before.player]] += kind == "play"
    assert results.decided.tolist() == decided.tolist()
    assert results.decided.sum() == results.decisions.sum()


def test_ties_share_wins_and_ranks():
    """A board on which many games end level, in points and lucky tiles."""
    contestants = [agents.make("random")]
    ruleset = Ruleset(players=4, pawns=1, layout=[1, "lucky", 1, "lucky"], action_tiles=False)
    seeds = stream_seeds(1, 60)
    lineups = np.zeros((60, 4), np.int64)
    results = play_games(contestants, ruleset, seeds, lineups)
    sizes = set()
    for game in range(60):
        slow = slow_game(contestants, ruleset, int(seeds[game]), [0] * 4)
        assert results.win_shares[game, :4].tolist() == pytest.approx(slow["win_shares"])
        assert results.ranks[game, :4].tolist() == pytest.approx(slow["ranks"])
        sizes.add(sum(share > 0 for share in slow["win_shares"]))
    np.testing.assert_allclose(results.win_shares.sum(axis=1), 1)
    np.testing.assert_allclose(results.ranks.sum(axis=1), 10)
    assert len(sizes) > 1


def test_records_replay_to_the_same_scores(field):
    players, ruleset, seeds, lineups = field["arguments"]
    results = field["results"]
    records = to_records(results, players, ruleset, seeds, lineups)
    assert len(records) == 300
    for number in range(0, 300, 10):
        text = json.dumps(records[number].to_json())
        game = Game.from_json(text)  # replays it and checks the scores
        assert game.scores == results.points[number, :4].tolist()
        assert game.winners == np.flatnonzero(results.win_shares[number]).tolist()
        rolls = [value for kind, value in game.events if kind == "roll"]
        assert rolls == [reference.dice(int(seeds[number]), k) for k in range(len(rolls))]
        assert game.opening == Position.deal(ruleset, int(seeds[number]))
        assert game.meta["seed"] == int(seeds[number])
        assert game.meta["players"] == [players[which].name for which in lineups[number]]
        assert Ruleset.of(game.meta["ruleset"]) == ruleset


def test_actions_are_kept_only_where_asked_for(field):
    assert play_games(*field["arguments"]).actions is None


class Cheat(Agent):
    """Plays well for a while, then what is not allowed."""

    def __init__(self, action: int, after: int) -> None:
        super().__init__("the cheat")
        self._action = action
        self._left = after

    def choose(self, states, keys):
        actions = agents.make("random").act_batch(states, keys)
        self._left -= 1
        if self._left < 0:
            actions[-1] = self._action
        return actions


@pytest.mark.parametrize("action", [-1, 15, 16, 2**40, -(2**63)])
@pytest.mark.parametrize("threads", [1, 3])
def test_an_illegal_agent_is_named(action, threads):
    ruleset = Ruleset.preset("basic", players=2)
    lineups = np.array([[0, 1], [1, 0]] * 5)
    with pytest.raises(IllegalMoveError, match="the cheat") as caught:
        play_games(
            [agents.make("greedy"), Cheat(action, 3)],
            ruleset,
            stream_seeds(0, 10),
            lineups,
            threads=threads,
        )
    assert str(action) in str(caught.value)
    assert "Position.from_json" in str(caught.value)  # where it happened
    assert "greedy" not in str(caught.value)


def test_lineups_must_fit_the_games():
    ruleset = Ruleset.preset("basic", players=3)
    for shape in ((10, 2), (9, 3), (10, 4), (10,)):
        with pytest.raises(ValueError, match="lineups"):
            play_games([agents.make("random")], ruleset, stream_seeds(0, 10), np.zeros(shape, int))


def test_progress_counts_every_game_once(monkeypatch):
    monkeypatch.setattr(arena, "BATCH", 16)
    counted = []
    play_games(
        [agents.make("random")],
        Ruleset.preset("basic", players=2),
        stream_seeds(0, 50),
        np.zeros((50, 2), int),
        progress=counted.append,
    )
    assert sum(counted) == 50
    assert min(counted) >= 0


# Tournaments ------------------------------------------------------------------------------------


def without_times(results: dict) -> dict:
    copy = json.loads(json.dumps(results))
    for agent in copy["agents"]:
        del agent["ms_per_decision"]
    return copy


def make_tournament(specs: list[str], players: int, games: int, seed: int = 0, **options) -> dict:
    return play_tournament(
        [agents.make(spec) for spec in specs],
        Ruleset.preset("basic", players=players),
        "basic",
        games=games,
        seed=seed,
        **options,
    ).to_json()


@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_a_pair_plays_each_deal_from_every_seat(monkeypatch, players):
    """The same deals for both ways round and for all pairs, each seat exactly once."""
    calls = []
    contestants = [agents.make(spec) for spec in ("random", "greedy", "random")]

    def spy(agents_, ruleset, seeds, lineups, **options):
        who = np.array([contestants.index(agent) for agent in agents_])
        calls.append((seeds.copy(), who[lineups]))
        return play_games(agents_, ruleset, seeds, lineups, **options)

    monkeypatch.setattr(tournament, "play_games", spy)
    monkeypatch.setattr(tournament, "PART_GAMES", 10)
    n_deals = 5
    ruleset = Ruleset.preset("basic", players=players)
    games = n_deals * games_per_deal(players)
    play_tournament(contestants, ruleset, "basic", games=games, seed=9)
    deals = [draw64(9, i) for i in range(n_deals)]
    played: dict[tuple[int, int], list] = {}
    for seeds, lineups in calls:
        for seed, lineup in zip(seeds.tolist(), lineups.tolist(), strict=True):
            assert len(lineup) == players
            for a, b in itertools.permutations(range(3), 2):
                if sorted(lineup) == sorted([a] + [b] * (players - 1)):
                    played.setdefault((a, b), []).append((seed, lineup.index(a)))
    assert set(played) == set(itertools.permutations(range(3), 2))
    for pair, games in played.items():
        assert sorted(games) == sorted(itertools.product(deals, range(players))), pair
    total = sum(len(seeds) for seeds, _ in calls)
    assert total == 3 * n_deals * games_per_deal(players)  # and nothing else is played


@pytest.mark.parametrize(
    ("players", "asked", "played"),
    [(2, 1, 2), (2, 2, 2), (2, 3, 4), (3, 1, 6), (3, 7, 12), (4, 8, 8), (4, 9, 16), (6, 13, 24)],
)
def test_games_are_rounded_up_to_whole_deals(players, asked, played):
    results = make_tournament(["random", "greedy"], players, asked)
    assert results["games"] == played
    one_way = played if players == 2 else played // 2
    assert [pair["games"] for pair in results["pairs"]] == [one_way] * 2
    assert [agent["games"] for agent in results["agents"]] == [one_way] * 2


@pytest.mark.parametrize("players", [2, 3])
def test_means_are_those_of_slow_games(players):
    """Win share, score and rank of the one seat, over all its pairs, counted game by game."""
    specs = ["random", "greedy", "mc:rollouts=2"]
    contestants = [agents.make(spec) for spec in specs]
    ruleset = Ruleset.preset("basic", players=players)
    n_deals = 4
    results = make_tournament(specs, players, n_deals * games_per_deal(players), seed=5)
    duels: dict[tuple[int, int], list] = {}
    for (a, b), i, seat in itertools.product(
        itertools.permutations(range(3), 2), range(n_deals), range(players)
    ):
        lineup = [a if where == seat else b for where in range(players)]
        game = slow_game(contestants, ruleset, draw64(5, i), lineup)
        row = [game[name][seat] for name in ("win_shares", "points", "ranks")]
        duels.setdefault((a, b), []).append(row)
    assert [(pair["a"], pair["b"]) for pair in results["pairs"]] == [
        (specs[a], specs[b]) for a, b in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    ]
    for pair in results["pairs"]:
        rows = np.array(duels[specs.index(pair["a"]), specs.index(pair["b"])])
        assert pair["win_share_a"] == pytest.approx(rows[:, 0].mean())
        assert pair["games"] == len(rows)
    for which, agent in enumerate(results["agents"]):
        rows = np.array([row for (a, _), own in duels.items() if a == which for row in own])
        share, score, rank = rows.mean(axis=0)
        assert agent["win_share"] == pytest.approx(share)
        assert agent["mean_score"] == pytest.approx(score)
        assert agent["mean_rank"] == pytest.approx(rank)
        assert agent["games"] == len(rows)


def test_results_have_exactly_the_keys_of_design():
    results = make_tournament(["random", "greedy", "mc:rollouts=1"], 3, 12, seed=2**64 - 1)
    assert set(results) == {"ruleset", "players", "games", "seed", "agents", "pairs"}
    assert results["ruleset"] == "basic"
    assert results["players"] == 3
    assert results["games"] == 12
    assert results["seed"] == 2**64 - 1
    assert [agent["spec"] for agent in results["agents"]] == ["random", "greedy", "mc:rollouts=1"]
    for agent in results["agents"]:
        assert set(agent) == (
            {"spec", "games", "win_share", "ci95", "mean_score", "mean_rank", "ms_per_decision"}
            | {"rating", "rating_ci95"}
        )
        assert agent["rating_ci95"][0] <= agent["rating"] <= agent["rating_ci95"][1]
        assert agent["ms_per_decision"] > 0
    pairs = {(pair["a"], pair["b"]) for pair in results["pairs"]}
    assert len(results["pairs"]) == 6
    assert pairs == set(itertools.permutations(["random", "greedy", "mc:rollouts=1"], 2))
    for pair in results["pairs"]:
        assert set(pair) == {"a", "b", "games", "win_share_a", "ci95"}
        low, high = pair["ci95"]
        assert 0 <= low <= pair["win_share_a"] <= high <= 1


def test_two_players_share_one_win():
    results = make_tournament(["random", "greedy", "mc:rollouts=1"], 2, 60)
    shares = {(pair["a"], pair["b"]): pair["win_share_a"] for pair in results["pairs"]}
    for (a, b), share in shares.items():
        assert share + shares[b, a] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("players", [2, 4])
def test_copies_of_one_agent_are_exactly_even(players):
    """The same deals, dice and keys from every seat leave no advantage, not even by chance."""
    results = make_tournament(["random"] * 3, players, 240, seed=1)
    assert len(results["pairs"]) == 6
    for row in [*results["pairs"], *results["agents"]]:
        assert row["ci95"][0] <= 1 / players <= row["ci95"][1]
        assert row.get("win_share_a", row.get("win_share")) == pytest.approx(1 / players)
    for agent in results["agents"]:
        assert agent["mean_rank"] == pytest.approx((players + 1) / 2)


class Dealt(Agent):
    """`random` with keys of its own, so that two of them are two players."""

    def __init__(self, number: int) -> None:
        super().__init__(f"random {number}")
        self._number = np.uint64(number)

    def choose(self, states, keys):
        return agents.make("random").choose(states, keys ^ self._number)


@pytest.mark.parametrize("players", [2, 4])
def test_equal_players_are_even_within_their_intervals(players):
    """Of 100 intervals of 95 in a hundred, from 50 sets of deals, few miss the fair share."""
    rows = []
    for seed in range(50):
        pair = [Dealt(number) for number in (1, 2**40)]
        ruleset = Ruleset.preset("basic", players=players)
        results = play_tournament(pair, ruleset, "basic", games=160, seed=seed).to_json()
        rows += results["pairs"]
    covered = sum(row["ci95"][0] <= 1 / players <= row["ci95"][1] for row in rows)
    assert 86 <= covered <= 99
    assert np.mean([row["win_share_a"] for row in rows]) == pytest.approx(1 / players, abs=0.02)


def test_a_tournament_repeats_whatever_the_threads(monkeypatch):
    monkeypatch.setattr(arena, "BATCH", 50)
    specs = ["random", "greedy", "mc:rollouts=1"]
    first = make_tournament(specs, 4, 160, seed=4)
    for threads in (1, 3):
        again = make_tournament(specs, 4, 160, seed=4, threads=threads)
        assert without_times(again) == without_times(first)
    assert without_times(make_tournament(specs, 4, 160, seed=5)) != without_times(first)


def test_who_is_named_first_changes_no_pair():
    forward = make_tournament(["random", "greedy", "mc:rollouts=1"], 3, 60)
    backward = make_tournament(["mc:rollouts=1", "greedy", "random"], 3, 60)

    def by_name(results: dict, part: str, *names: str) -> dict:
        return {tuple(row[name] for name in names): row for row in without_times(results)[part]}

    assert by_name(forward, "pairs", "a", "b") == by_name(backward, "pairs", "a", "b")
    first, second = (by_name(results, "agents", "spec") for results in (forward, backward))
    assert set(first) == set(second)
    for spec, agent in first.items():  # means over opponents, in another order
        assert agent["win_share"] == pytest.approx(second[spec]["win_share"])
        assert agent["mean_rank"] == pytest.approx(second[spec]["mean_rank"])


def test_games_of_a_pair_do_not_depend_on_the_other_agents():
    both = make_tournament(["random", "greedy"], 3, 60)["pairs"]
    three = make_tournament(["random", "mc:rollouts=1", "greedy"], 3, 60)["pairs"]
    for pair in both:
        assert pair in three


@pytest.mark.parametrize("players", [2, 4])
def test_seats_are_those_of_all_games(players):
    """Of copies of one agent every game is the same, whoever is where."""
    contestants = [agents.make("greedy") for _ in range(3)]
    ruleset = Ruleset.preset("basic", players=players)
    n_deals = 30
    games = n_deals * games_per_deal(players)
    seats = play_tournament(contestants, ruleset, "basic", games=games, seed=2).seats()
    lineups = np.zeros((n_deals, players), int)
    plain = play_games(contestants, ruleset, stream_seeds(2, n_deals), lineups)
    assert [seat["seat"] for seat in seats] == list(range(players))
    for name, values in (("win_share", plain.win_shares), ("score", plain.points)):
        for seat, means in zip(seats, values.mean(axis=0), strict=False):
            assert seat[name] == pytest.approx(means)
            low, high = seat[f"{name}_ci95"]
            assert low < means < high


# Parts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 6])
@pytest.mark.parametrize("games", [1, 99, 101, 2000, 123_457, 10**7])
def test_parts_are_every_deal_of_every_pair_once(players, games):
    n_deals = -(-games // games_per_deal(players))
    for pair in itertools.combinations(range(4), 2):
        own = [task for task in tasks_of(4, players, games) if (task.a, task.b) == pair]
        assert len(own) <= tournament.MAX_PARTS
        assert (own[0].first, own[-1].last) == (0, n_deals)
        assert all(task.first < task.last for task in own)
        assert all(task.last == after.first for task, after in itertools.pairwise(own))


@pytest.mark.parametrize("players", [2, 3])
def test_parts_change_no_result(monkeypatch, players):
    specs = ["random", "greedy", "mc:rollouts=1"]
    whole = make_tournament(specs, players, 60)
    monkeypatch.setattr(tournament, "PART_GAMES", 10)
    assert without_times(make_tournament(specs, players, 60)) == without_times(whole)


def test_a_part_is_a_function_of_its_deals():
    pair = [agents.make("greedy"), agents.make("mc:rollouts=1")]
    seeds = stream_seeds(3, 10)
    ruleset = Ruleset.preset("full", players=3)
    whole = play_part(pair, ruleset, seeds)
    halves = [play_part(pair, ruleset, half) for half in (seeds[:4], seeds[4:])]
    for which in (0, 1):
        for name in tournament.MEASURES:
            joined = np.concatenate([getattr(half.duels[which], name) for half in halves])
            np.testing.assert_array_equal(joined, getattr(whole.duels[which], name))
    assert whole.decided.tolist() == sum(half.decided for half in halves).tolist()


def test_a_part_is_itself_again_from_json():
    part = play_part([agents.make("greedy"), agents.make("random")], Ruleset(players=4), [1, 2, 3])
    content = json.loads(json.dumps(part.to_json()))
    assert Part.from_json(content, 3, 4).to_json() == part.to_json()
    for n_deals, players, words in ((2, 4, "2 deals"), (3, 3, "3 players")):
        with pytest.raises(ValueError, match=words):
            Part.from_json(content, n_deals, players)
    for name in content:
        with pytest.raises(ValueError, match=name):
            Part.from_json({key: content[key] for key in content if key != name}, 3, 4)
        with pytest.raises(ValueError):
            Part.from_json(content | {name: "x"}, 3, 4)


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_that_are_there_are_not_played_again(monkeypatch, tmp_path, threads):
    monkeypatch.setattr(tournament, "PART_GAMES", 12)
    specs = ["random", "greedy", "mc:rollouts=1"]
    options = {"folder": tmp_path, "threads": threads}
    whole = make_tournament(specs, 3, 48, **options)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3 * 4
    assert whole == make_tournament(specs, 3, 48, **options)  # times, too
    played, counted = [], []

    def spy(pair, ruleset, seeds, **more):
        played.append(([agent.name for agent in pair], len(seeds)))
        return play_part(pair, ruleset, seeds, **more)

    monkeypatch.setattr(tournament, "play_part", spy)
    for file in (files[1], files[-1]):
        file.unlink()
    again = make_tournament(specs, 3, 48, progress=counted.append, **options)
    assert without_times(again) == without_times(whole)
    assert sorted(played) == [(["greedy", "mc:rollouts=1"], 2), (["random", "greedy"], 2)]
    assert sum(counted) == 3 * 48
    assert sorted(tmp_path.iterdir()) == files
    more = make_tournament([*specs, "random"], 3, 48, **options)
    assert len(played) == 2 + 3 * 4  # those of the new one alone
    assert without_times(more)["pairs"][:4] == without_times(whole)["pairs"][:4]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_was_finished_before_a_failure_is_kept(monkeypatch, tmp_path, threads):
    monkeypatch.setattr(tournament, "PART_GAMES", 4)
    begun = []

    def fail(pair, ruleset, seeds, **more):
        begun.append(len(seeds))
        if len(begun) == 6:
            raise KeyboardInterrupt
        return play_part(pair, ruleset, seeds, **more)

    monkeypatch.setattr(tournament, "play_part", fail)
    with pytest.raises(KeyboardInterrupt):
        make_tournament(["random", "greedy"], 2, 400, folder=tmp_path, threads=threads)
    assert len(begun) < 100  # of the parts; how many others begin depends on the threads
    assert 6 - threads <= len(list(tmp_path.iterdir())) < len(begun)


DAMAGES = ["truncated", "other agents", "other deals", "a folder"]
DAMAGES += ["a share of 7", "no number", "too large"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_is_named(tmp_path, damage):
    make_tournament(["random", "greedy"], 2, 20, folder=tmp_path)
    [file] = tmp_path.iterdir()
    content = json.loads(file.read_text())
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-9])
    elif damage == "other agents":
        file.write_text(json.dumps(content | {"b": "mc:rollouts=1"}))
    elif damage == "other deals":
        file.write_text(json.dumps(content | {"rank": content["rank"][:1]}))
    elif damage == "a share of 7":
        content["win_share"][0][0][0] = 7
        file.write_text(json.dumps(content))
    elif damage == "no number":
        file.write_text(json.dumps(content | {"thinking": [float("nan"), 1.0]}))
    elif damage == "too large":
        file.write_text(json.dumps(content | {"decided": [10**30, 1]}))
    else:
        file.unlink()
        file.mkdir()
    with pytest.raises(UsageError, match=file.name):
        make_tournament(["random", "greedy"], 2, 20, folder=tmp_path)


# In words ---------------------------------------------------------------------------------------


def test_the_table_shows_what_the_results_say():
    results = make_tournament(["random", "greedy"], 3, 60)
    text = table(results)
    lines = text.splitlines()
    assert "basic, 3 players, 60 games a pair, seed 0" in lines[0]
    assert "0.333" in lines[0]
    for agent in results["agents"]:
        row = next(line for line in lines if line.startswith(agent["spec"]))
        low, high = agent["ci95"]
        assert f"{agent['win_share']:.3f} [{low:.3f}, {high:.3f}]" in row
        assert f"{agent['mean_score']:.2f}" in row
        assert f"{agent['mean_rank']:.2f}" in row
    for pair in results["pairs"]:
        row = next(line for line in lines if f"{pair['a']} v {pair['b']} " in line)
        assert f"{pair['win_share_a']:.3f}" in row


def test_the_cross_table_shows_every_pair_both_ways_and_the_best_first():
    results = make_tournament(["random", "greedy", "mc:rollouts=1"], 3, 60)
    head, blank, names, rule, *rows = markdown(results).splitlines()
    assert head.startswith("basic, 3 players, 60 games a pair, seed 0: ")
    assert "random at 0" in head
    assert "0.333" in head
    assert blank == ""
    best_first = sorted(results["agents"], key=lambda agent: agent["rating"], reverse=True)
    specs = [agent["spec"] for agent in best_first]
    assert specs != [agent["spec"] for agent in results["agents"]]
    assert names == "| | rating | ms a decision | " + " | ".join(f"`{s}`" for s in specs) + " |"
    assert rule == "|---|---|---|---|---|---|"
    pairs = {(pair["a"], pair["b"]): pair for pair in results["pairs"]}
    for row, agent in zip(rows, best_first, strict=True):
        name, rating, ms, *cells = (cell.strip() for cell in row.split("|")[1:-1])
        assert name == f"`{agent['spec']}`"
        low, high = agent["rating_ci95"]
        assert rating == f"{agent['rating']:.0f} [{low:.0f}, {high:.0f}]"
        assert ms == f"{agent['ms_per_decision']:.3f}"
        assert len(cells) == 3
        for spec, cell in zip(specs, cells, strict=True):
            if spec == agent["spec"]:
                assert cell == ""
            else:
                pair = pairs[agent["spec"], spec]
                low, high = pair["ci95"]
                assert cell == f"{pair['win_share_a']:.3f} [{low:.3f}, {high:.3f}]"


def test_without_random_the_report_says_where_0_is():
    results = make_tournament(["greedy", "mc:rollouts=1"], 2, 20)
    for text in (table(results), markdown(results)):
        assert "the mean of all at 0 (random did not take part)" in text


def test_agents_that_no_games_connect_are_reported():
    whole = play_tournament(
        [agents.make(f"mc:rollouts={n}") for n in (1, 2, 3, 4)], Ruleset(), "basic", games=20
    )
    assert "connect" not in table(whole.to_json())
    apart = [duel for duel in whole.duels if {duel.a, duel.b} in ({0, 3}, {1, 2})]
    results = dataclasses.replace(whole, duels=apart).to_json()
    for text in (table(results), markdown(results)):
        assert (
            "cannot be compared: mc:rollouts=1, mc:rollouts=4; mc:rollouts=2, mc:rollouts=3" in text
        )
    widths = [np.ptp(agent["rating_ci95"]) for agent in results["agents"]]
    assert min(widths) > 1000


def test_a_spec_does_not_break_the_cross_table():
    results = make_tournament(["random", "greedy"], 2, 4)
    results = json.loads(json.dumps(results).replace("greedy", "td:a|b"))
    assert "`td:a\\|b`" in markdown(results)


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "results.json"
    write_json(path, {"a": [1, None]})
    assert json.loads(path.read_text()) == {"a": [1, None]}
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": [1, None]}
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


# Intervals --------------------------------------------------------------------------------------


def test_an_interval_of_one_value_is_that_value():
    assert bootstrap(np.full(50, 0.25), 0) == [0.25, 0.25]
    assert bootstrap(np.array([0.5]), 0) == [0.5, 0.5]


@pytest.mark.parametrize("n_deals", [1, 10, 1000])
def test_all_won_and_all_lost_are_not_certain(n_deals):
    """The chance of the other end is that of 2.5 % of such luck."""
    low, high = bootstrap(np.ones(n_deals), 0)
    assert high == 1
    assert low**n_deals == pytest.approx(0.025)
    assert bootstrap(np.zeros(n_deals), 0) == [0, pytest.approx(1 - low)]
    assert bootstrap(np.ones(n_deals), 0, are_shares=False) == [1, 1]


def test_an_interval_repeats_with_its_seed_and_knows_no_order():
    values = np.random.default_rng(0).choice([0, 0.5, 1], 300)
    assert bootstrap(values, 3) == bootstrap(values, 3) == bootstrap(np.sort(values), 3)
    assert bootstrap(values, 3) != bootstrap(values, 4)
    assert bootstrap(values, 2**64 - 1) == bootstrap(values, 2**64 - 1)


def test_an_interval_is_that_of_drawing_deals_one_by_one():
    rng = np.random.default_rng(5)
    for values in (rng.choice([0, 0.5, 1], 200), rng.random(40), np.array([0, 0, 0, 1.0])):
        means = rng.choice(values, (20_000, len(values))).mean(axis=1)
        slow = np.quantile(means, [0.025, 0.975])
        error = 4 * values.std() / np.sqrt(len(values)) * np.sqrt(0.025 * 0.975 / 2000) / 0.058
        assert bootstrap(values, 1) == pytest.approx(slow.tolist(), abs=error)


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Of 200 runs with a known mean, between 90 and 99 in a hundred cover it."""
    rng = np.random.default_rng(6)
    covered = 0
    for run in range(200):
        low, high = bootstrap(rng.binomial(2, 0.3, 100) / 2, run)
        covered += low <= 0.3 <= high
    assert 180 <= covered <= 198


def test_more_deals_make_narrower_intervals():
    rng = np.random.default_rng(7)
    few, many = (np.ptp(bootstrap(rng.binomial(2, 0.5, n) / 2, 0)) for n in (100, 10_000))
    assert few / many == pytest.approx(10, rel=0.25)


def test_a_deal_is_resampled_with_all_its_games():
    """Where every move is forced, each deal gives one win from the two seats: nothing is open."""
    ruleset = Ruleset(players=2, pawns=1, layout=[-1], action_tiles=False)
    pair = [agents.make("random"), agents.make("greedy")]
    results = play_tournament(pair, ruleset, "one tile", games=400).to_json()
    assert [row["ci95"] for row in results["pairs"]] == [[0.5, 0.5]] * 2


# Strength ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "share", "within"),
    [("greedy", "random", 0.75, 0.03), ("mc:rollouts=30", "greedy", 0.84, 0.04)],
)
def test_the_yardsticks_are_as_strong_as_design_says(a, b, share, within):
    results = make_tournament([a, b], 2, 2000)
    assert results["pairs"][0]["win_share_a"] == pytest.approx(share, abs=within)
    low, high = results["pairs"][0]["ci95"]
    assert high - low < 2 * within


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.int32, np.uint8, list])
def test_seeds_of_every_whole_type_deal_the_same_games(kind):
    players = [agents.make("greedy"), agents.make("random")]
    lineups = np.array([[0, 1], [1, 0]])
    wanted = play_games(players, Ruleset(), np.array([1, 2], np.uint64), lineups)
    seeds = [1, 2] if kind is list else np.array([1, 2], kind)
    np.testing.assert_array_equal(
        play_games(players, Ruleset(), seeds, lineups).points, wanted.points
    )


@pytest.mark.parametrize("seeds", [[-1, 2], [1.0, 2.0], [True, False], [[1, 2]], [], ["1", "2"]])
def test_what_are_no_seeds(seeds):
    with pytest.raises(ValueError, match="seeds"):
        play_games([agents.make("random")], Ruleset(), seeds, np.zeros((2, 2), int))


@pytest.mark.parametrize("wrong", [-1, 2, 0.0])
def test_what_are_no_lineups(wrong):
    players = [agents.make("greedy"), agents.make("random")]
    with pytest.raises(ValueError, match="lineups"):
        play_games(players, Ruleset(), [1], np.array([[wrong, 1]]))
