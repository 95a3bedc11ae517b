"""Networks that play: from an observation to action scores and a value. Needs the extra `train`.

A network is described by a plain mapping, `{"kind": "mlp", ...}`, that stands in configs and in
`policy.json`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.base import Actions, Agent, Keys, States
from thatslife_env import njit
from thatslife_env.board import (
    DIE_FACES,
    FIRST_GUARD,
    FIRST_OPPONENT,
    MAX_LAYOUT,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TRACK,
    N_ACTIONS,
)
from thatslife_env.games import observe_players
from thatslife_env.observation import LAST_SLOT, LAYOUT, OBS_SIZE, SLICES
from thatslife_env.rules import draw64

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}

BLOCK: Final = 32
"""Rows of the matrix products of exact forward passes. All have this shape, so that what a row
comes to does not depend on the other rows: products of other shapes may differ in the last bits."""


class Network(nn.Module):
    """From observations to scores of the actions and a value, in the form that SB3 asks for."""

    latent_dim_pi = N_ACTIONS  # what SB3 asks of the part before its own heads, which we leave out
    latent_dim_vf = 1

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of all actions, legal or not, float32[B, 16], and values, float32[B, 1]."""
        raise NotImplementedError

    def forward_actor(self, observations: torch.Tensor, *, is_exact: bool = False) -> torch.Tensor:
        """Scores of all actions, float32[B, 16].

        Args:
            observations: float32[B, OBS_SIZE].
            is_exact: whether a row must come to the same, bit for bit, in every batch.
        """
        raise NotImplementedError

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, float32[B, 1]."""
        raise NotImplementedError


class MlpNetwork(Network):
    """Two towers of fully connected layers, one for the policy and one for the value.

    Args:
        hidden: width of each hidden layer.
        activation: `relu` or `tanh`.
    """

    def __init__(self, hidden: list[int], activation: str = "relu") -> None:
        super().__init__()
        self.policy = _tower(OBS_SIZE, hidden, activation, N_ACTIONS, gain=0.01)
        self.value = _tower(OBS_SIZE, hidden, activation, 1, gain=1.0)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Network.forward`."""
        return self.policy(observations), self.value(observations)

    def forward_actor(self, observations: torch.Tensor, *, is_exact: bool = False) -> torch.Tensor:
        """See `Network.forward_actor`."""
        return _rows(self.policy, observations, is_exact)

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """See `Network.forward_critic`."""
        return self.value(observations)


class BlindNetwork(MlpNetwork):
    """The same without the rows of the observation that tell what each action would do.

    It shows what those rows are worth; which actions are legal it sees.
    """

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Network.forward`."""
        return super().forward(_without_actions(observations))

    def forward_actor(self, observations: torch.Tensor, *, is_exact: bool = False) -> torch.Tensor:
        """See `Network.forward_actor`."""
        return super().forward_actor(_without_actions(observations), is_exact=is_exact)

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """See `Network.forward_critic`."""
        return super().forward_critic(_without_actions(observations))


def _without_actions(observations: torch.Tensor) -> torch.Tensor:
    legal = SLICES["legal"].stop
    return nn.functional.pad(observations[:, :legal], (0, OBS_SIZE - legal))


def _tower(n_in: int, hidden: list[int], activation: str, n_out: int, gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [_linear(n_in, width, 2**0.5), ACTIVATIONS[activation]()]
        n_in = width
    return nn.Sequential(*layers, _linear(n_in, n_out, gain))


def _rows(layer: nn.Module, rows: torch.Tensor, is_exact: bool) -> torch.Tensor:
    """What a layer makes of some rows: float32[M, I] to float32[M, O]."""
    if not is_exact:
        return layer(rows)
    filled = nn.functional.pad(rows, (0, 0, 0, -len(rows) % BLOCK))
    return torch.cat([layer(block) for block in filled.split(BLOCK)])[: len(rows)]


def _linear(n_in: int, n_out: int, gain: float) -> nn.Linear:
    layer = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


# A network made for the game --------------------------------------------------------------------

BEHIND: Final = DIE_FACES  # tiles that a window shows behind a piece: from there others may join it
AHEAD: Final = 2 * DIE_FACES  # and ahead of it: within reach of the next two rolls
SPAN: Final = BEHIND + 1 + AHEAD
_LENGTH: Final = BEHIND + MAX_TRACK + AHEAD  # slots with what windows at either end lie over
N_SHARED: Final = 6  # numbers of a slot that are the same for all seats
WINDOW: Final = SPAN * (N_SHARED + 1)
_HERE: Final = (BEHIND + 1) * (N_SHARED + 1) - 1  # where a window has the own pawns on its slot

_SHAPES: Final = {row.name: row.shape for row in LAYOUT}
ACTION_NAMES: Final = [name for name, shape in _SHAPES.items() if shape == (N_ACTIONS,)]
_FROM_TO: Final = slice(ACTION_NAMES.index("from_slot"), ACTION_NAMES.index("to_slot") + 1)
_KINDS: Final = (FIRST_GUARD, FIRST_OPPONENT)  # pawns before the first, guards, then opponents

# Parts of an observation: rows that lie one after the other
TRACK_ROWS: Final = slice(SLICES["tile_value"].start, SLICES["pawns"].stop)
N_ROWS: Final = 4 + MAX_PLAYERS  # value, lucky, action, guards, pawns of each seat
SEAT_ROWS: Final = slice(SLICES["points"].start, SLICES["legal"].start)
TABLE_ROWS: Final = slice(0, SLICES["guards"].stop)  # die, phase, whose turn, the rules, the track
ACTION_ROWS: Final = slice(SLICES["legal"].start, OBS_SIZE)

N_SEAT: Final = (SEAT_ROWS.stop - SEAT_ROWS.start + DIE_FACES) // MAX_PLAYERS
N_REST: Final = TABLE_ROWS.stop + _SHAPES["guards_off"][0]
_N_ACTION: Final = 2 * WINDOW + len(ACTION_NAMES) + len(_KINDS) + 1

# Where things lie in flat tensors: what the numbers of a game, seat and slot are multiplied by
_SHARED: Final = torch.tensor([[_LENGTH], [0], [1]])
_OWN: Final = torch.tensor([[MAX_PLAYERS * _LENGTH], [_LENGTH], [1]])
_SEAT: Final = torch.tensor([[MAX_PLAYERS], [1], [0]])

_ENDS: Final = (torch.arange(_LENGTH) - BEHIND + 0.5) / LAST_SLOT  # between slots
_NEAR: Final = torch.arange(SPAN)
KIND_OF: Final = nn.functional.one_hot(
    torch.bucketize(torch.arange(N_ACTIONS), torch.tensor(_KINDS), right=True)
).float()  # of each action
WHOM: Final = (torch.arange(N_ACTIONS) - FIRST_OPPONENT + 1).clamp(min=0)  # steps to the left


class _Seen(NamedTuple):
    """What a batch of observations says, in the form that the network reads.

    Slots are those of the track with `BEHIND` before the start, so that the window of a piece
    begins at the number of its slot.

    Attributes:
        shared: float32[B x slots, 6], of each slot: value, lucky, action, guards, finish, pawns.
        pawns: float32[B x 6 x slots, 1], of each seat and slot: pawns / 3.
        stacks: float32[B, 6, 37], the same from the start on.
        seats: float32[B x 6, N_SEAT], what belongs to each seat alone; but first, of the k-th
            seat, whether the die shows k: an accident that saved weights rely on.
        table: float32[B, N_REST], the moment and the track.
        legal: float32[B, 16], 1 for actions that are legal.
        actions: float32[B x 16, rows], what each action would do.
    """

    shared: torch.Tensor
    pawns: torch.Tensor
    stacks: torch.Tensor
    seats: torch.Tensor
    table: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor


class ActionNetwork(Network):
    """Scores each legal action from what it does; weights are shared over pieces and actions.

    Every pawn on its way has a window on the track around it. What it shows, summed over the pawns
    of a seat, and the tower make the seat; all seats in turn, the track and the moment make the
    table. An action is scored from its rows of the observation, windows where the piece leaves and
    lands, the seat that it is about (that of the chosen opponent, or the own one), and the table.
    The value comes from the table.

    Args:
        hidden: widths of pawns and seats, of the table, of actions, and of the layers before score
            and value.
        activation: `relu` or `tanh`.
    """

    def __init__(self, hidden: list[int], activation: str = "relu") -> None:
        super().__init__()
        seat, table, action, last = hidden
        gain = 2**0.5
        self.activation = ACTIVATIONS[activation]()
        self.pawn = _linear(WINDOW, seat, gain)
        self.seat = _linear(seat + N_SEAT, seat, gain)
        self.table = _linear(MAX_PLAYERS * seat + N_REST, table, gain)
        self.action = _linear(_N_ACTION + seat, action, gain)
        self.action_at_table = _linear(table, action, gain)
        self.policy = _tower(action, [last], activation, 1, gain=0.01)
        self.value = _tower(table, [last], activation, 1, gain=1.0)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Network.forward`; the score of what is not legal is 0."""
        seen = _see(observations)
        seats, table = self._table(seen, False)
        return self._scores(seen, seats, table, False), self.value(table)

    def forward_actor(self, observations: torch.Tensor, *, is_exact: bool = False) -> torch.Tensor:
        """See `Network.forward_actor`."""
        seen = _see(observations)
        return self._scores(seen, *self._table(seen, is_exact), is_exact)

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """See `Network.forward_critic`."""
        return self.value(self._table(_see(observations), False)[1])

    def _table(self, seen: _Seen, is_exact: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Each seat, float32[B x 6, S], and the whole, float32[B, T]."""
        stacks = seen.stacks.nonzero()  # game, seat, slot of each
        windows = _windows(seen, stacks @ _SHARED, stacks @ _OWN)
        n_pawns = windows[:, _HERE : _HERE + 1] * MAX_PAWNS
        pawns = self.activation(_rows(self.pawn, windows, is_exact)) * n_pawns
        pad, width = nn.functional.pad, self.pawn.out_features
        place = (stacks @ _SEAT).repeat(1, width + N_SEAT)
        seats = pad(seen.seats, (width, 0)).scatter_add(0, place, pad(pawns, (0, N_SEAT)))
        seats = self.activation(_rows(self.seat, seats, is_exact))
        together = seats.reshape(-1, MAX_PLAYERS * width)
        whole = torch.cat([together, seen.table], 1)
        return seats, self.activation(_rows(self.table, whole, is_exact))

    def _scores(
        self, seen: _Seen, seats: torch.Tensor, table: torch.Tensor, is_exact: bool
    ) -> torch.Tensor:
        """Scores of the actions, float32[B, 16]."""
        legal = seen.legal.nonzero()
        game, action = legal.unbind(1)
        place = game * N_ACTIONS + action
        rows = seen.actions.index_select(0, place)
        from_to = (rows[:, _FROM_TO] * LAST_SLOT).round().long().unsqueeze(2)
        track = legal[:, :1].unsqueeze(2)
        windows = _windows(seen, track * _SHARED[0] + from_to, track * _OWN[0] + from_to)
        whom = game * MAX_PLAYERS + WHOM.index_select(0, action)
        what = torch.cat(
            [
                windows.reshape(-1, 2 * WINDOW),
                rows,
                KIND_OF.index_select(0, action),
                seats.index_select(0, whom),
            ],
            1,
        )
        there = _rows(self.action_at_table, table, is_exact).index_select(0, game)
        actions = self.activation(_rows(self.action, what, is_exact) + there)
        scores = _rows(self.policy, actions, is_exact).reshape(-1)
        return seen.legal.reshape(-1).scatter(0, place, scores).reshape(-1, N_ACTIONS)


def _see(observations: torch.Tensor) -> _Seen:
    """Read observations, float32[B, OBS_SIZE]."""
    pad = nn.functional.pad
    off = observations[:, SLICES["guards_off"]]
    starts = torch.cat([off[:, :1], observations[:, SLICES["at_start"]]], 1)
    starts = pad(starts, (N_ROWS - 1 - MAX_PLAYERS, 0)).unsqueeze(2)
    track = observations[:, TRACK_ROWS].reshape(-1, N_ROWS, MAX_LAYOUT)
    track = torch.cat([starts, track], 2)  # nothing is on the finish
    stacks = track[:, -MAX_PLAYERS:]
    track = pad(track, (BEHIND, 1 + AHEAD))
    tiles, pawns = track.split([N_ROWS - MAX_PLAYERS, MAX_PLAYERS], 1)
    finish = (observations[:, SLICES["finish"]] < _ENDS).float().unsqueeze(1)
    shared = torch.cat([tiles, finish, pawns.sum(1, keepdim=True)], 1)
    seats = torch.cat([observations[:, SLICES["die"]], observations[:, SEAT_ROWS]], 1)
    actions = observations[:, ACTION_ROWS].reshape(-1, len(ACTION_NAMES), N_ACTIONS)
    return _Seen(
        shared.transpose(1, 2).reshape(-1, N_SHARED),
        pawns.reshape(-1, 1),
        stacks,
        seats.reshape(-1, N_SEAT, MAX_PLAYERS).transpose(1, 2).reshape(-1, N_SEAT),
        torch.cat([observations[:, TABLE_ROWS], off], 1),
        observations[:, SLICES["legal"]],
        actions.transpose(1, 2).reshape(-1, len(ACTION_NAMES)),
    )


def _windows(seen: _Seen, shared: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """What is around some slots, seen by some seats: float32[M, WINDOW].

    Args:
        seen: what there is to see.
        shared: where the windows begin in `seen.shared`: int64[..., 1], M numbers in all.
        own: the same in `seen.pawns`.
    """
    look_up = nn.functional.embedding
    around = [look_up(shared + _NEAR, seen.shared), look_up(own + _NEAR, seen.pawns)]
    return torch.cat(around, -1).reshape(-1, WINDOW)


NETWORKS: dict[str, type[MlpNetwork] | type[ActionNetwork]] = {
    "mlp": MlpNetwork,
    "blind": BlindNetwork,
    "action": ActionNetwork,
}


def make_network(description: Mapping[str, Any]) -> Network:
    """The network that `{"kind": KIND, ...}` describes, with fresh weights.

    Raises:
        ValueError: there is no such kind, or it has no such options.
    """
    options = dict(description)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise ValueError(f"unknown network {kind!r}; there are: {', '.join(NETWORKS)}")
    try:
        return NETWORKS[kind](**options)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"network {kind!r} cannot be made of {options}: {error}") from None


class NetworkAgent(Agent):
    """Plays by the scores of a network.

    Args:
        name: see `Agent`.
        network: used as it is at each decision; it may go on learning.
        seed: see `Agent`.
        sample: draw from the softmax of the legal scores; otherwise the legal action with the
            highest.
    """

    def __init__(self, name: str, network: Network, seed: int = 0, *, sample: bool = False) -> None:
        super().__init__(name, seed)
        self.network = network
        self._sample = sample

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        scores, masks = self.scores(states)
        actions = np.empty(len(states), np.int64)
        if self._sample:
            _sample(scores, masks, keys, actions)
        else:
            actions[:] = np.where(masks, scores, -np.inf).argmax(axis=1)
        return actions

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`."""
        scores, masks = self.scores(states)
        legal = np.where(masks, scores, -np.inf).astype(np.float64)
        if not self._sample:
            return np.eye(N_ACTIONS)[legal.argmax(axis=1)]
        weights = np.exp(legal - legal.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def scores(self, states: States) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Scores of all actions, float32[M, 16], and which are legal, bool[M, 16].

        Raises:
            ValueError: there is a state in which nothing is to decide.
        """
        observations = np.zeros((len(states), OBS_SIZE), np.float32)
        masks = np.zeros((len(states), N_ACTIONS), np.bool_)
        observe_players(states, observations, masks)
        if not masks.any(axis=1).all():
            raise ValueError("there is nothing to decide in one of the states")
        with torch.no_grad():
            scores = self.network.forward_actor(torch.from_numpy(observations), is_exact=True)
        return scores.numpy(), masks


@njit
def _sample(
    scores: npt.NDArray[np.float32],
    masks: npt.NDArray[np.bool_],
    keys: Keys,
    actions: Actions,
) -> None:
    """Draw each action from the softmax of its legal scores."""
    for i in range(len(scores)):
        highest = -np.inf
        for action in range(N_ACTIONS):
            if masks[i, action]:
                highest = max(highest, np.float64(scores[i, action]))
        total = 0.0
        for action in range(N_ACTIONS):
            if masks[i, action]:
                total += np.exp(scores[i, action] - highest)
        drawn = np.float64(draw64(keys[i], np.uint64(0)) >> np.uint64(11)) * 2.0**-53 * total
        for action in range(N_ACTIONS):
            if masks[i, action]:
                actions[i] = action  # the last legal one stands if rounding carries us past the end
                drawn -= np.exp(scores[i, action] - highest)
                if drawn < 0:
                    break
