"""Networks as they stand in exported models, after the encoder. Needs the extra `train`.

What one position costs a frontend is the number of operations, however small they are. So
`ActionNetwork` is written here with half as many as it takes over observations: what it reads is
put together of what the encoder knows by one look-up, pawns are taken as they stand in the vector,
and rows are numbered by products of whole numbers. This is allowed only because tests compare both.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.networks import (
    ACTION_NAMES,
    ACTION_ROWS,
    AHEAD,
    BEHIND,
    KIND_OF,
    N_REST,
    N_ROWS,
    N_SEAT,
    N_SHARED,
    SEAT_ROWS,
    SPAN,
    TABLE_ROWS,
    TRACK_ROWS,
    WHOM,
    WINDOW,
    ActionNetwork,
    Network,
)
from agents.torch_encoder import (
    ALL_PAWNS,
    N_MOVERS,
    PARTS,
    Array,
    Known,
    Observer,
    numbered,
    order,
    scale,
)
from thatslife_env.board import (
    MAX_LAYOUT,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TRACK,
    N_ACTIONS,
)
from thatslife_env.observation import LAST_SLOT, OBS_SIZE, SLICES

_BEFORE: Final = BEHIND + 1  # rows of a track before the start; absent pawns are on slot -1
_LENGTH: Final = _BEFORE + MAX_TRACK + AHEAD
_N_PAWNS: Final = MAX_PLAYERS * MAX_PAWNS

# What rows of tracks are numbered by: game from 1, 1, slots of a piece, and how many seats to the
# left, a 1 for each
_PAWN_KEYS: Final = 3 + MAX_PLAYERS - 1
_ACTION_KEYS: Final = 4 + MAX_PLAYERS - 1

_ACTION_FACTS: Final = len(ACTION_NAMES) + KIND_OF.shape[1]  # its rows of the observation, kind

SIZES: Final = {
    "tracks": MAX_PLAYERS * _LENGTH * (N_SHARED + 1),
    "seats": MAX_PLAYERS * N_SEAT,
    "table": N_REST,
    "pawns": _N_PAWNS * _PAWN_KEYS,
    "on_way": _N_PAWNS,
    "actions": N_ACTIONS * (_ACTION_FACTS + _ACTION_KEYS),
}
"""Numbers of a position that are looked up, part by part; rows of tracks are those of windows."""


class ObservingScorer(nn.Module):
    """Any network, over observations.

    Args:
        network: it.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.observer = Observer()
        self.network = network

    def forward(self, known: Known) -> tuple[Tensor, Tensor]:
        """Scores of all actions, float32[B, 16], and values, float32[B, 1]."""
        return self.network(self.observer(known))


class ActionScorer(nn.Module):
    """What `ActionNetwork` comes to, with fewer operations.

    Args:
        network: whose weights are used.
    """

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self, network: ActionNetwork) -> None:
        super().__init__()
        self.network = network
        places, divisors = _look_up()
        constants = {
            "places": places[None],
            "divisors": divisors,
            "of_pawns": _rows_of_pawns(),
            "of_actions": _rows_of_actions(),
        }
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, known: Known) -> tuple[Tensor, Tensor]:
        """Scores of all actions, float32[B, 16], 0 where not legal, and values, float32[B, 1]."""
        network, activation = self.network, self.network.activation
        width = network.pawn.out_features
        seen = known.look_up(self.places) / self.divisors
        tracks, seats, table, pawns, on_way, actions = seen.split(list(SIZES.values()), 1)
        tracks = tracks.reshape(-1, N_SHARED + 1)

        near = pawns.reshape(-1, _PAWN_KEYS).long() @ self.of_pawns
        windows = functional.embedding(near, tracks).reshape(-1, WINDOW)
        pawns = activation(network.pawn(windows)).reshape(-1, MAX_PAWNS, width)
        pawns = (on_way.reshape(-1, 1, MAX_PAWNS) @ pawns).reshape(-1, width)
        seats = activation(network.seat(torch.cat([pawns, seats.reshape(-1, N_SEAT)], 1)))
        table = torch.cat([seats.reshape(-1, MAX_PLAYERS * width), table], 1)
        table = activation(network.table(table))

        legal = known.legal.reshape(-1)
        place = legal.nonzero().reshape(-1)
        actions = actions.reshape(-1, _ACTION_FACTS + _ACTION_KEYS).index_select(0, place)
        rows, keys = actions.split([_ACTION_FACTS, _ACTION_KEYS], 1)
        near, whom, game = (keys.long() @ self.of_actions).split([2 * SPAN, 1, 1], 1)
        what = [
            functional.embedding(near, tracks).reshape(-1, 2 * WINDOW),
            rows,
            seats.index_select(0, whom.reshape(-1)),
        ]
        there = network.action_at_table(table).index_select(0, game.reshape(-1))
        scores = network.policy(activation(network.action(torch.cat(what, 1)) + there))
        scores = legal.scatter(0, place, scores.reshape(-1)).reshape(-1, N_ACTIONS)
        return scores, network.value(table)


# Constants --------------------------------------------------------------------------------------


def _look_up() -> tuple[Array, Array]:
    """Where the numbers of `SIZES` are among those known, int64[N], and what divides them.

    Numbers are pointed at by their places in an observation or, after those, in the parts.
    """
    part = {name: OBS_SIZE + places for name, places in numbered(PARTS).items()}
    places = np.concatenate([order(), np.arange(sum(np.prod(shape) for shape in PARTS.values()))])
    divisors = np.concatenate([scale(), np.ones(len(places) - OBS_SIZE, np.float32)])
    divisors[part["counts"][ALL_PAWNS]] = MAX_PAWNS  # as the pawns of each seat are
    (zero,), (one,), (game,) = part["zero"], part["one"], part["game"]
    seen = np.arange(OBS_SIZE)
    off = seen[SLICES["guards_off"]]

    inner = seen[TRACK_ROWS].reshape(N_ROWS, MAX_LAYOUT)
    starts = [zero, zero, zero, off[0], *seen[SLICES["at_start"]]]
    track = np.full((N_ROWS, _LENGTH), zero)
    track[:, _BEFORE : _BEFORE + LAST_SLOT] = np.column_stack([starts, inner])
    beyond = np.full(_LENGTH, zero)
    beyond[_BEFORE:] = part["beyond"][np.minimum(np.arange(MAX_TRACK + AHEAD), LAST_SLOT)]
    pawns = np.full(_LENGTH, zero)
    pawns[_BEFORE : _BEFORE + LAST_SLOT] = part["counts"][ALL_PAWNS, :LAST_SLOT]
    tiles, stacks = np.split(track, [N_ROWS - MAX_PLAYERS])
    shared = np.concatenate([tiles, [beyond, pawns]])
    tracks = [np.concatenate([shared, [own]]).T for own in stacks]

    def ones(number: int) -> list[int]:
        """So many of the others' seats to the left."""
        return [one] * number + [zero] * (MAX_PLAYERS - 1 - number)

    own, others = part["pieces"][:MAX_PAWNS], part["pieces"][N_MOVERS:]
    pieces = np.concatenate([own, others])
    seats = np.concatenate([seen[SLICES["die"]], seen[SEAT_ROWS]]).reshape(N_SEAT, MAX_PLAYERS)
    pawn_keys = [
        [game, one, piece, *ones(number // MAX_PAWNS)] for number, piece in enumerate(pieces)
    ]
    slots = [
        np.append(part[name][:N_MOVERS], [zero] * (N_ACTIONS - N_MOVERS))
        for name in ("pieces", "to")
    ]
    actions = [
        [
            *seen[ACTION_ROWS].reshape(-1, N_ACTIONS)[:, action],
            *np.where(KIND_OF[action].numpy(), one, zero),
            *(game, one, slots[0][action], slots[1][action], *ones(int(WHOM[action]))),
        ]
        for action in range(N_ACTIONS)
    ]
    parts = {
        "tracks": np.stack(tracks),
        "seats": seats.T,
        "table": np.concatenate([seen[TABLE_ROWS], off]),
        "pawns": np.array(pawn_keys),
        "on_way": part["on_way"][[*range(MAX_PAWNS), *range(N_MOVERS, N_MOVERS + len(others))]],
        "actions": np.array(actions),
    }
    looked_up = np.concatenate([parts[name].reshape(-1) for name in SIZES])
    return places[looked_up], divisors[looked_up]


def _rows_of_pawns() -> Array:
    """From the keys of a pawn to the rows of its window: int64[_PAWN_KEYS, SPAN]."""
    a_game = MAX_PLAYERS * _LENGTH
    first = [a_game, _BEFORE - BEHIND - a_game, 1, *[_LENGTH] * (MAX_PLAYERS - 1)]
    out = np.repeat(np.array(first)[:, None], SPAN, 1)
    out[1] += np.arange(SPAN)
    return out


def _rows_of_actions() -> Array:
    """From the keys of an action to the rows of both its windows, of the seat, and of the game."""
    a_game = MAX_PLAYERS * _LENGTH
    out = np.zeros((_ACTION_KEYS, 2 * SPAN + 2), np.int64)
    leave, land, whom, game = np.split(out, [SPAN, 2 * SPAN, 2 * SPAN + 1], 1)
    for window, slot in ((leave, 2), (land, 3)):
        window[0] = a_game
        window[1] = _BEFORE - BEHIND - a_game + np.arange(SPAN)
        window[slot] = 1
    whom[:2, 0] = MAX_PLAYERS, -MAX_PLAYERS
    whom[4:] = 1
    game[:2, 0] = 1, -1
    return out
