"""What several test files share: rulesets and positions made up from an explicit Random."""

import itertools
import os
import random
from pathlib import Path

import numpy as np
import pytest
import reference

import agents
from agents.afterstate import ValueNetwork, features_used, save_value
from thatslife_env import PRESETS, Ruleset
from thatslife_env.board import MAX_PLAYERS
from thatslife_env.vector import VectorGame

os.environ["SDL_VIDEODRIVER"] = "dummy"  # windows open nowhere; tests need no display

NUMBERS = [*range(-10, 0), *range(1, 9)]
PHASES = ["roll", "move", "give", "steal", "over"]


def random_tile(rng: random.Random) -> int | str:
    return "lucky" if rng.random() < 0.2 else rng.choice(NUMBERS)


def random_layout(rng: random.Random) -> list:
    """A list of 1 to 36 entries that a ruleset accepts; few kinds of tiles, or many."""
    kinds = [random_tile(rng) for _ in range(rng.choice([1, 2, 4, 30]))]
    n_actions = rng.choice([0, 0, 1, 2, 4, 4])
    longest = rng.choice([3, 8, 16, 32])
    n_tiles = rng.randint(0 if n_actions else 1, longest)
    entries = [rng.choice(kinds) for _ in range(n_tiles)]
    entries += [rng.choice(["gift", "steal"]) for _ in range(n_actions)]
    rng.shuffle(entries)
    return entries


def random_board(rng: random.Random) -> dict:
    """Keyword arguments of a ruleset with a listed layout, for the product and the reference."""
    return {
        "players": rng.randint(2, 6),
        "pawns": rng.randint(1, 3),
        "layout": random_layout(rng),
        "action_tiles": rng.random() < 0.5,
        "guards": rng.random() < 0.6,
        "scoring": rng.choice(["standard", "expert"]),
    }


def random_position(rng: random.Random, phase: str | None = None) -> dict:
    """An accepted position, reachable or not: stacks, guards anywhere, tall towers, gaps."""
    phase = phase or rng.choice(PHASES)
    while True:
        position = _any_table(rng, phase)
        if not reference.problems(position):
            return position


def _any_table(rng: random.Random, phase: str) -> dict:
    players = rng.randint(3 if phase in ("give", "steal") else 2, 6)
    pawns = rng.randint(1, 3)
    kinds = [random_tile(rng) for _ in range(rng.choice([2, 4, 30]))]
    n_track = rng.choice([0, 1, 2, 3, 5, 8, 13, rng.randint(0, 32)])
    n_taken = rng.choice([0, 3, 6, 12, 32]) if rng.random() < 0.8 else 32
    n_taken = min(n_taken, 32 - n_track)
    faces = [rng.choice(kinds) for _ in range(n_track)]
    faces += [rng.choice(["gift", "steal"]) for _ in range(rng.choice([0, 1, 2, 4]))]
    rng.shuffle(faces)
    finish = len(faces) + 1
    owners = rng.sample(range(players), rng.randint(1, players))
    towers: list[list] = [[] for _ in range(players)]
    for _ in range(n_taken):
        towers[rng.choice(owners)].append(rng.choice(kinds))
    places = [rng.randint(0, finish) for _ in range(rng.choice([1, 2, 4, 20]))]
    places += [finish] * rng.choice([0, 0, 1, 5])
    slots = [sorted(rng.choice(places) for _ in range(pawns)) for _ in range(players)]
    if phase == "over" or (phase in ("give", "steal") and rng.random() < 0.1):
        slots = [[finish] * pawns for _ in range(players)]
    with_guards = rng.random() < 0.6
    n_guards = rng.randint(0, 8) if with_guards else 0
    return {
        "rules": {
            "players": players,
            "pawns": pawns,
            "guards": with_guards,
            "scoring": rng.choice(["standard", "expert"]),
        },
        "track": ["start", *faces, "finish"],
        "pawns": slots,
        "guards": sorted(
            rng.choice([rng.choice(places), rng.randint(0, finish)]) for _ in range(n_guards)
        ),
        "towers": towers,
        "player": rng.randrange(players),
        "phase": phase,
        "die": 0 if phase in ("roll", "over") else rng.randint(1, 6),
    }


def decisions(n: int) -> np.ndarray:
    """States of random games with something to decide, of every preset and number of players."""
    rulesets = [
        (Ruleset.preset(preset, players=players), 1.0)
        for preset, players in itertools.product(PRESETS, range(2, 7))
    ]
    games = VectorGame(100, rulesets, seed=8)
    player, rng = agents.make("random"), np.random.default_rng(8)
    found = []
    for _ in range(-(-n // 100)):
        for _ in range(3):
            games.step(player.act_batch(games.states, rng))
        found.append(games.states.copy())
    return np.concatenate(found)[:n]


def every_ruleset(rng: random.Random, n_boards: int) -> list[tuple[Ruleset, float]]:
    """For `played`: all presets with all numbers of players and pawns, and some boards made up."""
    rulesets = [
        (Ruleset.preset(preset, players=players, pawns=pawns), 1.0)
        for preset, players, pawns in itertools.product(PRESETS, range(2, 7), (1, 2, 3))
    ]
    return rulesets + [(Ruleset(**random_board(rng)), 0.5) for _ in range(n_boards)]


def played(rulesets: list[tuple[Ruleset, float]], n_games: int, n_steps: int) -> np.ndarray:
    """Decisions of random games, every step of each."""
    rng = np.random.default_rng(5)
    player = agents.make("random")
    games = VectorGame(n_games, rulesets, seed=6)
    found = []
    for _ in range(n_steps):
        found.append(games.states.copy())
        games.step(player.act_batch(games.states, rng))
    return np.concatenate(found)


def random_value(players: int) -> ValueNetwork:
    """The value of a TD player that never learned, for up to so many players."""
    rng = np.random.default_rng(players)
    pairs = list(itertools.pairwise([features_used(players), 24, 12, MAX_PLAYERS]))
    return ValueNetwork(
        tuple(rng.normal(size=pair).astype(np.float32) / pair[0] ** 0.5 for pair in pairs),
        tuple(rng.normal(size=n_out).astype(np.float32) for _, n_out in pairs),
    )


@pytest.fixture(scope="session")
def exported(tmp_path_factory) -> Path:
    """A folder with `policy/`, of a network that never learned, and `bundle/`, exported from it."""
    import torch

    from agents.export import export
    from agents.networks import make_network
    from agents.policy import save_policy

    description = {"kind": "mlp", "hidden": [64, 32], "activation": "relu"}
    torch.manual_seed(11)
    network = make_network(description)
    for layer in (network.policy[-1], network.value[-1]):
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    about = {"algorithm": "ppo", "ruleset": {"players": 2, "layout": "shuffled"}, "steps": 7}
    about |= {"reward": "win", "shaping": 0.0, "gamma": 1.0}
    folder = tmp_path_factory.mktemp("exported")
    save_policy(folder / "policy", network, description, about)
    export([str(folder / "policy")], folder / "bundle")
    return folder


@pytest.fixture(scope="session")
def exported_value(tmp_path_factory, exported) -> Path:
    """A folder with `value/`, for up to 4 players, and `bundle/`, exported from it.

    And `both/`, of it and the policy of `exported`.
    """
    from agents.export import export

    about = {"algorithm": "td", "mix": [{"ruleset": "basic", "players": [2, 3, 4]}], "steps": 9}
    folder = tmp_path_factory.mktemp("exported_value")
    save_value(folder / "value", random_value(4), about)
    export([str(folder / "value")], folder / "bundle")
    export([str(exported / "policy"), str(folder)], folder / "both")
    return folder
