"""The value of positions before a roll, learned: features, network, files, and the agent `td:PATH`.

An *afterstate* is what a turn leaves behind: the position after the move, and after the choice of
an opponent where it opened one, before the next roll. Its value is the win share that each seat may
expect. The network sees it from the seat that is to roll, and gives all seats' shares at once. A
player takes the move whose afterstate is best for it.

Playing needs no torch: the network is a few compiled loops, in which zeros are skipped. Each
position is computed by itself, so its value does not depend on the batch.
"""

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.base import Actions, Agent, AgentError, Keys, States
from agents.saved import VALUE, digest_of, find, read_description, read_weights, save
from thatslife_env import njit, rules
from thatslife_env.board import (
    DIE_FACES,
    GIFT,
    GIVE,
    LUCKY,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TRACK,
    MAX_VALUE,
    MIN_PLAYERS,
    MIN_VALUE,
    N_ACTIONS,
    NO_TILE,
    OVER,
    ROLL,
    STATE,
    STEAL,
    STEALING,
)
from thatslife_env.position import is_whole, short
from thatslife_env.rules import Int, State

# Features -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """One named part of the features: `shape` numbers."""

    name: str
    shape: tuple[int, ...]
    meaning: str


REACH: Final = DIE_FACES  # tiles that a pawn may reach with the next roll
N_FAR: Final = 6  # tiles shown beyond those, with less about each
N_MINUS: Final = 3  # largest minus tiles shown of each tower
N_TOP: Final = 2  # tiles shown of each tower, from the top

# Divisors that bring numbers into or near [-1, 1]
VALUE_SCALE: Final = 10
POINTS_SCALE: Final = 40
CHANGE_SCALE: Final = 20
COUNT_SCALE: Final = 3
SUM_SCALE: Final = 40
LAST_SLOT: Final = MAX_TRACK - 1

_PAWNS = (MAX_PAWNS,)

COMMON_ROWS: Final[tuple[Row, ...]] = (
    Row("players", (MAX_PLAYERS - MIN_PLAYERS + 1,), "one-hot of 2..6 players"),
    Row("pawns_each", _PAWNS, "one-hot of 1..3 pawns a player"),
    Row("with_guards", (1,), "1 if the rules have guards"),
    Row("expert", (1,), "1 for expert scoring, 0 for standard"),
    Row("finish", (1,), f"slot of the finish / {LAST_SLOT}"),
    Row(
        "on_track",
        (MAX_VALUE - MIN_VALUE + 1,),
        f"tiles of value {MIN_VALUE}..{MAX_VALUE} on the track, lucky ones as 0, / {COUNT_SCALE}",
    ),
    Row("actions_on_track", (2,), f"gifts, steals on the track / {COUNT_SCALE}"),
)

SEAT_ROWS: Final[tuple[Row, ...]] = (
    # the tower
    Row("points", (1,), f"points as if the game ended now / {POINTS_SCALE}"),
    Row("lucky", (1,), f"lucky tiles / {COUNT_SCALE}"),
    Row("tiles", (1,), "1 if there is a tile in the tower"),
    Row("top_value", (N_TOP,), f"value of the k-th tile from the top / {VALUE_SCALE}"),
    Row("top_lucky", (N_TOP,), "1 if that tile is lucky"),
    Row("minus", (N_MINUS,), f"the k-th largest minus tile that no lucky turns / {VALUE_SCALE}"),
    Row("without_top", (1,), f"change of the points if the top tile went / {CHANGE_SCALE}"),
    Row("with_lucky", (1,), f"change of the points if a lucky tile came / {CHANGE_SCALE}"),
    Row("with_minus", (1,), f"change of the points if a -10 came / {CHANGE_SCALE}"),
    # the pawns, rear first; zeros but for `home` where one is home
    Row("home", _PAWNS, "1 if the pawn is on the finish"),
    Row("at_start", _PAWNS, "1 if it is on the start"),
    Row("to_go", _PAWNS, f"slots to the finish / {LAST_SLOT}"),
    Row("under_value", _PAWNS, f"value of the tile under it / {VALUE_SCALE}"),
    Row("under_lucky", _PAWNS, "1 if that tile is lucky"),
    Row("under_action", _PAWNS, "1 for a gift, -1 for a steal under it"),
    Row("with_own", _PAWNS, f"own pawns on the same tile / {COUNT_SCALE}"),
    Row("with_others", _PAWNS, f"opponents' pawns on the same tile / {COUNT_SCALE}"),
    Row("with_guards_there", _PAWNS, f"guards on the same tile / {COUNT_SCALE}"),
    Row("alone", _PAWNS, "1 if it stands on a tile with no other piece"),
    Row("due", _PAWNS, f"if alone: change of the points if it took the tile / {CHANGE_SCALE}"),
    Row("ahead_value", (MAX_PAWNS, REACH), f"value of the tile 1..{REACH} ahead / {VALUE_SCALE}"),
    Row("ahead_lucky", (MAX_PAWNS, REACH), "1 if that tile is lucky"),
    Row("ahead_action", (MAX_PAWNS, REACH), "1 for a gift, -1 for a steal there"),
    Row("ahead_own", (MAX_PAWNS, REACH), f"own pawns there / {COUNT_SCALE}"),
    Row("ahead_others", (MAX_PAWNS, REACH), f"other pieces there / {COUNT_SCALE}"),
    Row("ahead_home", (MAX_PAWNS, REACH), "1 if the finish is at most as far"),
    Row(
        "far_value",
        (MAX_PAWNS, N_FAR),
        f"value of the tile {REACH + 1}..{REACH + N_FAR} ahead / {VALUE_SCALE}",
    ),
    Row("far_lucky", (MAX_PAWNS, N_FAR), "1 if that tile is lucky"),
    Row("beyond_plus", _PAWNS, f"sum of the plus tiles still further ahead / {SUM_SCALE}"),
    Row("beyond_minus", _PAWNS, f"sum of the minus tiles there / {SUM_SCALE}"),
    Row("beyond_lucky", _PAWNS, f"lucky tiles there / {COUNT_SCALE}"),
)
"""What is seen of each seat."""


def _starts(rows: tuple[Row, ...]) -> tuple[dict[str, int], int]:
    """Where each row begins, and the length of all."""
    starts, size = {}, 0
    for row in rows:
        starts[row.name] = size
        size += int(np.prod(row.shape))
    return starts, size


COMMON_STARTS, COMMON_SIZE = _starts(COMMON_ROWS)
SEAT_STARTS, SEAT_SIZE = _starts(SEAT_ROWS)
N_FEATURES: Final = COMMON_SIZE + MAX_PLAYERS * SEAT_SIZE
"""Length of the vector: the common rows, then the seats' rows for the seat to roll, the next to the
left and so on; absent seats are the zeros at its end."""

FEATURES_VERSION: Final = 1
"""Goes up when what is written changes though names and shapes do not."""

FEATURES_HASH: Final = hashlib.sha256(
    json.dumps(
        [FEATURES_VERSION, [row[:2] for row in COMMON_ROWS], [row[:2] for row in SEAT_ROWS]]
    ).encode()
).hexdigest()[:16]
"""Changes when the features do; a network trained on others is refused by it."""


def features_used(players: int) -> int:
    """How many features a game of so many players can fill; the rest are zeros."""
    return COMMON_SIZE + players * SEAT_SIZE


def features_table() -> str:
    """The features as Markdown tables, for the docs."""
    lines = []
    for title, start, rows, starts in (
        ("Of the table:", 0, COMMON_ROWS, COMMON_STARTS),
        (
            f"Of each seat, {SEAT_SIZE} numbers; places are those of the seat to roll:",
            COMMON_SIZE,
            SEAT_ROWS,
            SEAT_STARTS,
        ),
    ):
        lines += [title, "", "| place | name | shape | meaning |", "|---|---|---|---|"]
        for row in rows:
            place = start + starts[row.name]
            shape = " x ".join(map(str, row.shape))
            lines.append(f"| `{place}` | `{row.name}` | {shape} | {row.meaning} |")
        lines.append("")
    return "\n".join(lines[:-1])


_PLAYERS = COMMON_STARTS["players"]
_PAWNS_EACH = COMMON_STARTS["pawns_each"]
_WITH_GUARDS = COMMON_STARTS["with_guards"]
_EXPERT = COMMON_STARTS["expert"]
_FINISH = COMMON_STARTS["finish"]
_ON_TRACK = COMMON_STARTS["on_track"]
_ACTIONS_ON_TRACK = COMMON_STARTS["actions_on_track"]
_POINTS = SEAT_STARTS["points"]
_LUCKY = SEAT_STARTS["lucky"]
_TILES = SEAT_STARTS["tiles"]
_TOP_VALUE = SEAT_STARTS["top_value"]
_TOP_LUCKY = SEAT_STARTS["top_lucky"]
_MINUS = SEAT_STARTS["minus"]
_WITHOUT_TOP = SEAT_STARTS["without_top"]
_WITH_LUCKY = SEAT_STARTS["with_lucky"]
_WITH_MINUS = SEAT_STARTS["with_minus"]
_HOME = SEAT_STARTS["home"]
_AT_START = SEAT_STARTS["at_start"]
_TO_GO = SEAT_STARTS["to_go"]
_UNDER_VALUE = SEAT_STARTS["under_value"]
_UNDER_LUCKY = SEAT_STARTS["under_lucky"]
_UNDER_ACTION = SEAT_STARTS["under_action"]
_WITH_OWN = SEAT_STARTS["with_own"]
_WITH_OTHERS = SEAT_STARTS["with_others"]
_WITH_GUARDS_THERE = SEAT_STARTS["with_guards_there"]
_ALONE = SEAT_STARTS["alone"]
_DUE = SEAT_STARTS["due"]
_AHEAD_VALUE = SEAT_STARTS["ahead_value"]
_AHEAD_LUCKY = SEAT_STARTS["ahead_lucky"]
_AHEAD_ACTION = SEAT_STARTS["ahead_action"]
_AHEAD_OWN = SEAT_STARTS["ahead_own"]
_AHEAD_OTHERS = SEAT_STARTS["ahead_others"]
_AHEAD_HOME = SEAT_STARTS["ahead_home"]
_FAR_VALUE = SEAT_STARTS["far_value"]
_FAR_LUCKY = SEAT_STARTS["far_lucky"]
_BEYOND_PLUS = SEAT_STARTS["beyond_plus"]
_BEYOND_MINUS = SEAT_STARTS["beyond_minus"]
_BEYOND_LUCKY = SEAT_STARTS["beyond_lucky"]

MAX_LAYERS: Final = 8  # hidden ones
MAX_WIDTH: Final = 4096

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Weights = tuple[Floats, ...]


@njit
def write_features(state: State, out: Floats) -> None:
    """Write what the seat to roll sees of `state` into `out`.

    The die and what it has opened are left out: a position after the roll has the features of the
    one before it.

    Args:
        state: with a seat to roll or move.
        out: float32[features_used(players)] or longer.
    """
    out[:] = 0.0
    players = np.int64(state["players"])
    finish = np.int64(state["finish"])
    track = state["track"]
    out[_PLAYERS + players - MIN_PLAYERS] = 1.0
    out[_PAWNS_EACH + state["pawns_each"] - 1] = 1.0
    out[_WITH_GUARDS] = state["with_guards"]
    out[_EXPERT] = state["scoring"]
    out[_FINISH] = finish / LAST_SLOT

    counts = np.zeros((4, MAX_TRACK), np.int64)
    pieces, plus, minus, lucky = counts[0], counts[1], counts[2], counts[3]
    # plus, minus, lucky: what lies on the slot and further ahead
    for slot in range(finish - 1, 0, -1):
        tile = np.int64(track[slot])
        plus[slot], minus[slot], lucky[slot] = plus[slot + 1], minus[slot + 1], lucky[slot + 1]
        if tile < GIFT:
            out[_ON_TRACK + tile - MIN_VALUE] += 1.0
            plus[slot] += max(tile, 0)
            minus[slot] += min(tile, 0)
            lucky[slot] += tile == LUCKY
        else:
            out[_ACTIONS_ON_TRACK + (tile == STEAL)] += 1.0
    for place in range(_ON_TRACK, _ACTIONS_ON_TRACK + 2):
        out[place] /= np.float32(COUNT_SCALE)
    for seat in range(players):
        for pawn in range(np.int64(state["pawns_each"])):
            pieces[state["pawns"][seat, pawn]] += 1
    for guard in range(np.int64(state["n_guards"])):
        pieces[state["guards"][guard]] += 1

    for steps in range(players):
        seat = rules.seat_after(state, np.int64(state["player"]), steps)
        start = COMMON_SIZE + steps * SEAT_SIZE
        own = out[start : start + SEAT_SIZE]
        _write_tower(state, seat, own)
        for pawn in range(np.int64(state["pawns_each"])):
            _write_pawn(state, seat, pawn, counts, own)


@njit
def _write_tower(state: State, seat: int, out: Floats) -> None:
    height = np.int64(state["heights"][seat])
    points = rules.points(state, seat)
    unused = rules.lucky_tiles(state, seat)
    out[_POINTS] = points / POINTS_SCALE
    out[_LUCKY] = unused / COUNT_SCALE
    out[_TILES] = height > 0
    n_shown: Int = min(height, N_TOP)
    for k in range(n_shown):
        tile = np.int64(state["towers"][seat, height - 1 - k])
        out[_TOP_VALUE + k] = tile / VALUE_SCALE
        out[_TOP_LUCKY + k] = tile == LUCKY
    if height > 0:
        top = np.int64(state["towers"][seat, height - 1])
        out[_WITHOUT_TOP] = (rules.points_if(state, seat, top, NO_TILE) - points) / CHANGE_SCALE
    out[_WITH_LUCKY] = (rules.points_if(state, seat, NO_TILE, LUCKY) - points) / CHANGE_SCALE
    out[_WITH_MINUS] = (rules.points_if(state, seat, NO_TILE, MIN_VALUE) - points) / CHANGE_SCALE
    shown = 0
    for value in range(MIN_VALUE, 0):
        for _ in range(np.int64(state["counts"][seat, value - MIN_VALUE])):
            if unused > 0:
                unused -= 1
            elif shown < N_MINUS:
                out[_MINUS + shown] = value / VALUE_SCALE
                shown += 1


@njit
def _write_pawn(state: State, seat: int, pawn: int, counts: Ints, out: Floats) -> None:
    finish = np.int64(state["finish"])
    track = state["track"]
    slot = np.int64(state["pawns"][seat, pawn])
    pieces, plus, minus, lucky = counts[0], counts[1], counts[2], counts[3]
    if slot == finish:
        out[_HOME + pawn] = 1.0
        return
    out[_TO_GO + pawn] = (finish - slot) / LAST_SLOT
    if slot == 0:
        out[_AT_START + pawn] = 1.0
    else:
        tile = np.int64(track[slot])
        own = _own_pawns(state, seat, slot)
        guards = rules.guards_on(state, slot)
        if tile == GIFT:
            out[_UNDER_ACTION + pawn] = 1.0
        elif tile == STEAL:
            out[_UNDER_ACTION + pawn] = -1.0
        else:
            out[_UNDER_VALUE + pawn] = tile / VALUE_SCALE
            out[_UNDER_LUCKY + pawn] = tile == LUCKY
        out[_WITH_OWN + pawn] = (own - 1) / COUNT_SCALE
        out[_WITH_OTHERS + pawn] = (pieces[slot] - own - guards) / COUNT_SCALE
        out[_WITH_GUARDS_THERE + pawn] = guards / COUNT_SCALE
        if pieces[slot] == 1:
            out[_ALONE + pawn] = 1.0
            if tile < GIFT:
                change = rules.points_if(state, seat, NO_TILE, tile) - rules.points(state, seat)
                out[_DUE + pawn] = change / CHANGE_SCALE
    for ahead in range(REACH):
        place = pawn * REACH + ahead
        target = slot + ahead + 1
        if target >= finish:
            out[_AHEAD_HOME + place] = 1.0
            continue
        tile = np.int64(track[target])
        if tile == GIFT:
            out[_AHEAD_ACTION + place] = 1.0
        elif tile == STEAL:
            out[_AHEAD_ACTION + place] = -1.0
        else:
            out[_AHEAD_VALUE + place] = tile / VALUE_SCALE
            out[_AHEAD_LUCKY + place] = tile == LUCKY
        if pieces[target] > 0:
            own = _own_pawns(state, seat, target)
            out[_AHEAD_OWN + place] = own / COUNT_SCALE
            out[_AHEAD_OTHERS + place] = (pieces[target] - own) / COUNT_SCALE
    for far in range(N_FAR):
        target = slot + REACH + far + 1
        if target < finish:
            tile = np.int64(track[target])
            if tile < GIFT:
                out[_FAR_VALUE + pawn * N_FAR + far] = tile / VALUE_SCALE
                out[_FAR_LUCKY + pawn * N_FAR + far] = tile == LUCKY
    beyond = slot + REACH + N_FAR + 1
    if beyond < finish:
        out[_BEYOND_PLUS + pawn] = plus[beyond] / SUM_SCALE
        out[_BEYOND_MINUS + pawn] = minus[beyond] / SUM_SCALE
        out[_BEYOND_LUCKY + pawn] = lucky[beyond] / COUNT_SCALE


@njit(inline=True)
def _own_pawns(state: State, seat: int, slot: int) -> int:
    """How many pawns of `seat` stand on `slot`."""
    count = 0
    for pawn in range(np.int64(state["pawns_each"])):
        count += state["pawns"][seat, pawn] == slot
    return count


# The network --------------------------------------------------------------------------------


@njit
def write_layer(inputs: Floats, weights: Floats, biases: Floats, out: Floats) -> None:
    """One layer: `out = inputs @ weights + biases`, in the order of the inputs, zeros skipped.

    Args:
        inputs: float32[n], n at most I.
        weights: float32[I, O]; rows from n on are left out.
        biases: float32[O].
        out: float32[O].
    """
    n_out = len(out)
    filled = np.empty(len(inputs), np.int64)
    n = 0
    for i in range(len(inputs)):
        filled[n] = i
        n += inputs[i] != 0
    for j in range(n_out):
        out[j] = biases[j]
    k = 0
    while k + 4 <= n:  # four at a time: the same sum, in half the time
        a, b, c, d = filled[k], filled[k + 1], filled[k + 2], filled[k + 3]
        xa, xb, xc, xd = inputs[a], inputs[b], inputs[c], inputs[d]
        wa, wb, wc, wd = weights[a], weights[b], weights[c], weights[d]
        for j in range(n_out):
            out[j] = out[j] + xa * wa[j] + xb * wb[j] + xc * wc[j] + xd * wd[j]
        k += 4
    while k < n:
        x = inputs[filled[k]]
        row = weights[filled[k]]
        for j in range(n_out):
            out[j] += x * row[j]
        k += 1


@njit
def write_shares(
    state: State, weights: Weights, biases: Weights, features: Floats, out: Doubles
) -> None:
    """Write the win share that each seat may expect into `out`, float64[6]; absent seats 0.

    Args:
        state: before a roll, or over: then the win shares are those of the rules. Of a position
            after a roll, those of the one before it.
        weights: float32[I, O] of each layer.
        biases: float32[O] of each layer.
        features: float32[I of the first layer] to write in.
        out: by the seats' own numbers.
    """
    if state["phase"] == OVER:
        rules.write_win_shares(state, out)
        return
    players = np.int64(state["players"])
    inputs = features[: COMMON_SIZE + players * SEAT_SIZE]
    write_features(state, inputs)
    for layer in range(len(weights)):
        outputs = np.empty(len(biases[layer]), np.float32)
        write_layer(inputs, weights[layer], biases[layer], outputs)
        if layer < len(weights) - 1:
            for j in range(len(outputs)):
                outputs[j] = max(outputs[j], np.float32(0))
        inputs = outputs
    # softmax over the seats that there are
    highest = np.float64(inputs[0])
    for steps in range(1, players):
        highest = max(highest, np.float64(inputs[steps]))
    out[:] = 0.0
    total = 0.0
    for steps in range(players):
        seat = rules.seat_after(state, np.int64(state["player"]), steps)
        out[seat] = np.exp(inputs[steps] - highest)
        total += out[seat]
    for seat in range(players):
        out[seat] /= total


# Moves --------------------------------------------------------------------------------------

MAX_MOVES: Final = MAX_PAWNS * (MAX_PLAYERS - 1) + MAX_GUARDS
"""Ways to go on from a position: a pawn, with a choice of opponent that it opens, or a guard."""


@njit
def write_moves(state: State, afters: States, actions: Ints) -> int:
    """Write what a turn may still do from a position with something to decide.

    Args:
        state: in phase move, give or steal.
        afters: STATE[MAX_MOVES], for the positions after each.
        actions: int64[MAX_MOVES, 2], for the action and the choice of an opponent that follows it,
            -1 where none does.

    Returns:
        How many there are, by ascending actions.
    """
    n = 0
    bits = rules.legal_bits(state)
    for action in range(N_ACTIONS):
        if not (bits >> action) & 1:
            continue
        afters[n] = state
        rules.play(afters[n], action)
        actions[n, 0] = action
        actions[n, 1] = -1
        if afters[n]["phase"] != GIVE and afters[n]["phase"] != STEALING:
            n += 1
            continue
        choices = rules.legal_bits(afters[n])
        left = rules.count_bits(choices)
        for choice in range(N_ACTIONS):
            if (choices >> choice) & 1:
                left -= 1
                if left > 0:  # the last one is played in the record itself
                    afters[n + 1] = afters[n]
                rules.play(afters[n], choice)
                actions[n, 0] = action
                actions[n, 1] = choice
                n += 1
    return n


@njit
def _write_values(
    states: States, weights: Weights, biases: Weights, values: Doubles, actions: Ints
) -> None:
    """Write the value of each state, and the best action where there is something to decide."""
    features = np.empty(len(weights[0]), np.float32)
    afters = np.empty(MAX_MOVES, STATE)
    moves = np.empty((MAX_MOVES, 2), np.int64)
    value = np.empty(MAX_PLAYERS, np.float64)
    for i in range(len(states)):
        phase = states[i]["phase"]
        if phase in (ROLL, OVER):
            write_shares(states[i], weights, biases, features, values[i])
            continue
        seat = np.int64(states[i]["player"])
        best = -1.0
        for move in range(write_moves(states[i], afters, moves)):
            write_shares(afters[move], weights, biases, features, value)
            if value[seat] > best:
                best = value[seat]
                values[i] = value
                actions[i] = moves[move, 0]


# Players and files --------------------------------------------------------------------------


class ValueNetwork(NamedTuple):
    """A network as the kernels read it.

    Attributes:
        weights: float32[I, O] of each layer; the first takes the features of games with up to so
            many players, the last gives a number for each seat.
        biases: float32[O] of each layer.
    """

    weights: Weights
    biases: Weights

    @property
    def players(self) -> int:
        """The largest number of players that it knows."""
        return (len(self.weights[0]) - COMMON_SIZE) // SEAT_SIZE


class ValueAgent(Agent):
    """Plays the move whose afterstate has the best value; of equal ones the lowest action.

    Args:
        name: see `Agent`.
        network: used as it is at each decision; it may go on learning.
        seed: see `Agent`.
    """

    def __init__(self, name: str, network: ValueNetwork, seed: int = 0) -> None:
        super().__init__(name, seed)
        self.network = network

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`.

        Raises:
            ValueError: there is a state in which nothing is to decide.
        """
        actions = self._judge(states)[1]
        if (actions < 0).any():
            raise ValueError("there is nothing to decide in one of the states")
        return actions

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`."""
        return np.eye(N_ACTIONS)[self.choose(states, np.zeros(len(states), np.uint64))]

    def values(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.values`; of a position with something to decide, that of its best move."""
        return self._judge(states)[0]

    def _judge(self, states: States) -> tuple[npt.NDArray[np.float64], Actions]:
        most = int(states["players"].max(initial=0))
        if most > self.network.players:
            raise AgentError(
                f"{self.name}: it was trained for up to {self.network.players} players, not {most}"
            )
        values = np.empty((len(states), MAX_PLAYERS), np.float64)
        actions = np.full(len(states), -1, np.int64)
        _write_values(states, self.network.weights, self.network.biases, values, actions)
        return values, actions


class TdAgent(ValueAgent):
    """The agent `td:PATH`: plays by a saved value."""

    def __init__(self, name: str, seed: int, path: str) -> None:
        network, self.description = load_value(find(VALUE, path))
        super().__init__(name, network, seed)
        self.digest = digest_of(self.description, network_arrays(network))


def save_value(folder: Path, network: ValueNetwork, about: dict[str, Any]) -> None:
    """Write a value folder, at once, in the place of what was there.

    Args:
        folder: where.
        network: what to save.
        about: free facts for people: what it was trained on and how long.
    """
    described = {
        "players": network.players,
        "hidden": [len(biases) for biases in network.biases[:-1]],
    }
    content = {"layout_hash": FEATURES_HASH, "network": described, "about": about}
    save(VALUE, folder, content, network_arrays(network))


def load_value(folder: Path) -> tuple[ValueNetwork, dict[str, Any]]:
    """Read a value folder.

    Returns:
        The network, and the content of `value.json`.

    Raises:
        AgentError: a file is missing, damaged, or made for another version; the message names file
            and reason.
    """
    content = read_description(VALUE, folder, FEATURES_HASH)
    described = folder / VALUE.description
    network = content.get("network")
    if not isinstance(network, dict) or set(network) != {"players", "hidden"}:
        raise AgentError(f"{described}: network must have just hidden, players")
    players, hidden = network["players"], network["hidden"]
    if not is_whole(players, MIN_PLAYERS, MAX_PLAYERS):
        raise AgentError(f"{described}: network.players must be 2 to 6, not {short(players)}")
    if not isinstance(hidden, list) or not 1 <= len(hidden) <= MAX_LAYERS:
        raise AgentError(f"{described}: network.hidden must list 1 to {MAX_LAYERS} widths")
    for width in hidden:
        if not is_whole(width, 1, MAX_WIDTH):
            raise AgentError(
                f"{described}: network.hidden: a width is 1 to {MAX_WIDTH}, not {short(width)}"
            )
    sizes = [features_used(players), *hidden, MAX_PLAYERS]
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        shapes[f"{layer}.weight"] = (n_in, n_out)
        shapes[f"{layer}.bias"] = (n_out,)
    return network_of(read_weights(VALUE, folder, shapes)), content


def network_arrays(network: ValueNetwork) -> dict[str, Floats]:
    """The arrays of a network: `LAYER.weight`, float32[I, O], and `LAYER.bias`, float32[O]."""
    arrays = {f"{layer}.weight": array for layer, array in enumerate(network.weights)}
    return arrays | {f"{layer}.bias": array for layer, array in enumerate(network.biases)}


def network_of(arrays: dict[str, Floats]) -> ValueNetwork:
    """The network of `network_arrays`."""
    layers = range(len(arrays) // 2)
    return ValueNetwork(
        tuple(np.ascontiguousarray(arrays[f"{layer}.weight"]) for layer in layers),
        tuple(np.ascontiguousarray(arrays[f"{layer}.bias"]) for layer in layers),
    )
