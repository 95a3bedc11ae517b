"""The benchmark of algorithms: what is learned obeys the rules, and what is done is kept."""

import json
import runpy
import sys
from pathlib import Path

import judging
import learners
import numpy as np
import pytest
import tasks
import torch
from conftest import played
from learners import ALGORITHMS, PenaltyVecEnv, as_network, load, make_env, make_model
from masked import MaskedDQN, legal_actions

import agents
from agents.arena import play_games
from agents.cli import UsageError
from agents.networks import NetworkAgent
from agents.sb3_env import ThatsLifeVecEnv
from thatslife_env.board import FIRST_OPPONENT, N_ACTIONS
from thatslife_env.games import observe_players, stream_seeds
from thatslife_env.observation import OBS_SIZE, SLICES

pytestmark = [pytest.mark.speed, pytest.mark.learning]

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[1]
BASIC = tasks.TASKS["basic-2p-v0"]
SMALL = tasks.on_boards("tiny-v0", 2**10, "guards5")
PLAYED = tasks.Task(
    "short-v0", "a short track", {"ruleset": {"layout": [3, -4, "lucky", 5]}}, 2**10, 10, 40
)


def decisions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of the basic game with something to decide, what is seen there, and the masks."""
    [setting] = BASIC.settings()
    states = played([(setting.ruleset, 1.0)], 20, 60)
    seen = np.zeros((len(states), OBS_SIZE), np.float32)
    masks = np.zeros((len(states), N_ACTIONS), np.bool_)
    observe_players(states, seen, masks)
    return states, seen, masks


# Learners -------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_learned_plays_legally(algorithm, tmp_path):
    """Its folder makes an agent that gives illegal actions no chance; evaluations came in order."""
    reported = []

    def report(step, learner):
        reported.append(step)
        assert learner.probabilities(states[:50]).shape == (50, N_ACTIONS)

    states, _, masks = decisions()
    config = load(algorithm)
    kind, steps, seconds = learners.train(config, BASIC, 0, 6144, tmp_path, report)
    assert steps == 6144
    assert seconds > 0
    assert reported[-1] == steps
    assert reported == sorted(set(reported))
    chances = agents.make(f"{kind}:{tmp_path}").probabilities(states)
    assert (chances[~masks] == 0).all()
    assert chances.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "td"])
def test_the_agent_plays_what_the_model_does(algorithm):
    """The network that is saved scores as the model; those that know masks play the same."""
    states, seen, masks = decisions()
    config = load(algorithm)
    model = make_model(config, make_env(config, BASIC, 3), 3)
    model.learn(2048)
    agent = NetworkAgent("learner", as_network(model, config.hidden))
    played = agent.choose(states, np.zeros(len(states), np.uint64))
    if algorithm == "maskable_ppo":
        expected, _ = model.predict(seen, action_masks=masks, deterministic=True)
    elif algorithm in ("masked_a2c", "masked_dqn"):
        expected, _ = model.predict(seen, deterministic=True)
    else:
        with torch.no_grad():
            logits = model.policy.get_distribution(torch.from_numpy(seen)).distribution.logits
        expected = np.where(masks, logits.numpy(), -np.inf).argmax(axis=1)
    assert (played == expected).mean() > 0.999  # near ties may fall either way


@pytest.mark.parametrize("algorithm", ["maskable_ppo", "masked_dqn"])
def test_a_seed_gives_one_run(algorithm, tmp_path):
    states, _, _ = decisions()
    scores = []
    for number, seed in enumerate((5, 5, 6)):
        folder = tmp_path / str(number)
        folder.mkdir()
        learners.train(load(algorithm), BASIC, seed, 4096, folder, lambda step, learner: None)
        scores.append(agents.make(f"policy:{folder}").scores(states[:20])[0])
    assert (scores[0] == scores[1]).all()
    assert (scores[0] != scores[2]).any()


def test_penalty_and_masks_differ_in_nothing_else():
    masked, plain = load("maskable_ppo").model_dump(), load("ppo_penalty").model_dump()
    assert {key for key in masked if masked[key] != plain[key]} == {"algorithm", "penalty"}


@pytest.mark.parametrize(("task", "share"), [("basic-2p-v0", 0), ("full-4p-v0", 0.04)])
def test_td_is_favoured_by_as_much_as_the_page_says(task, share):
    """A choice of an opponent is a decision, but no turn."""
    [setting] = tasks.TASKS[task].settings()
    seats = np.zeros((300, setting.ruleset.players), np.int64)
    games = [[agents.make("greedy")], setting.ruleset, stream_seeds(1, 300), seats]
    actions = np.concatenate(play_games(*games, record=True).actions)
    assert (actions >= FIRST_OPPONENT).mean() == pytest.approx(share, abs=0.005)


# Games with a penalty ---------------------------------------------------------------------------


def test_legal_actions_cost_nothing():
    """With legal actions alone they are the games without a penalty."""
    rng = np.random.default_rng(1)
    plain, costly = ThatsLifeVecEnv(30, 4), PenaltyVecEnv(30, 4, penalty=0.5)
    assert (plain.reset() == costly.reset()).all()
    for _ in range(60):
        actions = (rng.random((30, N_ACTIONS)) * plain.action_masks()).argmax(axis=1)
        for one, other in zip(plain.step(actions)[:3], costly.step(actions)[:3], strict=True):
            assert (one == other).all()


def test_an_illegal_action_costs_and_a_random_legal_one_is_played():
    """Where two are legal, either of them as often: twins play the one or the other."""
    rng = np.random.default_rng(1)
    costly, *twins = PenaltyVecEnv(2000, 4, penalty=0.5), *(ThatsLifeVecEnv(2000, 4) for _ in "ab")
    for env in (costly, *twins):
        env.reset()
    for _ in range(5):
        actions = (rng.random((2000, N_ACTIONS)) * costly.action_masks()).argmax(axis=1)
        for env in (costly, *twins):
            env.step(actions)
    masks = costly.action_masks()
    _, rewards, done, _ = costly.step((~masks).argmax(axis=1))
    assert not done.any()
    assert (rewards == -0.5).all()
    twins[0].step(masks.argmax(axis=1))
    twins[1].step(N_ACTIONS - 1 - masks[:, ::-1].argmax(axis=1))
    states, low, high = (env.play.states for env in (costly, *twins))
    shown = (masks.sum(axis=1) == 2) & (low != high)
    assert shown.sum() > 300
    assert ((states == low) ^ (states == high))[shown].all()
    assert 0.4 < (states == low)[shown].mean() < 0.6


# DQN ------------------------------------------------------------------------------------------


def counting_model() -> MaskedDQN:
    """A model that holds action k for worth k, whatever it sees."""
    config = load("masked_dqn")
    model = make_model(config, make_env(config, BASIC, 0), 0)
    for network in (model.q_net, model.q_net_target):
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)
        with torch.no_grad():
            network.q_net[-1].bias.copy_(torch.arange(N_ACTIONS))
    return model


def seeing(*legal: int) -> np.ndarray:
    """An observation, float32[1, OBS_SIZE], in which these actions are legal."""
    seen = np.zeros((1, OBS_SIZE), np.float32)
    seen[0, SLICES["legal"].start + np.array(legal, np.int64)] = 1
    return seen


@pytest.mark.parametrize(
    ("done", "error"),
    [
        (False, 0.5 + 5 - 2),  # the best legal action then is 5; action 15 does not count
        (True, 0.5 - 2),
    ],
)
def test_the_target_counts_legal_actions_alone(done, error):
    """Of a move 2, worth 2, with reward 0.5: the loss is Huber's of the error made by hand."""
    model = counting_model()
    model._setup_learn(64)
    after = seeing(*([] if done else [0, 5]))
    n_envs = model.n_envs
    model.replay_buffer.add(
        np.repeat(seeing(2, 3), n_envs, 0),
        np.repeat(after, n_envs, 0),
        np.full((n_envs, 1), 2),
        np.full(n_envs, 0.5),
        np.full(n_envs, done),
        [{}] * n_envs,
    )
    model.train(1, 32)
    assert model.logger.name_to_value["train/loss"] == pytest.approx(abs(error) - 0.5)


def test_greedy_and_exploring_actions_are_legal():
    """Greedy, the highest of the legal ones; exploring, each legal one as often."""
    model = counting_model()
    assert model.predict(seeing(1, 4), deterministic=True)[0] == 4
    n = 3000
    model._last_obs = np.repeat(seeing(1, 4, 9), n, 0)
    model.num_timesteps, model.exploration_rate = 10**6, 0.0
    assert set(model._sample_action(0, n_envs=n)[0]) == {9}
    model.exploration_rate = 0.6
    drawn, counts = np.unique(model._sample_action(0, n_envs=n)[0], return_counts=True)
    assert drawn.tolist() == [1, 4, 9]
    assert counts / n == pytest.approx([0.2, 0.2, 0.6], abs=0.04)
    model.num_timesteps = 0  # before learning starts
    counts = np.unique(model._sample_action(1, n_envs=n)[0], return_counts=True)[1]
    assert counts / n == pytest.approx([1 / 3] * 3, abs=0.04)


def test_the_mask_is_part_of_the_observation():
    _, seen, masks = decisions()
    assert (legal_actions(torch.from_numpy(seen)).numpy() == masks).all()


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs the command on two tiny tasks, in this process; gives `results.json` and its output."""
    monkeypatch.setattr(tasks, "TASKS", {task.name: task for task in (PLAYED, SMALL)})

    def run(*arguments: str, code: int = 0, out: str = "out") -> tuple[dict, str]:
        program = ["run.py", "--out", str(tmp_path / out), *arguments]
        monkeypatch.setattr(sys, "argv", program)
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "benchmarks" / "algorithms" / "run.py"), run_name="__main__")
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        if code:
            return {}, said.err
        return json.loads((tmp_path / out / "results.json").read_text()), said.out

    return run


TINY = ("--algorithm", "td", "maskable_ppo", "--seeds", "2", "--budget", "2048")


def untimed(found: dict) -> dict:
    """Results without what a clock says."""
    for results in found.values():
        for runs in results["runs"].values():
            for run in runs:
                del run["seconds"]
        for agent in results.get("tournament", {"agents": []})["agents"]:
            del agent["ms_per_decision"]
    return found


def test_a_benchmark_that_is_cut_short_goes_on(command, tmp_path, monkeypatch):
    """Finished runs are kept, and the one under way begins anew: as if nothing had happened."""
    trained = []
    really_train = learners.train

    def train(config, task, seed, *rest):
        trained.append((task.name, config.algorithm, seed))
        ended = really_train(config, task, seed, *rest)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return ended

    monkeypatch.setattr(learners, "train", train)
    command(*TINY, code=1)
    assert trained == [("short-v0", "td", 0), ("short-v0", "maskable_ppo", 0)]
    stale = tmp_path / "out" / "short-v0" / "maskable_ppo" / ".seed-0.part"  # as kill -9 leaves it
    (stale / "policy").mkdir(parents=True)
    (stale / "run.json").write_text("{", encoding="utf-8")
    found, said = command(*TINY)
    assert len(trained) == 2 + 7
    assert trained.count(("short-v0", "td", 0)) == 1
    assert "short-v0 td/seed-1: 2,048 of 2,048" in said
    again, _ = command(*TINY)
    assert len(trained) == 2 + 7
    assert again == found
    whole, _ = command(*TINY, out="whole")
    assert len(trained) == 2 + 7 + 8
    assert untimed(whole) == untimed(found)


def test_results_tell_who_is_better(command, tmp_path):
    found, _ = command(*TINY, "--agent", "solved:guards5", "--task", "tiny-v0")
    results = found["tiny-v0"]
    assert [one["loss"] for one in results["losses"]["solved:guards5"]] == pytest.approx([0])
    learned = results["losses"]["td/seed-0"][0]
    assert 0 < learned["loss"] <= learned["exploitability"]
    assert [run["steps"] for runs in results["runs"].values() for run in runs] == [2048] * 4
    text = (tmp_path / "out" / "results.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| **", "| `"))]
    assert rows[0].startswith("| `solved:guards5` | 0.0000 |")
    assert len(rows) == 2 + 3 + 1
    assert (tmp_path / "out" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_runs_of_other_settings_are_refused(command):
    command(*TINY, "--task", "tiny-v0")
    _, said = command(*TINY[:-1], "4096", "--task", "tiny-v0", code=2)
    assert "tiny-v0/td/seed-0: a run with another budget" in said


@pytest.mark.parametrize("content", ["{", "[]", '{"seed": 0}', None])
def test_a_damaged_run_is_refused(command, tmp_path, content):
    folder = tmp_path / "out" / "short-v0" / "td" / "seed-0"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "run.json").write_text(content, encoding="utf-8")
    _, said = command(*TINY, code=2)
    assert "short-v0/td/seed-0/run.json: " in said
    assert not (tmp_path / "out" / "short-v0" / "maskable_ppo").exists()


@pytest.mark.parametrize(
    "content", ["[{", "{}", "[]", '[{"loss": 0}]', '[{"loss": 0}, {"loss": 0}]']
)
def test_damaged_losses_are_refused(tmp_path, content):
    (tmp_path / "losses.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"losses\.json: (damaged|not the losses)"):
        judging.losses(SMALL, agents.make("greedy"), tmp_path)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("nonsense", "unknown agent 'nonsense'"),
        ("policy:nowhere", "nowhere"),
        ("solved:guards5", "--agent: short-v0: "),
        ("human", "--agent: a person"),
    ],
)
def test_agents_that_cannot_be_judged_are_refused_at_once(command, tmp_path, spec, why):
    _, said = command(*TINY, "--agent", "greedy", spec, code=2)
    assert why in said
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder_for_results(command, tmp_path):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    _, said = command(*TINY, code=2)
    assert f"--out: {tmp_path / 'out'}: " in said
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_games_of_a_run_that_is_trained_anew_are_forgotten(tmp_path):
    """Those against others that lie in their folders; what is kept of the others stays."""
    players = {name: agents.make(name) for name in ("random", "greedy", "expectimax:depth=1")}
    folders = {name: tmp_path / name.partition(":")[0] for name in players}
    judging.rate(PLAYED, players, folders)
    kept = [tmp_path / "expectimax" / "games" / "random", tmp_path / "greedy" / "games" / "random"]
    gone = tmp_path / "expectimax" / "games" / "greedy"
    assert all(any(folder.iterdir()) for folder in (*kept, gone))
    judging.forget("greedy", list(folders.values()))
    assert not gone.exists()
    assert all(any(folder.iterdir()) for folder in kept)


def test_intervals_over_seeds():
    """Student's t with two degrees of freedom, 4.3027 standard errors; at least that over deals."""
    mean, low, high = judging.over_seeds([1.0, 2.0, 3.0])
    assert mean == 2
    assert (high - mean, mean - low) == pytest.approx((4.3027 / 3**0.5, 4.3027 / 3**0.5), rel=1e-4)
    assert judging.over_seeds([0.0, 0.0], [[0, 0.1], [0, 0.3]]) == pytest.approx((0, 0, 0.2))
    assert judging.over_seeds([0.5], [[0.4, 0.7]]) == pytest.approx((0.5, 0.4, 0.7))


def test_the_page_names_every_algorithm():
    page = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    for algorithm in ALGORITHMS:
        assert f"`{algorithm}`" in page
        assert f"configs/{algorithm}.yaml" in page
