"""The games as Stable-Baselines3 sees them: masks, resets, opponents, and learning on them."""

import ast
import hashlib
import re
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import reference
import sb3_contrib
import stable_baselines3
import torch
from safetensors.torch import load_file
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import agents
from agents.config import PpoConfig
from agents.league import League
from agents.networks import NetworkAgent, make_network
from agents.sb3_env import ThatsLifeVecEnv
from agents.training import Run, make_env, make_model
from thatslife_env import IllegalMoveError, Position, Ruleset
from thatslife_env.baselines import decision_key
from thatslife_env.games import SeatGames
from thatslife_env.gymnasium_env import ThatsLifeEnv
from thatslife_env.observation import HIGH, LOW, OBS_SIZE, observe

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[1]
GAMMA = 0x9E3779B97F4A7C15
# chi-square, p = 0.001, by degrees of freedom
CRITICAL = {1: 10.83, 2: 13.82, 4: 18.47, 5: 20.52, 10: 29.59}


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A legal action in each row, at random."""
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


def chi_square(counts: Counter, expected: dict) -> float:
    assert set(counts) <= set(expected)
    return sum((counts[key] - number) ** 2 / number for key, number in expected.items())


# Versions and what must not be used -------------------------------------------------------------


def test_the_libraries_are_new_enough():
    """Earlier ones crash when masks are applied again (sb3-contrib issue 322)."""
    for module in (stable_baselines3, sb3_contrib):
        assert tuple(int(part) for part in module.__version__.split(".")[:2]) >= (2, 8)
    pyproject = (ROOT / "pyproject.toml").read_text()
    for name in ("stable-baselines3", "sb3-contrib"):
        assert tuple(map(int, version(name).split(".")[:2])) >= (2, 8)
        low = re.search(rf'"{name}>=(\d+)\.(\d+)', pyproject)
        assert tuple(map(int, low.groups())) >= (2, 8)


def test_nothing_of_ours_evaluates_without_masks():
    """SB3's own evaluation knows no masks."""
    forbidden = {"EvalCallback", "evaluate_policy"}
    files = [*ROOT.glob("*.py"), *ROOT.glob("agents/**/*.py"), *ROOT.glob("thatslife_env/*.py")]
    assert len(files) > 15
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and "maskable" not in (node.module or ""):
                assert not forbidden & {alias.name for alias in node.names}, path


# The VecEnv -------------------------------------------------------------------------------------


@pytest.fixture(params=[("basic", 2), ("full", 5)], ids=str)
def venv(request) -> ThatsLifeVecEnv:
    preset, players = request.param
    return ThatsLifeVecEnv(8, seed=5, ruleset=preset, players=players, opponents="random")


def test_it_is_a_vec_env_of_the_games(venv):
    assert isinstance(venv, VecEnv)
    assert venv.num_envs == 8
    assert venv.action_space == gymnasium.spaces.Discrete(16)
    assert venv.observation_space == gymnasium.spaces.Box(LOW, HIGH, dtype=np.float32)
    observations = venv.reset()
    assert observations.shape == (8, OBS_SIZE)
    assert observations.dtype == np.float32
    assert all(venv.observation_space.contains(row) for row in observations)


def test_masks_are_those_of_the_games_after_a_thousand_steps(venv):
    """Shape, type, and each row: every action is tried in the game itself."""
    rng = np.random.default_rng(1)
    venv.reset()
    n_ended = 0
    for step in range(1000):
        masks = get_action_masks(venv)
        assert masks.shape == (8, 16)
        assert masks.dtype == np.bool_
        if step % 100 == 0 or step > 990:
            for row, state in zip(masks, venv.play.states, strict=True):
                position = Position.from_state(state)
                possible = []
                for action in range(16):
                    try:
                        position.play(action)
                    except IllegalMoveError:
                        continue
                    possible.append(action)
                assert np.flatnonzero(row).tolist() == possible
        assert masks.any(axis=1).all()
        _, _, done, _ = venv.step(choose(masks, rng))
        n_ended += done.sum()
    assert n_ended > 50


def test_masks_are_the_callers_own(venv):
    venv.reset()
    masks = venv.action_masks()
    listed = venv.env_method("action_masks")
    kept = masks.copy()
    venv.step(choose(masks, np.random.default_rng(0)))
    np.testing.assert_array_equal(masks, kept)
    np.testing.assert_array_equal(listed, kept)
    masks[:] = True
    assert not venv.action_masks().all()


def test_the_methods_that_sb3_contrib_calls(venv):
    venv.reset()
    masks = venv.action_masks()
    assert is_masking_supported(venv)
    assert venv.has_attr("action_masks")
    assert not venv.has_attr("no_such_thing")
    for indices, rows in ((None, range(8)), (3, [3]), ([6, 1], [6, 1]), (range(2), [0, 1])):
        found = venv.env_method("action_masks", indices=indices)
        np.testing.assert_array_equal(found, masks[list(rows)])
        assert venv.get_attr("num_envs", indices) == [8] * len(list(rows))
        assert venv.env_is_wrapped(VecMonitor, indices) == [False] * len(list(rows))
    assert venv.get_attr("render_mode") == [None] * 8
    with pytest.raises(AttributeError):
        venv.env_method("no_such_method")
    with pytest.raises(AttributeError):
        venv.get_attr("no_such_thing")
    venv.set_attr("note", 3)
    assert venv.get_attr("note") == [3] * 8


def test_observations_are_the_callers_own(venv):
    """Kept ones never change, nor do the last ones of ended games."""
    rng = np.random.default_rng(2)
    kept = [venv.reset()]
    digests = [hashlib.sha256(kept[0].tobytes()).hexdigest()]
    for _ in range(200):
        observations, rewards, done, infos = venv.step(choose(venv.action_masks(), rng))
        arrays = [observations, rewards, done]
        for info in infos:
            if info:
                arrays += [info["terminal_observation"], info["lineup"], info["game"]]
        for array in arrays:
            kept.append(array)
            digests.append(hashlib.sha256(array.tobytes()).hexdigest())
    assert [hashlib.sha256(array.tobytes()).hexdigest() for array in kept] == digests


def test_an_illegal_action_raises_and_changes_nothing(venv):
    venv.reset()
    actions = choose(venv.action_masks(), np.random.default_rng(0))
    illegal = int(np.flatnonzero(~venv.action_masks()[4])[0])
    before = venv.play.states.tobytes()
    for wrong in (illegal, -1, 16):
        bad = actions.copy()
        bad[4] = wrong
        with pytest.raises(IllegalMoveError, match="game 4"):
            venv.step(bad)
        assert venv.play.states.tobytes() == before
    venv.step(actions)
    assert venv.play.states.tobytes() != before


OPTIONS = [
    {"ruleset": "basic", "players": 2, "opponents": "greedy"},
    {"ruleset": "full", "players": 4, "opponents": "random", "reward": "rank"},
    {"ruleset": "classic", "players": 3, "opponents": "greedy", "shaping": 0.1, "gamma": 0.9},
    {"ruleset": "expert", "players": 6, "opponents": "random", "reward": "margin", "seat": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options["ruleset"])
def test_games_are_those_of_single_environments(options):
    """Step by step, with the same streams: observation, mask, reward, end, last observation."""
    n, seed = 4, 11
    venv = ThatsLifeVecEnv(n, seed=seed, **options)
    singles = [ThatsLifeEnv(illegal="raise", **options) for _ in range(n)]
    observations = venv.reset()
    for i, env in enumerate(singles):
        single, _ = env.reset(seed=draw64(seed, i))
        np.testing.assert_array_equal(observations[i], single)
    rng = np.random.default_rng(3)
    returns, lengths, n_ended = np.zeros(n), np.zeros(n, int), 0
    for _ in range(150):
        masks = venv.action_masks()
        actions = choose(masks, rng)
        observations, rewards, done, infos = venv.step(actions)
        for i, env in enumerate(singles):
            np.testing.assert_array_equal(masks[i], env.action_masks())
            single, reward, over, truncated, info = env.step(int(actions[i]))
            assert rewards[i] == np.float32(reward)
            assert done[i] == over
            assert not truncated
            returns[i] += reward
            lengths[i] += 1
            if not over:
                assert infos[i] == {}
                np.testing.assert_array_equal(observations[i], single)
                continue
            n_ended += 1
            np.testing.assert_array_equal(infos[i]["terminal_observation"], single)
            assert infos[i]["TimeLimit.truncated"] is False
            assert infos[i]["episode"]["r"] == pytest.approx(returns[i])
            assert infos[i]["episode"]["l"] == lengths[i]
            assert infos[i]["seat"] == env.seat
            game = infos[i]["game"]
            assert game["points"][: options["players"]].tolist() == info["scores"]
            assert game["win_share"][env.seat] == pytest.approx(info["win_share"])
            assert game["players"] == options["players"]
            lineup = infos[i]["lineup"][: options["players"]]
            number = ("random", "greedy").index(options["opponents"])
            assert lineup.tolist() == [
                -1 if seat == env.seat else number for seat in range(options["players"])
            ]
            returns[i], lengths[i] = 0, 0
            first, _ = env.reset()
            np.testing.assert_array_equal(observations[i], first)
    assert n_ended > 8


def test_games_repeat_with_the_seed_and_do_not_depend_on_their_number():
    def run(n: int, seed: int) -> list[bytes]:
        venv = ThatsLifeVecEnv(n, seed=seed, ruleset="basic", players=2)
        seen = [venv.reset()[:3].tobytes()]
        for _ in range(60):
            actions = venv.action_masks().argmax(axis=1)
            seen.append(b"".join(part[:3].tobytes() for part in venv.step(actions)[:3]))
        return seen

    assert run(5, 1) == run(5, 1) == run(3, 1) == run(64, 1)
    assert run(5, 1) != run(5, 2)


def test_seed_is_that_of_the_next_reset():
    venv = ThatsLifeVecEnv(4, seed=1, ruleset="basic", players=2)
    first = venv.reset()
    assert not np.array_equal(venv.reset(), first)  # the next games of the streams
    venv.seed(1)
    np.testing.assert_array_equal(venv.reset(), first)


def test_the_global_generators_are_left_alone(venv):
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    rng = np.random.default_rng(0)
    venv.reset()
    for _ in range(200):
        venv.step(choose(venv.action_masks(), rng))
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


# Learning ---------------------------------------------------------------------------------------


class Spy(ThatsLifeVecEnv):
    """Counts decisions, and asks for masks."""

    asked = 0
    decided = 0

    def env_method(self, method_name, *arguments, indices=None, **options):
        self.asked += self.num_envs
        return super().env_method(method_name, *arguments, indices=indices, **options)

    def step_async(self, actions):
        masks = super().action_masks()
        assert masks[np.arange(self.num_envs), actions].all()
        self.decided += self.num_envs
        super().step_async(actions)


@pytest.mark.learning
@pytest.mark.parametrize(("preset", "players"), [("basic", 2), ("full", 6)])
def test_maskable_ppo_learns_on_it_without_an_illegal_move(preset, players):
    """The environment raises on any."""
    venv = Spy(8, seed=0, ruleset=preset, players=players, opponents="random")
    model = MaskablePPO("MlpPolicy", venv, n_steps=64, batch_size=128, seed=0, device="cpu")
    before = [weights.clone() for weights in model.policy.parameters()]
    model.learn(2000)
    assert model.num_timesteps >= 2000
    assert venv.decided >= 2000
    assert venv.asked >= venv.decided
    assert all(weights.isfinite().all() for weights in model.policy.parameters())
    pairs = zip(before, model.policy.parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in pairs)


def test_the_loop_of_training_uses_our_policy_with_masks():
    config = PpoConfig.model_validate({"ppo": {"n_envs": 8, "n_steps": 8, "batch_size": 32}})
    spy = Spy(8, seed=0, ruleset="full", players=3, opponents="random")
    model = make_model(config, spy)
    model.learn(256)
    assert spy.asked >= spy.decided >= 256


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
def test_masks_applied_again_and_again_do_not_crash(scale):
    """With scores up to +-10^4: no error, probabilities sum to 1, masked ones are exactly 0."""
    generator = torch.Generator().manual_seed(0)
    n_rows = 32
    logits = (torch.rand(n_rows, 16, generator=generator) * 2 - 1) * scale
    logits[0] = torch.tensor([scale, -scale] * 8)
    distribution = MaskableCategoricalDistribution(16).proba_distribution(logits)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        masks = rng.random((n_rows, 16)) < 0.3
        masks[np.arange(n_rows), rng.integers(0, 16, n_rows)] = True
        distribution.apply_masking(masks)
        probs = distribution.distribution.probs
        assert (probs[~torch.from_numpy(masks)] == 0).all()
        assert torch.allclose(probs.sum(dim=1), torch.ones(n_rows), atol=1e-5)
        allowed = torch.from_numpy(masks)
        best = torch.where(allowed, logits, -torch.inf).argmax(dim=1)
        assert torch.equal(distribution.mode(), best)
        assert allowed[torch.arange(n_rows), distribution.sample()].all()
        assert distribution.entropy().isfinite().all()


def test_the_policy_of_training_takes_large_scores():
    config = PpoConfig.model_validate({"ppo": {"n_envs": 8, "n_steps": 8, "batch_size": 32}})
    venv = make_env(config)
    model = make_model(config, venv)
    observations = torch.from_numpy(venv.reset())
    masks = venv.action_masks()
    with torch.no_grad():
        model.policy.network.policy[-1].weight *= 1e7
    scores = model.policy.network.forward_actor(observations)
    assert scores.abs().max() > 1e4
    for _ in range(1000):
        probs = model.policy.get_distribution(observations, action_masks=masks).distribution.probs
        assert (probs[~torch.from_numpy(masks)] == 0).all()
        assert torch.allclose(probs.sum(dim=1), torch.ones(8), atol=1e-5)


# Opponents --------------------------------------------------------------------------------------


def test_opponents_stay_for_a_game_and_play_what_is_credited_to_them():
    """Games end at different times, and opponents change meanwhile; each decision is looked up."""
    asked: dict[int, str] = {}  # key of a decision -> who was asked for it

    def make_opponent(name: str):
        def play(states, keys):
            for key in keys.tolist():
                assert key not in asked
                asked[key] = name
            return agents.make("random").act_batch(states, keys)

        return play

    opponents = {name: make_opponent(name) for name in ("a", "b", "c", "d")}
    name_of = {function: name for name, function in opponents.items()}
    players, n = 3, 16
    venv = ThatsLifeVecEnv(n, seed=2, ruleset="basic", players=players, opponents=opponents["a"])
    rng = np.random.default_rng(0)
    venv.reset()
    lineups: dict[int, list] = {}  # deal seed -> who sat where when the game began
    finished = []
    for step in range(240):
        if step % 30 == 29:  # others come, as snapshots do
            names = [sorted(opponents)[i] for i in {(step // 30) % 4, (step // 60) % 4}]
            venv.play.set_opponents({opponents[name]: 1.0 for name in names})
        for deal, lineup in zip(venv.play.games["deal"].tolist(), venv.play.lineups, strict=True):
            assert lineups.setdefault(deal, lineup.tolist()) == lineup.tolist()
        _, _, _, infos = venv.step(choose(venv.action_masks(), rng))
        for info in infos:
            if info:
                deal = int(info["game"]["deal_seed"])
                assert info["lineup"].tolist() == lineups[deal]
                assert np.flatnonzero(info["lineup"] == -1).tolist() == [info["seat"]]
                finished.append((deal, info["lineup"].tolist(), int(info["game"]["decisions"])))
    assert len(finished) > 60
    played = Counter()
    for deal, lineup, n_decisions in finished:
        credited = {
            name_of[venv.play.opponent(number)] for number in lineup[:players] if number >= 0
        }
        who = [asked.get(int(decision_key(np.uint64(deal), k))) for k in range(n_decisions)]
        assert set(who) - {None} <= credited
        assert credited <= set(who)  # everyone has three pawns to bring home
        played.update(credited)
    assert set(played) == {"a", "b", "c", "d"}


def test_each_seat_is_played_by_its_opponent():
    """Who sits where is not only listed: the decisions of each seat come from its opponent."""
    asked: dict[int, int] = {}

    def make_opponent(number: int):
        def play(states, keys):
            asked.update(dict.fromkeys(keys.tolist(), number))
            return agents.make("random").act_batch(states, keys)

        return play

    venv = ThatsLifeVecEnv(
        3, seed=4, ruleset="basic", players=4, opponents={make_opponent(i): 1.0 for i in range(3)}
    )
    venv.reset()
    taken: dict[int, list] = defaultdict(list)  # deal seed -> the learner's actions
    finished = []
    rng = np.random.default_rng(1)
    while len(finished) < 12:
        actions = choose(venv.action_masks(), rng)
        for deal, action in zip(venv.play.games["deal"].tolist(), actions.tolist(), strict=True):
            taken[deal].append(action)
        _, _, _, infos = venv.step(actions)
        finished += [info for info in infos if info]
    for info in finished:
        deal, lineup = int(info["game"]["deal_seed"]), info["lineup"].tolist()
        position, n_rolls, n_decisions = Position.deal(Ruleset(players=4), deal), 0, 0
        own = iter(taken[deal])
        while not position.is_over:
            if position.phase == "roll":
                position = position.roll(reference.dice(deal, n_rolls))
                n_rolls += 1
                continue
            key = decision_key(np.uint64(deal), n_decisions)
            n_decisions += 1
            if position.player == info["seat"]:
                assert int(key) not in asked
                action = next(own)
            else:
                opponent = venv.play.opponent(lineup[position.player])
                before = dict(asked)
                [action] = opponent(position.state.copy(), np.array([key], np.uint64))
                assert before[int(key)] == asked[int(key)]  # it was this one who played
            position = position.play(int(action))
        assert position.scores() == info["game"]["points"][:4].tolist()


def weights_hash(network: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for name, weights in sorted(network.state_dict().items()):
        digest.update(name.encode() + weights.numpy().tobytes())
    return digest.hexdigest()


SELF_PLAY = {
    "total_steps": 1536,
    "opponents": {"self": 0.4, "snapshots": 0.4, "random": 0.2},
    "snapshots": {"every": 256, "keep": 2},
    "network": {"kind": "mlp", "hidden": [16]},
    "ppo": {"n_envs": 16, "n_steps": 16, "batch_size": 64},
    "evaluation": {"every": 10**6, "deals": 2, "final_games": 2},
    "checkpoint_every": 10**6,
}


@pytest.mark.learning
def test_snapshots_are_frozen_and_the_learner_as_opponent_is_not(tmp_path):
    """Weights are hashed when a snapshot enters and again after every update."""
    config = PpoConfig.model_validate(SELF_PLAY)
    env = make_env(config)
    model = make_model(config, env)
    league = League(config, model.policy.network, tmp_path / "snapshots")
    league.enter(env)
    entered: dict[str, str] = {}
    learner: list[str] = []

    def network_of(name: str) -> torch.nn.Module:
        return league._players[name].__self__.network

    class Watch(Run):
        def _on_rollout_end(self) -> None:
            super()._on_rollout_end()
            learner.append(weights_hash(model.policy.network))
            assert network_of("self") is model.policy.network
            for name in league.roster:
                if name.startswith("snapshot-"):
                    network = network_of(name)
                    assert entered.setdefault(name, weights_hash(network)) == weights_hash(network)
                    assert not network.training

    model.learn(config.total_steps, Watch(tmp_path, config, env, league))
    assert len(set(learner)) == 6  # the learner goes on learning
    assert len(entered) == 5
    assert len(set(entered.values())) == 5
    # each is the learner as it was when the snapshot was made, after so many updates
    assert [entered[f"snapshot-{256 * k:09d}"] for k in range(1, 6)] == learner[1:]
    assert league.snapshots == ["snapshot-000001280", "snapshot-000001536"]
    for name, digest in entered.items():
        network = make_network(config.network.model_dump())
        network.load_state_dict(load_file(tmp_path / "snapshots" / f"{name}.safetensors"))
        assert weights_hash(network) == digest


def test_opponents_are_drawn_by_their_weights_and_not_by_seat():
    """6,000 games of six: each opponent as often as it weighs, in every seat, whoever learns."""
    third = NetworkAgent("third", make_network({"kind": "mlp", "hidden": [4]}))
    weights = {"random": 0.5, "greedy": 0.3, third.choose: 0.2}
    games = SeatGames(2000, "basic", 6, opponents=weights)
    counts, seats = Counter(), Counter()
    for seed in range(3):
        games.reset(seed)
        for lineup, seat in zip(games.lineups.tolist(), games.seats.tolist(), strict=True):
            seats[seat] += 1
            counts.update((where, lineup[where]) for where in range(6) if where != seat)
            assert lineup[seat] == -1
    assert chi_square(seats, dict.fromkeys(range(6), 1000)) < CRITICAL[5]
    for where in range(6):
        n = sum(counts[where, number] for number in range(3))
        own = Counter({number: counts[where, number] for number in range(3)})
        expected = {number: n * weight for number, weight in enumerate(weights.values())}
        assert chi_square(own, expected) < CRITICAL[2], where


def test_the_learner_sits_in_every_seat_equally_often_over_games_of_one_stream():
    venv = ThatsLifeVecEnv(50, seed=0, ruleset=Ruleset(players=6, pawns=1, layout=[1, 2]))
    venv.reset()
    seats: Counter = Counter()
    while seats.total() < 6000:
        _, _, _, infos = venv.step(venv.action_masks().argmax(axis=1))
        for info in infos:
            if info:
                seats[info["seat"]] += 1
    n = seats.total()
    assert chi_square(seats, dict.fromkeys(range(6), n / 6)) < CRITICAL[5]


def test_numbers_of_players_are_drawn_by_their_weights():
    mix = [(Ruleset.preset("basic", players=players), 1.0) for players in range(2, 7)]
    games = SeatGames(6000, mix, opponents="random")
    games.reset(3)
    counts = Counter(games.states["players"].tolist())
    assert chi_square(counts, dict.fromkeys(range(2, 7), 1200)) < CRITICAL[4]
    for players in range(2, 7):
        seats = Counter(games.seats[games.states["players"] == players].tolist())
        expected = dict.fromkeys(range(players), seats.total() / players)
        assert chi_square(seats, expected) < 20.52


def test_the_learner_sees_its_own_seat():
    """Observations are those of the learner's seat, in every seat."""
    venv = ThatsLifeVecEnv(40, seed=6, ruleset="full", players=4, opponents="random")
    observations = venv.reset()
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(20):
        for row, (state, seat) in enumerate(zip(venv.play.states, venv.play.seats, strict=True)):
            position = Position.from_state(state)
            assert position.player == seat
            np.testing.assert_array_equal(observations[row], observe(position, int(seat)))
            seen.add(int(seat))
        observations, *_ = venv.step(choose(venv.action_masks(), rng))
    assert seen == {0, 1, 2, 3}
