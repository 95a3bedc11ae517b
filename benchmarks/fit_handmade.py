"""Fit the weights of `agents/handmade.py` to learned values.

    python benchmarks/fit_handmade.py [--games 40]

Games of every preset with 2 to 6 players are played by `td:builtin/2p`, where it fits, and else by
`td:builtin/universal`, one action in eight at random. In one decision of three all positions that
may follow are kept. The weights and the spread of each kind of game are those under which the win
shares of the learned value are likeliest: least cross entropy, by L-BFGS. It prints the weights.
"""

import itertools
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

import agents
from agents.base import Agent, States
from agents.cli import Parser, run, whole_number
from agents.expectimax import expand
from agents.handmade import (
    FEATURES,
    N_FEATURES,
    SPREADS,
    WEIGHTS,
    count_pieces,
    kind_of,
    write_features,
)
from thatslife_env import PRESETS, Position, Ruleset, njit, rules
from thatslife_env.board import DIE_FACES, MAX_PLAYERS, MAX_TRACK, OVER, ROLL, STATE

MOST_OF_TWO: Final = 4  # games of two for each of another number
CARELESS: Final = 1 / 8  # share of random actions
KEPT: Final = 1 / 3  # share of the decisions whose outcomes are kept
RIDGE: Final = 1e-5  # holds weights of features that say nothing


def sample(ruleset: Ruleset, n_games: int, teacher: Agent, seed: int) -> States:
    """Positions before a roll, out of games: STATE[M]."""
    rng = np.random.default_rng(seed)
    deals = [Position.deal(ruleset, int(deal)).state for deal in rng.integers(2**62, size=n_games)]
    states = np.concatenate(deals)
    careless = agents.make("random")
    kept = [np.empty(0, STATE)]
    while len(states):
        roll_all(states, rng.integers(1, DIE_FACES + 1, len(states)))
        asked = states[rng.random(len(states)) < KEPT]
        first = 0
        while first < len(asked):
            leaves, _, n_states = expand(asked, first)
            kept.append(leaves[leaves["phase"] == ROLL])
            first += n_states
        keys = rng.integers(0, 2**64, len(states), np.uint64)
        slips = rng.random(len(states)) < CARELESS
        actions = teacher.choose(states, keys)
        play_all(states, np.where(slips, careless.choose(states, keys), actions))
        states = states[states["phase"] != OVER]
    return np.concatenate(kept)


@njit
def roll_all(states: States, dice: npt.NDArray[np.int64]) -> None:
    """Roll where a roll is due."""
    for i in range(len(states)):
        if states[i]["phase"] == ROLL:
            rules.roll(states[i], dice[i])


@njit
def play_all(states: States, actions: npt.NDArray[np.int64]) -> None:
    """Play an action in each state."""
    for i in range(len(states)):
        rules.play(states[i], actions[i])


@njit
def look(states: States, features: Any, points: Any, way: Any, kinds: Any) -> None:
    """Write what the value looks at.

    Args:
        states: STATE[M].
        features: float64[M, 6, N_FEATURES], zeros, written.
        points: float64[M, 6], written.
        way: float64[M], written: slots to go.
        kinds: int64[M], written.
    """
    pieces = np.empty(MAX_TRACK, np.int64)
    for i in range(len(states)):
        way[i] = count_pieces(states[i], pieces)
        kinds[i] = kind_of(states[i])
        for seat in range(np.int64(states[i]["players"])):
            write_features(states[i], seat, pieces, features[i, seat])
            points[i, seat] = rules.points(states[i], seat)


def fit(features: Any, points: Any, way: Any, shares: Any) -> tuple[Any, Any, float]:
    """The likeliest weights, float64[N_FEATURES], and spread, float64[2]; and their surprise.

    Args:
        features: float64[M, P, N_FEATURES].
        points: float64[M, P].
        way: float64[M].
        shares: float64[M, P], win shares; absent seats have none.
    """
    seen = torch.tensor(features, dtype=torch.float32)
    has, far, wanted = (torch.tensor(x, dtype=torch.float32) for x in (points, way, shares))
    seated = torch.tensor(features.any(axis=2) | (shares > 0))
    scale = seen[seated].std(dim=0)
    weights = torch.zeros(N_FEATURES, requires_grad=True)
    spread = torch.tensor(np.log([25.0, 1.0]), dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, spread], max_iter=200, line_search_fn="strong_wolfe")

    def surprise() -> torch.Tensor:
        scaled = (has + seen @ weights) / (spread[0].exp() + spread[1].exp() * far).sqrt()[:, None]
        chances = torch.log_softmax(scaled.masked_fill(~seated, -1e9), dim=1)
        return -(wanted * chances).sum(dim=1).mean()

    def step() -> float:
        optimizer.zero_grad()
        loss = surprise() + RIDGE * ((weights * scale) ** 2).sum()
        loss.backward()
        return float(loss.detach())

    optimizer.step(step)
    least = float(surprise().detach())
    return weights.detach().numpy(), spread.detach().exp().numpy(), least


def main() -> None:
    """Fit each kind of game."""
    parser = Parser(prog="fit_handmade.py", description=__doc__)
    parser.add_argument("--games", type=whole_number(1, 10**6), default=40, help="of each setting")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    special, universal = agents.make("td:builtin/2p"), agents.make("td:builtin/universal")
    weights, spreads = np.zeros_like(WEIGHTS), np.zeros_like(SPREADS)
    for counts, preset in itertools.product(((2,), (3, 4, 5, 6)), PRESETS):
        parts = []
        for players in counts:
            n_games = arguments.games * (MOST_OF_TWO if players == 2 else 1)
            teacher = special if (preset, players) == ("basic", 2) else universal
            states = sample(Ruleset.preset(preset, players=players), n_games, teacher, players)
            features = np.zeros((len(states), MAX_PLAYERS, N_FEATURES))
            points = np.zeros((len(states), MAX_PLAYERS))
            way, kinds = np.empty(len(states)), np.empty(len(states), np.int64)
            look(states, features, points, way, kinds)
            parts.append((features, points, way, teacher.values(states), kinds))
        features, points, way, shares, kinds = (np.concatenate(p) for p in zip(*parts, strict=True))
        (kind,) = set(kinds.tolist())
        seats = max(counts)
        weights[kind], spreads[kind], surprise = fit(
            features[:, :seats], points[:, :seats], way, shares[:, :seats]
        )
        least = -(shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1).mean()
        print(
            f"{preset}, {counts[0]} to {seats} players: {len(way):,} positions, "
            f"surprise {surprise:.4f}, least {least:.4f}",
            flush=True,
        )
    for row, name in enumerate(FEATURES):
        print(f"{name:45s}" + "".join(f"{one:8.3f}" for one in weights[:, row]))
    print(np.round(weights, 3).tolist(), np.round(spreads, 3).tolist())


if __name__ == "__main__":
    run(main, "fit_handmade.py")
