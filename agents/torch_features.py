"""The features of `agents.afterstate`, worked out by torch from vectors.

This stands in exported values before the network. It is a second statement of what
`write_features` says, allowed only because tests compare them, number for number, on all rulesets,
phases and numbers of players. As there, the die and what it has opened are left out: a position
after the roll is seen as the one before it.

In shapes, B is the number of positions. Seats are relative: seat 0 is the one to roll or decide.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents import torch_encoder as encoder
from agents.afterstate import (
    CHANGE_SCALE,
    COUNT_SCALE,
    LAST_SLOT,
    N_FAR,
    N_MINUS,
    N_TOP,
    POINTS_SCALE,
    REACH,
    SEAT_ROWS,
    SUM_SCALE,
    VALUE_SCALE,
)
from agents.torch_encoder import FACE, FINISH_CODE, LUCKY_CODE, N_MINUS_VALUES, N_OTHER_PAWNS, TAKEN
from thatslife_env.board import (
    EXPERT,
    GIFT,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MIN_VALUE,
    STEAL,
)
from thatslife_env.observation import SLICES

RULES: Final = slice(SLICES["players"].start, SLICES["expert"].stop)  # one-hot rows, as there
N_STEPS: Final = REACH + N_FAR + 2  # from a pawn: its own slot, those shown, the first beyond
AHEAD: Final = slice(1, 1 + REACH)
FAR: Final = slice(AHEAD.stop, AHEAD.stop + N_FAR)
BEYOND: Final = FAR.stop

# What is known of each slot between start and finish
VALUE, LUCKY, ACTION, PIECES, GUARDS = range(5)
OWN: Final = slice(GUARDS + 1, GUARDS + 1 + MAX_PLAYERS)  # pawns of each seat
PLUS, MINUS, LUCKIES = range(OWN.stop, OWN.stop + 3)  # sums over it and all slots further ahead
KNOWN: Final = LUCKIES + 1


class Seen(NamedTuple):
    """What there is to see; seats relative.

    Attributes:
        features: float32[B, N_FEATURES].
        standings: float32[B, 6], what orders the seats: more points, then fewer lucky tiles.
        present: bool[B, 6], which seats there are.
    """

    features: Tensor
    standings: Tensor
    present: Tensor


class Features(nn.Module):
    """From vectors, int32[B, SIZE], to features."""

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self) -> None:
        super().__init__()
        constants = {
            "row_of": encoder.row_of(),
            "places": encoder.places(),
            "shift": encoder.shift(),
            "hot": encoder.hot()[RULES],
            "slots": np.arange(MAX_TRACK, dtype=np.float32),
            "kinds": _kinds(),
            "tile_sums": encoder.tile_sums(),
            "tile_facts": np.ascontiguousarray(encoder.tile_facts()[:, FACE]),
            "from_top": np.arange(1, N_TOP + 1, dtype=np.float32)[:, None],
            "ranks": np.arange(N_MINUS + 1, dtype=np.float32)[:, None],
            "from_there_on": np.tril(np.ones((MAX_TRACK, MAX_TRACK), np.float32)),
            "owners": np.repeat(np.eye(MAX_PLAYERS, dtype=np.float32), MAX_PAWNS, 0),
            "steps": np.arange(N_STEPS, dtype=np.float32),
            "own": np.eye(MAX_PLAYERS, dtype=np.float32)[:, None, None],
        }
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, vectors: Tensor) -> Seen:
        """What there is to see.

        Args:
            vectors: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        row = (vectors.float() @ self.row_of).long().squeeze(1)
        taken = torch.gather(vectors + self.shift, 1, functional.embedding(row, self.places))
        head, track, numbers, towers = taken.split(TAKEN, 1)
        numbers = numbers.float()
        scoring, own_pawns, guards, other_pawns = numbers[:, 2:].split(
            [1, MAX_PAWNS, MAX_GUARDS, N_OTHER_PAWNS], 1
        )
        is_expert = (scoring == EXPERT).unsqueeze(2)  # [B, 1, 1]
        pawns = torch.cat([own_pawns, other_pawns], 1)  # [B, 18], seat by seat
        finish = (track == FINISH_CODE).float() @ self.slots.unsqueeze(1)  # [B, 1]
        common = [
            (head[:, RULES] == self.hot).float(),
            finish / LAST_SLOT,
            functional.embedding(track, self.kinds).sum(1) / COUNT_SCALE,
        ]

        # Towers: [B, 6, ..]
        towers = towers.unflatten(1, (MAX_TILES, MAX_PLAYERS))
        sums = functional.embedding(towers, self.tile_sums).sum(1)
        up_to, total, n_lucky, height = sums.split([N_MINUS_VALUES, 1, 1, 1], 2)
        under = torch.where(towers[:, 1:] == LUCKY_CODE, towers[:, :-1], LUCKY_CODE).float().sum(1)
        turned = torch.minimum(up_to, n_lucky).sum(2, keepdim=True)
        turned_expert = LUCKY_CODE * (MAX_TILES - 1) - under.unsqueeze(2)
        points = total + 2 * torch.where(is_expert, turned_expert, turned)
        # the last minus tile that a lucky one turns, and the next ones
        minus = up_to.unsqueeze(2) < (n_lucky.unsqueeze(3) + self.ranks)
        minus = minus.float().sum(3) - N_MINUS_VALUES
        levels = (height.transpose(1, 2) - self.from_top).long() & (MAX_TILES - 1)
        tops = functional.embedding(torch.gather(towers, 1, levels), self.tile_facts)
        top_values, top_lucky, _ = tops.permute(0, 2, 1, 3).unbind(3)  # [B, 6, 2]
        # how points change when a tile comes or goes: see `torch_encoder._cases`
        last, following = minus[:, :, :1], minus[:, :, 1:2]
        top, below = top_values.split(1, 2)
        bound = torch.where(is_expert, float(MIN_VALUE), last)
        turns = torch.where(is_expert, top, following)
        bound_gone = torch.where(is_expert, float(MIN_VALUE), following)
        turned_back = torch.where(is_expert, below, last)
        gone = top + functional.relu(2 * (bound_gone - top)) - 2 * top_lucky[:, :, :1] * turned_back
        rows = {
            "points": points / POINTS_SCALE,
            "lucky": n_lucky / COUNT_SCALE,
            "tiles": (height > 0).float(),
            "top_value": top_values / VALUE_SCALE,
            "top_lucky": top_lucky,
            "minus": minus[:, :, 1:] / VALUE_SCALE,
            "without_top": -gone / CHANGE_SCALE,
            "with_lucky": -2 * turns / CHANGE_SCALE,
            "with_minus": (MIN_VALUE + functional.relu(2 * (bound - MIN_VALUE))) / CHANGE_SCALE,
        }

        # Slots: [B, 38, ..]
        inside = ((self.slots < finish) & (self.slots > 0)).float().unsqueeze(2)
        facts = functional.embedding(track, self.tile_facts)
        value, lucky, _ = facts.split(1, 2)
        further = torch.cat([functional.relu(value), -functional.relu(-value), lucky], 2)
        further = (further.transpose(1, 2) @ self.from_there_on).transpose(1, 2)
        own_on = (pawns.unsqueeze(1) == self.slots.unsqueeze(1)).float() @ self.owners
        guards_on = (guards.unsqueeze(1) == self.slots.unsqueeze(1)).float().sum(2, keepdim=True)
        pieces_on = own_on.sum(2, keepdim=True) + guards_on
        known = torch.cat([facts, pieces_on, guards_on, own_on, further], 2) * inside

        # Pawns, and what lies ahead of them: [B, 6, 3, steps, ..]
        places = (pawns.unsqueeze(2) + self.steps).flatten(1)
        places = places.clamp(0, MAX_TRACK - 1).long()  # nothing is known of start and last slot
        looked_at = torch.gather(known, 1, places.unsqueeze(2).expand(-1, -1, KNOWN))
        looked_at = looked_at.unflatten(1, (MAX_PLAYERS, MAX_PAWNS * N_STEPS))
        own = (looked_at[:, :, :, OWN] * self.own.squeeze(1)).sum(3)
        own = own.unflatten(2, (MAX_PAWNS, N_STEPS))
        looked_at = looked_at.unflatten(2, (MAX_PAWNS, N_STEPS))
        pawns = pawns.unflatten(1, (MAX_PLAYERS, MAX_PAWNS))
        finish = finish.unsqueeze(2)
        underway = ((pawns >= 0) & (pawns < finish)).float()
        on_tile = ((pawns > 0) & (pawns < finish)).float()
        here = looked_at[:, :, :, 0]  # [B, 6, 3, KNOWN]
        alone = (here[:, :, :, PIECES] == 1).float() * on_tile
        is_tile = (here[:, :, :, ACTION] == 0).float()
        tile = here[:, :, :, VALUE]
        due = tile + functional.relu(2 * (bound - tile)) - 2 * here[:, :, :, LUCKY] * turns
        others = here[:, :, :, PIECES] - own[:, :, :, 0] - here[:, :, :, GUARDS]
        ahead = looked_at[:, :, :, AHEAD] * underway.unsqueeze(3).unsqueeze(4)
        own_ahead = own[:, :, :, AHEAD] * underway.unsqueeze(3)
        far = looked_at[:, :, :, FAR] * underway.unsqueeze(3).unsqueeze(4)
        beyond = looked_at[:, :, :, BEYOND] * underway.unsqueeze(3)
        reaches = (pawns.unsqueeze(3) + self.steps[AHEAD] >= finish.unsqueeze(3)).float()
        rows |= {
            "home": (pawns == finish).float(),
            "at_start": (pawns == 0).float(),
            "to_go": (finish - pawns) * underway / LAST_SLOT,
            "under_value": tile * on_tile / VALUE_SCALE,
            "under_lucky": here[:, :, :, LUCKY] * on_tile,
            "under_action": here[:, :, :, ACTION] * on_tile,
            "with_own": (own[:, :, :, 0] - 1) * on_tile / COUNT_SCALE,
            "with_others": others * on_tile / COUNT_SCALE,
            "with_guards_there": here[:, :, :, GUARDS] * on_tile / COUNT_SCALE,
            "alone": alone,
            "due": due * alone * is_tile / CHANGE_SCALE,
            "ahead_value": ahead[:, :, :, :, VALUE].flatten(2) / VALUE_SCALE,
            "ahead_lucky": ahead[:, :, :, :, LUCKY].flatten(2),
            "ahead_action": ahead[:, :, :, :, ACTION].flatten(2),
            "ahead_own": own_ahead.flatten(2) / COUNT_SCALE,
            "ahead_others": (ahead[:, :, :, :, PIECES] - own_ahead).flatten(2) / COUNT_SCALE,
            "ahead_home": (reaches * underway.unsqueeze(3)).flatten(2),
            "far_value": far[:, :, :, :, VALUE].flatten(2) / VALUE_SCALE,
            "far_lucky": far[:, :, :, :, LUCKY].flatten(2),
            "beyond_plus": beyond[:, :, :, PLUS] / SUM_SCALE,
            "beyond_minus": beyond[:, :, :, MINUS] / SUM_SCALE,
            "beyond_lucky": beyond[:, :, :, LUCKIES] / COUNT_SCALE,
        }
        present = pawns[:, :, 0] >= 0
        seats = torch.cat([rows[row.name] for row in SEAT_ROWS], 2) * present.float().unsqueeze(2)
        features = torch.cat([*common, seats.flatten(1)], 1)
        standings = points * (MAX_TILES + 1) - n_lucky
        return Seen(features, standings.squeeze(2), present)


def _kinds() -> encoder.Array:
    """What a tile adds to `on_track` and `actions_on_track`: float32[codes, 21]."""
    n_values = len(encoder.tiles())
    out = np.zeros((len(encoder.tile_facts()), n_values + 2), np.float32)
    out[encoder.tiles(), encoder.tiles()] = 1
    out[GIFT - MIN_VALUE, n_values] = out[STEAL - MIN_VALUE, n_values + 1] = 1
    return out
