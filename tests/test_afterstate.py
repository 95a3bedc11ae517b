"""Values of afterstates: the features, the network, the agent `td:PATH`, and its files.

The features are restated here from the JSON of a position, in plain Python.
"""

import itertools
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import reference
from conftest import random_position
from safetensors.numpy import load_file, save_file

import agents
from agents import AgentError, saved
from agents.afterstate import (
    COMMON_ROWS,
    FEATURES_HASH,
    MAX_MOVES,
    N_FEATURES,
    SEAT_ROWS,
    ValueAgent,
    ValueNetwork,
    features_used,
    load_value,
    save_value,
    write_features,
    write_layer,
    write_moves,
)
from agents.arena import play_games
from thatslife_env import Position, Ruleset, njit
from thatslife_env.board import STATE
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

ROOT = Path(__file__).resolve().parents[1]


def make_network(players: int = 6, hidden: tuple[int, ...] = (16, 8), seed: int = 0):
    rng = np.random.default_rng(seed)
    sizes = [features_used(players), *hidden, 6]
    weights, biases = [], []
    for n_in, n_out in itertools.pairwise(sizes):
        weights.append(rng.normal(0, (2 / n_in) ** 0.5, (n_in, n_out)).astype(np.float32) * 2)
        biases.append(rng.normal(0, 0.5, n_out).astype(np.float32))
    return ValueNetwork(tuple(weights), tuple(biases))


def some_states(phase: str | None = None, n: int = 200, seed: int = 0):
    rng = random.Random(seed)
    positions = [random_position(rng, phase) for _ in range(n)]
    return np.concatenate([Position.from_json(position).state for position in positions])


# Features ------------------------------------------------------------------------------------


def score(tower: list, position: dict) -> int:
    return reference.tower_score(tower, position["rules"]["scoring"])


def worth(face) -> int:
    return face if isinstance(face, int) else 0


def expected_common(position: dict) -> dict[str, list[float]]:
    given, track = position["rules"], position["track"]
    inner = track[1:-1]
    on_track = [inner.count("lucky" if value == 0 else value) / 3 for value in range(-10, 9)]
    return {
        "players": [float(given["players"] == n) for n in range(2, 7)],
        "pawns_each": [float(given["pawns"] == n) for n in (1, 2, 3)],
        "with_guards": [float(given["guards"])],
        "expert": [float(given["scoring"] == "expert")],
        "finish": [(len(track) - 1) / 37],
        "on_track": on_track,
        "actions_on_track": [inner.count("gift") / 3, inner.count("steal") / 3],
    }


def expected_tower(position: dict, seat: int) -> dict[str, list[float]]:
    tower = position["towers"][seat]
    now = score(tower, position)
    lucky = tower.count("lucky")
    minus = sorted(face for face in tower if worth(face) < 0)[lucky:][:3]
    tops = tower[::-1][:2]
    return {
        "points": [now / 40],
        "lucky": [lucky / 3],
        "tiles": [float(bool(tower))],
        "top_value": [worth(face) / 10 for face in tops] + [0.0] * (2 - len(tops)),
        "top_lucky": [float(face == "lucky") for face in tops] + [0.0] * (2 - len(tops)),
        "minus": [face / 10 for face in minus] + [0.0] * (3 - len(minus)),
        "without_top": [(score(tower[:-1], position) - now) / 20 if tower else 0.0],
        "with_lucky": [(score([*tower, "lucky"], position) - now) / 20],
        "with_minus": [(score([*tower, -10], position) - now) / 20],
    }


PAWN_ROWS = [row.name for row in SEAT_ROWS if row.shape[0] == 3 and row.name != "minus"]


def expected_pawn(position: dict, seat: int, slot: int) -> dict[str, list[float]]:
    """The rows of one pawn."""
    track, tower = position["track"], position["towers"][seat]
    finish = len(track) - 1
    own = position["pawns"][seat]
    rows = enumerate(position["pawns"])
    others = [at for other, row in rows if other != seat for at in row]
    guards = position["guards"]
    sign = {"gift": 1.0, "steal": -1.0}
    here, reach = track[slot], range(slot + 1, slot + 7)
    far = list(range(slot + 7, slot + 13))
    beyond = [track[at] for at in range(slot + 13, finish)]
    on_tile = 0 < slot < finish
    alone = on_tile and (own + others + guards).count(slot) == 1
    takes = alone and here not in sign
    if slot == finish:
        return {"home": [1.0]}
    return {
        "home": [0.0],
        "at_start": [float(slot == 0)],
        "to_go": [(finish - slot) / 37],
        "under_value": [worth(here) / 10 if on_tile else 0.0],
        "under_lucky": [float(here == "lucky")],
        "under_action": [sign.get(here, 0.0)],
        "with_own": [(own.count(slot) - 1) / 3 if on_tile else 0.0],
        "with_others": [others.count(slot) / 3 if on_tile else 0.0],
        "with_guards_there": [guards.count(slot) / 3 if on_tile else 0.0],
        "alone": [float(alone)],
        "due": [(score([*tower, here], position) - score(tower, position)) / 20 if takes else 0.0],
        "ahead_value": [worth(track[at]) / 10 if at < finish else 0.0 for at in reach],
        "ahead_lucky": [float(at < finish and track[at] == "lucky") for at in reach],
        "ahead_action": [sign.get(track[at], 0.0) if at < finish else 0.0 for at in reach],
        "ahead_own": [own.count(at) / 3 if at < finish else 0.0 for at in reach],
        "ahead_others": [(others + guards).count(at) / 3 if at < finish else 0.0 for at in reach],
        "ahead_home": [float(at >= finish) for at in reach],
        "far_value": [worth(track[at]) / 10 if at < finish else 0.0 for at in far],
        "far_lucky": [float(at < finish and track[at] == "lucky") for at in far],
        "beyond_plus": [sum(max(worth(face), 0) for face in beyond) / 40],
        "beyond_minus": [sum(min(worth(face), 0) for face in beyond) / 40],
        "beyond_lucky": [beyond.count("lucky") / 3],
    }


def expected_features(position: dict) -> np.ndarray:
    """The whole vector, row by row."""
    numbers = [x for row in COMMON_ROWS for x in expected_common(position)[row.name]]
    players = position["rules"]["players"]
    for steps in range(players):
        seat = (position["player"] + steps) % players
        rows = expected_tower(position, seat)
        pawns = [expected_pawn(position, seat, slot) for slot in position["pawns"][seat]]
        for row in SEAT_ROWS:
            size = math.prod(row.shape)
            if row.name in PAWN_ROWS:
                each = size // 3
                found = [x for pawn in pawns for x in pawn.get(row.name, [0.0] * each)]
                rows[row.name] = found + [0.0] * (size - len(found))
            assert len(rows[row.name]) == size, row.name
            numbers += rows[row.name]
    return np.array(numbers + [0.0] * (N_FEATURES - len(numbers)))


@njit
def features_of(states, out):
    for i in range(len(states)):
        write_features(states[i], out[i])


def features(states) -> np.ndarray:
    out = np.full((len(states), N_FEATURES), 7, np.float32)
    features_of(states, out)
    return out


def test_features_are_what_the_table_says():
    rng = random.Random(1)
    positions = [random_position(rng, "roll") for _ in range(400)]
    states = np.concatenate([Position.from_json(position).state for position in positions])
    for position, found in zip(positions, features(states), strict=True):
        np.testing.assert_allclose(found, expected_features(position), atol=1e-6, err_msg=position)


def test_features_are_those_of_games_too():
    """Along games of all presets and player counts, dealt and played."""
    rng = random.Random(2)
    for name, players in itertools.product(("basic", "classic", "expert", "full"), range(2, 7)):
        position = Position.deal(Ruleset.preset(name, players=players), rng.randrange(2**64))
        while not position.is_over:
            if position.phase == "roll":
                if rng.random() < 0.2:
                    found = features(position.state)[0]
                    np.testing.assert_allclose(
                        found, expected_features(position.to_json()), atol=1e-6
                    )
                position = position.roll(rng.randint(1, 6))
            else:
                position = position.play(rng.choice(position.legal_actions()))


def test_features_do_not_know_the_die():
    rng = random.Random(3)
    for _ in range(50):
        position = Position.from_json(random_position(rng, "roll"))
        before = features(position.state)
        for die in (1, 6):
            np.testing.assert_array_equal(features(position.roll(die).state), before)


def test_features_are_relative_to_the_seat_to_roll():
    """Turning the table changes nothing."""
    rng = random.Random(4)
    for _ in range(100):
        position = random_position(rng, "roll")
        players = position["rules"]["players"]
        turned = {
            **position,
            "pawns": position["pawns"][1:] + position["pawns"][:1],
            "towers": position["towers"][1:] + position["towers"][:1],
            "player": (position["player"] - 1) % players,
        }
        one, other = (Position.from_json(p).state for p in (position, turned))
        np.testing.assert_array_equal(features(one), features(other))


def test_features_stay_small():
    found = features(some_states("roll", 500))
    assert np.abs(found).max() <= 32 / 3  # 32 equal tiles
    assert found.std() > 0.1


# Moves ---------------------------------------------------------------------------------------


@njit
def moves_of(states, afters, actions):
    return write_moves(states[0], afters, actions)


def moves(position: Position) -> list[tuple[int, int, Position]]:
    afters, actions = np.empty(MAX_MOVES, STATE), np.empty((MAX_MOVES, 2), np.int64)
    n = moves_of(position.state, afters, actions)
    return [
        (int(actions[k, 0]), int(actions[k, 1]), Position.from_state(afters[k])) for k in range(n)
    ]


@pytest.mark.parametrize("phase", ["move", "give", "steal"])
def test_moves_are_all_ways_to_end_the_turn(phase):
    """A choice that a move opens belongs to the move; the choices stand by their order."""
    rng = random.Random(5)
    n_choices = 0
    for _ in range(900):
        position = Position.from_json(random_position(rng, phase))
        expected = []
        for action in position.legal_actions():
            after = position.play(action)
            if after.phase in ("give", "steal"):
                n_choices += 1
                expected += [(action, c, after.play(c)) for c in after.legal_actions()]
            else:
                expected.append((action, -1, after))
        assert moves(position) == expected
        assert {after.phase for _, _, after in expected} <= {"roll", "over"}
    assert (n_choices > 0) == (phase == "move")


def test_the_most_moves_fit():
    """Three pawns alone on three gifts, six players with equal tops, all guards ready to move."""
    position = Position.from_json(
        {
            "rules": {"players": 6, "pawns": 3, "guards": True, "scoring": "standard"},
            "track": ["start", "gift", "gift", "gift", *[1] * 8, "finish"],
            "pawns": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 11], [0, 0, 0], [0, 0, 0]],
            "guards": [4, 5, 6, 7, 8, 9, 10, 11],
            "towers": [[-1], *[[1]] * 5],
            "player": 0,
            "phase": "move",
            "die": 5,
        }
    )
    assert len(moves(position)) == MAX_MOVES == 23


# The network ---------------------------------------------------------------------------------


def by_hand(network: ValueNetwork, position: dict) -> np.ndarray:
    """Win shares by NumPy in float64, by the seats' own numbers."""
    x = expected_features(position)[: len(network.weights[0])]
    for layer, (weights, biases) in enumerate(zip(*network, strict=True)):
        x = x @ weights.astype(np.float64) + biases
        if layer < len(network.weights) - 1:
            x = np.maximum(x, 0)
    players = position["rules"]["players"]
    shares = np.exp(x[:players] - x[:players].max())
    out = np.zeros(6)
    for steps in range(players):
        out[(position["player"] + steps) % players] = shares[steps] / shares.sum()
    return out


@pytest.mark.parametrize("hidden", [(5,), (16, 8)])
def test_values_before_a_roll_are_those_of_the_network(hidden):
    network = make_network(hidden=hidden)
    rng = random.Random(6)
    positions = [random_position(rng, "roll") for _ in range(100)]
    states = np.concatenate([Position.from_json(position).state for position in positions])
    values = ValueAgent("it", network).values(states)
    assert values.shape == (100, 6)
    assert values.std() > 0.1
    for position, found in zip(positions, values, strict=True):
        np.testing.assert_allclose(found, by_hand(network, position), atol=2e-5)


def test_values_sum_to_one_and_absent_seats_have_none():
    states = some_states(n=500)
    values = ValueAgent("it", make_network()).values(states)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-12)
    absent = np.arange(6) >= states["players"][:, None]
    assert (values[absent] == 0).all()
    assert (values >= 0).all()


def test_values_of_a_game_that_is_over_are_exact():
    rng = random.Random(7)
    positions = [Position.from_json(random_position(rng, "over")) for _ in range(200)]
    values = ValueAgent("it", make_network()).values(np.concatenate([p.state for p in positions]))
    n_shared = 0
    for position, found in zip(positions, values, strict=True):
        winners = position.winners()
        n_shared += len(winners) > 1
        for seat in range(6):
            assert found[seat] == (1 / len(winners) if seat in winners else 0)
    assert n_shared > 5


@pytest.mark.parametrize("phase", ["move", "give", "steal"])
def test_the_best_move_for_the_player_is_played_and_is_the_value(phase):
    agent = ValueAgent("it", make_network())
    rng = random.Random(8)
    positions = [Position.from_json(random_position(rng, phase)) for _ in range(150)]
    states = np.concatenate([position.state for position in positions])
    actions = agent.act_batch(states, np.zeros(len(states), np.uint64))
    values = agent.values(states)
    chances = agent.probabilities(states)
    for row, position in enumerate(positions):
        best, best_action = None, None
        for action, _, after in moves(position):
            value = agent.values(after.state)[0]
            if best is None or value[position.player] > best[position.player]:
                best, best_action = value, action
        assert actions[row] == best_action
        np.testing.assert_array_equal(values[row], best)
        assert chances[row].tolist() == [float(a == best_action) for a in range(16)]


def test_of_equal_moves_the_lowest_is_played():
    network = make_network()
    level = ValueNetwork(network.weights, tuple(np.zeros_like(b) for b in network.biases))
    for weights in level.weights:
        weights[:] = 0
    agent = ValueAgent("it", level)
    rng = random.Random(9)
    for _ in range(50):
        position = Position.from_json(random_position(rng, "move"))
        if all(after.phase == "roll" for _, _, after in moves(position)):
            assert agent.act(position) == position.legal_actions()[0]


def test_a_position_has_one_value_whatever_the_batch():
    agent = ValueAgent("it", make_network(hidden=(64, 32)))
    states = some_states(n=300)
    together = agent.values(states)
    for rows in (slice(0, 1), slice(7, 9), slice(100, 257), slice(299, 300)):
        np.testing.assert_array_equal(agent.values(states[rows]), together[rows])
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(agent.values(states[order]), together[order])
    assert agent.values(states[:0]).shape == (0, 6)


@pytest.mark.parametrize("phase", ["roll", "over"])
def test_where_nothing_is_to_decide_nothing_is_played(phase):
    agent = ValueAgent("it", make_network())
    states = np.concatenate([some_states("move", 3), some_states(phase, 1)])
    with pytest.raises(ValueError, match="nothing to decide"):
        agent.choose(states, np.zeros(4, np.uint64))
    with pytest.raises(ValueError, match="nothing to decide"):
        agent.probabilities(states)


def test_judging_changes_no_state():
    states = some_states(n=100)
    before = states.tobytes()
    ValueAgent("it", make_network()).values(states)
    assert states.tobytes() == before


def test_a_layer_is_a_matrix_product_in_the_order_of_its_inputs():
    """Zeros, which are skipped, and the step of four change not a bit."""
    rng = np.random.default_rng(1)
    for n_in in (1, 3, 4, 5, 17):
        inputs = rng.normal(size=n_in).astype(np.float32)
        inputs[rng.random(n_in) < 0.4] = 0
        weights = rng.normal(size=(n_in + 2, 9)).astype(np.float32)
        biases = rng.normal(size=9).astype(np.float32)
        expected = biases.copy()
        for i in range(n_in):
            expected = expected + inputs[i] * weights[i]
        out = np.empty(9, np.float32)
        write_layer(inputs, weights, biases, out)
        np.testing.assert_array_equal(out, expected)


def test_a_network_for_few_players_refuses_more():
    agent = ValueAgent("small", make_network(players=3))
    states = some_states("roll", 50)
    agent.values(states[states["players"] <= 3])
    with pytest.raises(AgentError, match="small.*up to 3 players"):
        agent.values(states)
    with pytest.raises(AgentError, match="up to 3 players, not 4"):
        agent.act(Position.deal(Ruleset.preset("basic", players=4), 0).roll(1))


def test_a_small_network_judges_as_a_large_one_without_the_rest():
    large = make_network(players=6)
    small = ValueNetwork((large.weights[0][: features_used(2)], *large.weights[1:]), large.biases)
    states = some_states("roll", 200)
    states = states[states["players"] == 2]
    np.testing.assert_array_equal(
        ValueAgent("a", large).values(states),
        ValueAgent("b", ValueNetwork(tuple(map(np.ascontiguousarray, small[0])), small[1])).values(
            states
        ),
    )


PLAIN = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from agents.td import SelfPlay
from agents.config import TdConfig
from test_afterstate import ValueAgent, make_network, some_states
network = make_network(hidden=(6, 5))
states = some_states(n=12)
agent = ValueAgent("it", network)
mix = [{"ruleset": "full", "players": [2, 4]}, {"ruleset": "classic", "players": 6}]
td = {"n_games": 3, "n_turns": 6, "batch_size": 8}
config = TdConfig.model_validate({"algorithm": "td", "game": {"mix": mix}, "td": td})
window = SelfPlay(config).play(network, 0.05)
np.savez(
    sys.argv[2],
    values=agent.values(states),
    features=window.features,
    targets=window.targets,
    ended=window.ended,
    seats=window.seats,
)
"""


def test_uncompiled_code_does_the_same(tmp_path):
    found = []
    for off in ("0", "1"):
        file = tmp_path / f"{off}.npz"
        environment = {**os.environ, "NUMBA_DISABLE_JIT": off, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-c", PLAIN, str(ROOT / "tests"), str(file)],
            env=environment,
            check=True,
            timeout=300,
        )
        found.append(np.load(file))
    compiled, plain = found
    assert set(compiled) == {"values", "features", "targets", "ended", "seats"}
    for name in compiled:
        np.testing.assert_allclose(plain[name], compiled[name], rtol=1e-6, atol=1e-7, err_msg=name)


# The agent and its files ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path) -> Path:
    """A saved value."""
    save_value(tmp_path / "value", make_network(), {"steps": 3})
    return tmp_path / "value"


def test_a_value_comes_back_bit_for_bit(folder):
    network, content = load_value(folder)
    expected = make_network()
    for found, right in zip([*network[0], *network[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_array_equal(found, right)
    assert content["about"] == {"steps": 3}
    assert content["network"] == {"players": 6, "hidden": [16, 8]}
    assert network.players == 6
    assert sorted(path.name for path in folder.iterdir()) == ["value.json", "weights.safetensors"]


def test_a_spec_names_a_value_folder_or_a_run(folder):
    for path in (folder, folder.parent):
        agent = agents.make(f"td:{path}")
        assert agent.name == f"td:{path}"
        assert agent.description["about"] == {"steps": 3}
        position = Position.deal(Ruleset.preset("full", players=5), 1).roll(3)
        assert agent.act(position) == ValueAgent("it", make_network()).act(position)


def test_it_plays_whole_games_the_same_with_any_threads(folder):
    td, other = agents.make(f"td:{folder}"), agents.make("random")
    ruleset = Ruleset.preset("full", players=4)
    lineups = np.tile([0, 1, 1, 1], (40, 1))
    one, two = (
        play_games([td, other], ruleset, stream_seeds(1, 40), lineups, threads=threads)
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.points, two.points)


def test_what_is_shipped_plays():
    for kind, name in itertools.product(("td", "policy"), ("2p", "universal")):
        agent = agents.make(f"{kind}:builtin/{name}")
        assert agent.act(Position.deal(Ruleset.preset("basic", players=2), 0).roll(2)) in (0, 1, 2)
    with pytest.raises(AgentError, match="no built-in value 'nobody'; there are: 2p, universal"):
        agents.make("td:builtin/nobody")


def test_what_is_shipped_of_another_kind_is_told(tmp_path, monkeypatch):
    (tmp_path / "builtin/tiny/policy").mkdir(parents=True)
    (tmp_path / "builtin/tiny/policy/policy.json").write_text("{}")
    monkeypatch.setattr(saved.resources, "files", lambda package: tmp_path)
    with pytest.raises(AgentError, match="'tiny' is a built-in policy: policy:builtin/tiny"):
        agents.make("td:builtin/tiny")


def test_a_policy_is_no_value(tmp_path):
    from agents.networks import make_network as make_policy_network
    from agents.policy import save_policy

    network = {"kind": "mlp", "hidden": [4], "activation": "relu"}
    save_policy(tmp_path / "policy", make_policy_network(network), network, {})
    with pytest.raises(AgentError, match=f"no value at .*, but a policy: policy:{tmp_path}"):
        agents.make(f"td:{tmp_path}")
    with pytest.raises(AgentError, match=r"there is no value\.json"):
        agents.make(f"td:{tmp_path}/nothing")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format=2), "not a value of format 1"),
        (lambda c: c.update(format=True), "not a value of format 1"),
        (lambda c: c.update(layout_hash="0" * 16), FEATURES_HASH),
        (lambda c: c.pop("layout_hash"), FEATURES_HASH),
        (lambda c: c.pop("network"), "just hidden, players"),
        (lambda c: c["network"].update(kind="mlp"), "just hidden, players"),
        (lambda c: c["network"].update(players=7), "2 to 6"),
        (lambda c: c["network"].update(players="2"), "2 to 6"),
        (lambda c: c["network"].update(hidden=[]), "1 to 8 widths"),
        (lambda c: c["network"].update(hidden=[10**9]), "1000000000"),
        (lambda c: c["network"].update(hidden=[16, True]), "True"),
        (lambda c: c["network"].update(hidden=[16, 9]), "does not fit"),
        (lambda c: c["network"].update(players=5), "'0.weight' does not fit"),
        (lambda c: c["network"].update(hidden=[4096] * 8), "does not fit"),
    ],
)
def test_a_description_of_nonsense_is_refused(folder, change, words):
    content = json.loads((folder / "value.json").read_text())
    change(content)
    (folder / "value.json").write_text(json.dumps(content))
    with pytest.raises(AgentError, match=words) as caught:
        load_value(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("1.bias"), "'1.bias' does not fit"),
        (lambda w: w.update(extra=w["1.bias"]), "'extra' does not fit"),
        (lambda w: w.update({"0.weight": w["0.weight"].T.copy()}), "'0.weight' does not fit"),
        (lambda w: w.update({"2.bias": w["2.bias"].astype(np.float64)}), "'2.bias' does not fit"),
        (lambda w: w["1.weight"].__setitem__((2, 3), np.nan), "'1.weight' .*not finite"),
        (lambda w: w["0.bias"].__setitem__(0, np.inf), "'0.bias' .*not finite"),
    ],
)
def test_weights_of_nonsense_are_refused(folder, change, words):
    weights = {name: array.copy() for name, array in load_file(folder / saved.WEIGHTS).items()}
    change(weights)
    save_file(weights, folder / saved.WEIGHTS)
    with pytest.raises(AgentError, match=words):
        load_value(folder)


def test_damaged_and_missing_files_are_named(folder):
    weights = folder / saved.WEIGHTS
    whole = weights.read_bytes()
    for data in (b"", whole[:5], whole[:-1], b"\x80\x04N." + bytes(100)):
        weights.write_bytes(data)
        with pytest.raises(AgentError, match="damaged"):
            load_value(folder)
    weights.unlink()
    with pytest.raises(AgentError, match=r"weights\.safetensors: No such file"):
        load_value(folder)
    (folder / "value.json").write_text("{")
    with pytest.raises(AgentError, match=r"value\.json: not JSON"):
        load_value(folder)


def test_it_needs_no_torch():
    code = "import sys, agents; agents.make('td:builtin/2p'); print('torch' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "False"


@pytest.mark.speed
def test_it_is_fast():
    """On an idle core 4 microseconds a position of two players."""
    import time

    agent = agents.make("td:builtin/2p")
    states = np.tile(some_states("roll", 100), 40)
    states = states[states["players"] == 2]
    agent.values(states)
    times = []
    for _ in range(5):
        begin = time.thread_time()
        agent.values(states)
        times.append(time.thread_time() - begin)
    assert min(times) / len(states) < 15e-6
