"""Dealt games in progress: states beside the seeds that deal them and roll for them.

The environments and the arena are built on this. A game's chance is a function of its deal seed:
the tiles, every roll, which ruleset and seats it was drawn, and a key for each decision. So games
never depend on how many run side by side, or in which order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env import rules
from thatslife_env._jit import njit, prefetch
from thatslife_env.baselines import BASELINES, baseline_action, decision_key
from thatslife_env.board import MAX_PLAYERS, N_ACTIONS, OVER, ROLL, RULES, STATE, Ruleset
from thatslife_env.observation import OBS_SIZE, rows_of, write_mask, write_observation
from thatslife_env.position import Position, check_seed, illegal_move, is_whole
from thatslife_env.rewards import finite, reward_code, worst_reward, write_potentials, write_rewards
from thatslife_env.rules import Int, State

GAME: Final = np.dtype(
    [
        # the seed of the stream of games; its g-th is dealt from draw64(stream, g)
        ("stream", np.uint64),
        ("number", np.uint64),  # games dealt from the stream so far
        ("deal", np.uint64),  # the deal seed of this game
        ("rolls", np.int64),  # rolls so far
        ("decisions", np.int64),  # decisions so far, of all seats
    ]
)
"""Where the chance of a game comes from, and how far it has come."""

FINISHED: Final = np.dtype(
    [
        ("index", np.int64),  # which of the games
        ("deal_seed", np.uint64),
        ("players", np.int8),
        ("points", np.int16, (MAX_PLAYERS,)),
        ("win_share", np.float32, (MAX_PLAYERS,)),
        ("decisions", np.int64),
    ]
)
"""What is known of a game that has ended; absent seats 0."""

Record = Any  # one record of dtype GAME
Records = npt.NDArray[Any]
RulesetLike = str | Ruleset | Mapping[str, Any]
BatchPlayer = Callable[[npt.NDArray[Any], npt.NDArray[np.uint64]], npt.NDArray[np.integer[Any]]]
"""Takes STATE[M] and a key, uint64[M], of each decision; gives the actions, int[M]."""

_VARIANT = np.uint64(0x7A61A4717A61A471)  # streams apart from deals, dice and decisions
_SEATS = np.uint64(0x5EA75EA75EA75EA7)
_LINEUP = np.uint64(0x11E0011E0011E001)
_FIRST = np.uint64(0)
_HALF = np.uint64(32)


# One game ---------------------------------------------------------------------------------


@njit
def begin(state: State, game: Record, rulesets: Records, shares: npt.NDArray[np.uint64]) -> None:
    """Deal the next game of the stream and roll for its first decision.

    Args:
        state: overwritten.
        game: its stream goes on by one game.
        rulesets: RULES[K], of which one is drawn.
        shares: uint64[K], their cumulative shares of 2^32.
    """
    deal_seed = rules.draw64(game["stream"], game["number"])
    game["number"] += np.uint64(1)
    begin_deal(state, game, rulesets[pick(deal_seed ^ _VARIANT, 0, shares)], deal_seed)


@njit
def begin_deal(state: State, game: Record, ruleset: Record, deal_seed: np.uint64) -> None:
    """Deal the game of `deal_seed` and `ruleset`, a RULES record, and roll the first time."""
    game["deal"] = deal_seed
    game["rolls"] = 0
    game["decisions"] = 0
    rules.deal(state, ruleset, deal_seed)
    roll_on(state, game)


@njit(inline=True)
def roll_on(state: State, game: Record) -> None:
    """Roll if the game waits for it."""
    if state["phase"] == ROLL:
        rules.roll(state, rules.die_of(game["deal"], np.uint64(game["rolls"])))
        game["rolls"] += 1


@njit(inline=True)
def proceed(state: State, game: Record, action: int) -> None:
    """Play a legal action, then roll on to the next decision or the end."""
    rules.play(state, action)
    game["decisions"] += 1
    roll_on(state, game)


@njit(inline=True)
def key_of(game: Record) -> np.uint64:
    """The key of the decision that the game has come to: uint64."""
    return decision_key(game["deal"], game["decisions"])


@njit
def pick(seed: np.uint64, k: int, shares: npt.NDArray[np.uint64]) -> int:
    """Which of several things the k-th number of `seed` draws: int64.

    Args:
        seed: of the stream.
        k: which number.
        shares: uint64[K], cumulative shares of 2^32.
    """
    drawn = rules.draw64(seed, np.uint64(k)) >> _HALF
    for which in range(len(shares) - 1):
        if drawn < shares[which]:
            return which
    return len(shares) - 1


@njit
def write_finished(state: State, game: Record, index: int, out: Records, row: int) -> None:
    """Describe a game that is over in `out[row]`, FINISHED."""
    out[row]["index"] = index
    out[row]["deal_seed"] = game["deal"]
    out[row]["players"] = state["players"]
    out[row]["decisions"] = game["decisions"]
    shares = np.empty(MAX_PLAYERS, np.float64)
    rules.write_win_shares(state, shares)
    for seat in range(MAX_PLAYERS):
        out[row]["points"][seat] = rules.points(state, seat) if seat < state["players"] else 0
        out[row]["win_share"][seat] = shares[seat]


def cumulative_shares(weights: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Weights as cumulative shares of 2^32, for `pick`: uint64[K].

    Raises:
        ValueError: there are none, one is negative or not finite, or all are 0.
    """
    given = np.array([finite("weights", weight) for weight in weights], np.float64)
    if given.size == 0 or (given < 0).any() or not given.any():
        raise ValueError(f"weights must be numbers >= 0 and not all 0, not {list(weights)!r}")
    given /= given.max()  # so that the sum is finite
    return np.round(np.cumsum(given / given.sum()) * 2.0**32).astype(np.uint64)


def ruleset_mix(
    ruleset: RulesetLike | Sequence[tuple[RulesetLike, float]], players: int | None = None
) -> tuple[list[Ruleset], Records, npt.NDArray[np.uint64]]:
    """What a `ruleset` argument that may be a weighted list means.

    Args:
        ruleset: a ruleset (`Ruleset.of`), or a list of pairs (ruleset, weight).
        players: number of players, for rulesets that leave it open.

    Returns:
        The rulesets; the same as RULES[K]; their cumulative shares, uint64[K].

    Raises:
        ValueError: nonsense.
    """
    pairs: list[Any] = list(ruleset) if isinstance(ruleset, list | tuple) else [(ruleset, 1.0)]
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"a weighted ruleset is a pair (ruleset, weight), not {pair!r}")
    rulesets = [Ruleset.of(made, players) for made, _ in pairs]
    records = np.array([made.record for made in rulesets], RULES)
    return rulesets, records, cumulative_shares([weight for _, weight in pairs])


_AHEAD = 8


@njit(inline=True)
def fetch_ahead(states: Records, games: Records, index: int) -> None:
    """Have the memory of a game some places ahead brought in while those before it are played.

    With hundreds of thousands of games each decision would otherwise wait for its own.
    """
    ahead = min(index + _AHEAD, len(states) - 1)
    prefetch(states[ahead])
    prefetch(games[ahead])


# Kernels over many games -----------------------------------------------------------------------


@njit
def begin_all(
    states: Records,
    games: Records,
    indices: npt.NDArray[np.int64],
    rulesets: Records,
    shares: npt.NDArray[np.uint64],
) -> None:
    """Begin the next game at each of `indices`."""
    for index in indices:
        begin(states[index], games[index], rulesets, shares)


@njit
def proceed_all(
    states: Records, games: Records, indices: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> None:
    """Play `actions[j]`, legal, in the game at `indices[j]`."""
    for j in range(len(indices)):
        proceed(states[indices[j]], games[indices[j]], actions[j])


@njit
def first_illegal(
    states: Records, indices: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> int:
    """The lowest j for which `actions[j]` is illegal in the game at `indices[j]`; -1 if none is."""
    for j in range(len(indices)):
        prefetch(states[indices[min(j + _AHEAD, len(indices) - 1)]])
        if not is_legal(states[indices[j]], actions[j]):
            return j
    return -1


@njit
def is_legal(state: State, action: int) -> bool:
    """Whether any whole number is a legal action now."""
    return 0 <= action < N_ACTIONS and (rules.legal_bits(state) >> action) & 1 == 1


@njit
def keys_of(games: Records, indices: npt.NDArray[np.int64], out: npt.NDArray[np.uint64]) -> None:
    """Write the decision keys of the games at `indices` into `out`, uint64[M]."""
    for j in range(len(indices)):
        out[j] = key_of(games[indices[j]])


def as_actions(actions: npt.ArrayLike, n: int, whose: str = "") -> npt.NDArray[np.int64]:
    """Actions as int64[n], legal or not.

    Raises:
        ValueError: they have another shape or are not whole numbers; `whose` says whose they are.
    """
    given = np.asarray(actions)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        named = f"actions {whose}".strip()
        raise ValueError(f"{named} must be int[{n}], not {given.dtype}{list(given.shape)}")
    return given.astype(np.int64, copy=False)


def check_count(name: str, value: object) -> None:
    """Refuse what is not a whole number from 1.

    Raises:
        ValueError: the message names it.
    """
    if not is_whole(value, 1, 2**31 - 1):
        raise ValueError(f"{name} must be a whole number from 1, not {value!r}")


def stream_seeds(seed: int | Sequence[int], n: int) -> npt.NDArray[np.uint64]:
    """The seeds of n streams of games: `draw64(seed, i)`, or those of a list of n: uint64[n].

    Raises:
        ValueError: a seed is outside 0 .. 2^64 - 1, or their number is not n.
    """
    if isinstance(seed, Sequence):
        if len(seed) != n:
            raise ValueError(f"{len(seed)} seeds for {n} games")
        return np.array([check_seed(one) for one in seed], np.uint64)
    out = np.empty(n, np.uint64)
    _write_streams(np.uint64(check_seed(seed)), out)
    return out


@njit
def _write_streams(seed: np.uint64, out: npt.NDArray[np.uint64]) -> None:
    for i in range(len(out)):
        out[i] = rules.draw64(seed, np.uint64(i))


# Games of one learning seat -------------------------------------------------------------

# What a game waits for: its learner, nothing more, or an opponent outside the kernels, whose number
# is this or more; lower numbers are the compiled ones.
LEARNER: Final = -1
ENDED: Final = -2
FIRST_OUTSIDE: Final = len(BASELINES)

_ANY_SEAT = (1 << MAX_PLAYERS) - 1


class SeatGames:
    """Many games side by side, each with one learning seat; the other seats play by themselves.

    Every game is at a decision of its learner, or at its end. Opponents are drawn for each game
    and seat when it begins, and stay to its end.

    Args:
        num_games: N.
        ruleset: what is played, or a weighted list of it (`ruleset_mix`).
        players: number of players, for rulesets that leave it open.
        opponents: see `set_opponents`.
        seat: the learner's seat, or `random`: drawn for each game.
        reward: name of the terminal reward (`REWARDS`).
        shaping: scale per point of `gamma x potential at the next own decision - potential at this
            one`.
        gamma: the learner's discount.
        illegal: what an illegal action of the learner does: `raise` an error, or `lose` the game.

    Attributes:
        states: STATE[N].
        games: GAME[N].
        seats: int8[N], the learners' seats.
        lineups: int16[N, 6], the number of the opponent that plays each seat; LEARNER at the
            learner's.
        potentials: float64[N], of the learners at their decisions, where there is shaping.
        rewards: float64[N], of the last step.
        done: bool[N], whether a game ended in the last step.
        forfeited: bool[N], whether it ended by an illegal action.
        ended: int64[M], the games that ended in the last step.
        final_obs: float32[M, OBS_SIZE], what their learners saw last; overwritten likewise.
        outcomes: FINISHED[M], how they stood then; overwritten by the next step.
        finished: FINISHED[K], those of them that ended by the rules.
    """

    def __init__(
        self,
        num_games: int,
        ruleset: RulesetLike | Sequence[tuple[RulesetLike, float]] = "basic",
        players: int | None = None,
        *,
        opponents: Any = "greedy",
        seat: str | int = "random",
        reward: str = "win",
        shaping: float = 0.0,
        gamma: float = 1.0,
        illegal: str = "raise",
    ) -> None:
        check_count("num_games", num_games)
        self.rulesets, self._rulesets, self._shares = ruleset_mix(ruleset, players)
        fewest = min(made.players for made in self.rulesets)
        if seat == "random":
            self._seat = -1
        elif is_whole(seat, 0, fewest - 1):
            self._seat = int(seat)
        else:
            raise ValueError(f"seat must be 'random' or 0 to {fewest - 1}, not {seat!r}")
        if illegal not in ("raise", "lose"):
            raise ValueError(f"illegal must be 'raise' or 'lose', not {illegal!r}")
        self._illegal = illegal
        self._reward = reward_code(reward)
        self._shaping = finite("shaping", shaping)
        self._gamma = finite("gamma", gamma)
        self.num_games = num_games
        self.states = np.zeros(num_games, STATE)
        self.games = np.zeros(num_games, GAME)
        self.seats = np.zeros(num_games, np.int8)
        self.lineups = np.zeros((num_games, MAX_PLAYERS), np.int16)
        self.rewards = np.zeros(num_games, np.float64)
        self.done = np.zeros(num_games, np.bool_)
        self.potentials = np.zeros(num_games, np.float64)
        self._waiting = np.zeros(num_games, np.int16)
        self._all = np.arange(num_games)
        self._outcomes = np.zeros(num_games, FINISHED)
        self.outcomes = self.finished = self._outcomes[:0]
        self.forfeited = np.zeros(num_games, np.bool_)
        self.ended = self._all[:0]
        self._final_obs = np.zeros((num_games, OBS_SIZE), np.float32)
        self.final_obs = self._final_obs[:0]
        self._outside: list[BatchPlayer] = []
        self._ready = False  # whether every game is at a decision of its learner
        self.set_opponents(opponents)

    def set_opponents(self, opponents: Any) -> None:
        """Who plays the other seats, in games that begin from now on.

        Args:
            opponents: `random`, `greedy` or a batch callable (`BatchPlayer`) for all seats; or a
                list of one of them for each seat, that of the learner's seat standing idle; or a
                mapping of them to weights, from which each seat of each game draws.

        Raises:
            ValueError: nonsense.
        """
        most = max(made.players for made in self.rulesets)
        if isinstance(opponents, Mapping):
            shares = cumulative_shares(list(opponents.values()))
            numbers = [self._number_of(opponent) for opponent in opponents]
            self._draw = np.tile(shares, (MAX_PLAYERS, 1))
            self._numbers = np.tile(np.array(numbers, np.int16), (MAX_PLAYERS, 1))
            return
        per_seat = [opponents] * most
        if isinstance(opponents, list | tuple):
            if len(opponents) != most or len({made.players for made in self.rulesets}) > 1:
                raise ValueError(f"{len(opponents)} opponents listed for {most} seats")
            per_seat = list(opponents)
        numbers = [self._number_of(opponent) for opponent in per_seat]
        self._draw = np.zeros((MAX_PLAYERS, 1), np.uint64)
        self._numbers = np.zeros((MAX_PLAYERS, 1), np.int16)
        self._numbers[:most, 0] = numbers

    def _number_of(self, opponent: Any) -> int:
        """The number of an opponent; callables are numbered as they come, and keep their number."""
        if isinstance(opponent, str):
            if opponent not in BASELINES:
                raise ValueError(
                    f"unknown opponent {opponent!r}; there are: {', '.join(BASELINES)}, callables"
                )
            return BASELINES.index(opponent)
        if not callable(opponent):
            raise ValueError(f"an opponent is a name or a callable, not {opponent!r}")
        self.enlist([opponent])
        return FIRST_OUTSIDE + self._outside.index(opponent)

    def enlist(self, opponents: Sequence[BatchPlayer]) -> None:
        """Number batch callables in this order, those that have a number already keeping it."""
        for opponent in opponents:
            if opponent not in self._outside:
                self._outside.append(opponent)

    def opponent(self, number: int) -> str | BatchPlayer:
        """The opponent that `lineups` calls `number`."""
        return (
            BASELINES[number] if number < FIRST_OUTSIDE else self._outside[number - FIRST_OUTSIDE]
        )

    def reset(
        self, seed: int | Sequence[int] | None = None, position: Position | None = None
    ) -> None:
        """Begin anew.

        Args:
            seed: stream i of games gets the seed `draw64(seed, i)`; a list gives the N seeds
                themselves. None leaves the streams as they are, each game being given up for the
                next of its stream; before the first reset it takes a seed from the system.
            position: where every game begins, with the rules of the position and the dice of its
                own deal; None deals.

        Raises:
            ValueError: a seed is outside 0 .. 2^64 - 1; or the position is over, has another
                number of players, or leaves the learner nothing to decide. Nothing has changed
                then.
        """
        streams = None if seed is None else stream_seeds(seed, self.num_games)
        eligible = _ANY_SEAT if position is None else self._eligible(position)
        if streams is None and not self.games["number"].any():
            entropy = np.random.SeedSequence().generate_state(1, np.uint64)
            streams = stream_seeds(int(entropy[0]), self.num_games)
        if streams is not None:
            self.games["stream"] = streams
            self.games["number"] = 0
        self.done[:] = self.forfeited[:] = False
        self.ended = self._all[:0]
        self.outcomes = self.finished = self._outcomes[:0]
        self.final_obs = self._final_obs[:0]
        self._begin(self._all, eligible, position)

    def _eligible(self, position: Position) -> int:
        """The seats, a bit each, that a learner can take in a position.

        Raises:
            ValueError: there is none, or not the learner's.
        """
        allowed = sorted({made.players for made in self.rulesets})
        if [position.players] != allowed:
            wanted = " or ".join(map(str, allowed))
            raise ValueError(f"the position has {position.players} players, not {wanted}")
        if position.is_over:
            raise ValueError("the position is over")
        state = position.state[0]
        eligible = sum(
            1 << seat for seat in range(position.players) if not rules.is_home(state, seat)
        )
        if position.phase in ("give", "steal"):
            eligible |= 1 << position.player
        if self._seat >= 0 and not eligible >> self._seat & 1:
            raise ValueError(
                f"the position leaves the learner, seat {self._seat}, nothing to decide"
            )
        return eligible

    @property
    def is_ready(self) -> bool:
        """Whether every game is at a decision of its learner."""
        return self._ready

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays, themselves, that hold the games: copied back into, they go on from there."""
        return {
            "states": self.states,
            "games": self.games,
            "seats": self.seats,
            "lineups": self.lineups,
            "potentials": self.potentials,
        }

    def observe(self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.bool_]) -> None:
        """Write what the learners see, float32[N, OBS_SIZE], and may do, bool[N, 16], True = legal.

        Args:
            observations: overwritten.
            masks: overwritten.
        """
        observe_seats(self.states, self.seats, rows_of(observations), rows_of(masks))

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        """Play the learners' actions and go on to their next decisions, or to the end.

        What came of it is in `rewards`, `done`, `ended`, `finished` and `final_obs`. Games that
        ended stay as they are until `restart`, which must come before the next step.

        Args:
            actions: int64[N].

        Raises:
            IllegalMoveError: one is not legal and `illegal` is `raise`; nothing has changed then.
                Or an opponent's is not legal.
        """
        if not self._ready:
            raise RuntimeError(
                "no games to go on with: `reset` first, or `restart` those that ended"
            )
        if self._illegal == "raise":
            wrong = int(first_illegal(self.states, self._all, actions))
            if wrong >= 0:
                raise illegal_move(self.states[wrong], actions[wrong], f"in game {wrong}")
        self._ready = False
        _play_or_forfeit(self.states, self.games, actions, self.forfeited)
        self._settle(self._all)
        n_ended = _reward_all(
            self.states,
            self.games,
            self.seats,
            self._waiting,
            self.forfeited,
            self._reward,
            self._shaping,
            self._gamma,
            self.potentials,
            self.rewards,
            self.done,
            self._outcomes,
            rows_of(self._final_obs),
        )
        self.ended = np.flatnonzero(self.done)
        self.outcomes = self._outcomes[:n_ended]
        self.finished = self.outcomes[~self.forfeited[self.ended]]
        self.final_obs = self._final_obs[:n_ended]
        self._ready = not n_ended

    def restart(self) -> None:
        """Begin the next game of each stream whose game ended in the last step."""
        if len(self.ended) and not self._ready:
            self._begin(self.ended)

    def _begin(
        self,
        indices: npt.NDArray[np.int64],
        eligible: int = _ANY_SEAT,
        position: Position | None = None,
    ) -> None:
        self._ready = False
        begin_all(self.states, self.games, indices, self._rulesets, self._shares)
        if position is not None:
            self.states[indices] = position.state[0]
            self.games["rolls"][indices] = 0
            _roll_all(self.states, self.games, indices)
        _seat_all(
            self.states,
            self.games,
            indices,
            self._seat,
            eligible,
            self._draw,
            self._numbers,
            self.seats,
            self.lineups,
        )
        self._settle(indices)
        self._mark_potentials(indices)
        self._ready = True

    def _mark_potentials(self, indices: npt.NDArray[np.int64]) -> None:
        if self._shaping:
            _mark_potentials(self.states, self.seats, indices, self.potentials)

    def _settle(self, indices: npt.NDArray[np.int64]) -> None:
        """Let the opponents play until each game is at its learner's decision, or over."""
        while len(indices):
            n_outside = _settle_all(
                self.states, self.games, self.seats, self.lineups, indices, self._waiting
            )
            if not n_outside:
                return
            waiting = self._waiting[indices]
            indices = indices[waiting >= FIRST_OUTSIDE]
            waiting = self._waiting[indices]
            for number in np.unique(waiting):
                self._play_outside(int(number), indices[waiting == number])

    def _play_outside(self, number: int, indices: npt.NDArray[np.int64]) -> None:
        keys = np.empty(len(indices), np.uint64)
        keys_of(self.games, indices, keys)
        opponent = self._outside[number - FIRST_OUTSIDE]
        actions = as_actions(opponent(self.states[indices], keys), len(indices), f"of {opponent!r}")
        wrong = int(first_illegal(self.states, indices, actions))
        if wrong >= 0:
            state = self.states[indices[wrong]]
            raise illegal_move(state, actions[wrong], f"of the opponent {opponent!r}")
        proceed_all(self.states, self.games, indices, actions)


@njit
def learner_seat(deal_seed: np.uint64, eligible: int) -> Int:
    """The seat drawn for the learner in a game, of those whose bit is set: int64."""
    n_eligible = np.uint64(rules.count_bits(eligible))
    drawn = rules.draw(deal_seed ^ _SEATS, _FIRST, n_eligible)
    return rules.nth_action(eligible, np.int64(drawn))


@njit
def _seat_all(
    states: Records,
    games: Records,
    indices: npt.NDArray[np.int64],
    fixed_seat: int,
    eligible: int,
    draws: npt.NDArray[np.uint64],
    numbers: npt.NDArray[np.int16],
    seats: npt.NDArray[np.int8],
    lineups: npt.NDArray[np.int16],
) -> None:
    """Draw learners' seats and opponents for games that have just begun."""
    for index in indices:
        players = np.int64(states[index]["players"])
        deal_seed = games[index]["deal"]
        allowed = eligible & ((1 << players) - 1)
        seats[index] = fixed_seat if fixed_seat >= 0 else learner_seat(deal_seed, allowed)
        for seat in range(MAX_PLAYERS):
            lineups[index, seat] = numbers[seat, pick(deal_seed ^ _LINEUP, seat, draws[seat])]
        lineups[index, seats[index]] = LEARNER


@njit
def _settle_all(
    states: Records,
    games: Records,
    seats: npt.NDArray[np.int8],
    lineups: npt.NDArray[np.int16],
    indices: npt.NDArray[np.int64],
    waiting: npt.NDArray[np.int16],
) -> int:
    """Play compiled opponents; write what each game waits for; count those that wait for others."""
    n_outside = 0
    for index in indices:
        state = states[index]
        game = games[index]
        while True:
            if state["phase"] == OVER:
                waiting[index] = ENDED
                break
            number = np.int64(lineups[index, state["player"]])
            if number == LEARNER or number >= FIRST_OUTSIDE:
                waiting[index] = number
                n_outside += number != LEARNER
                break
            proceed(state, game, baseline_action(state, number, key_of(game)))
    return n_outside


@njit
def _play_or_forfeit(
    states: Records,
    games: Records,
    actions: npt.NDArray[np.int64],
    forfeited: npt.NDArray[np.bool_],
) -> None:
    """Play each action that is legal; for the others mark the game as forfeited."""
    for index in range(len(states)):
        forfeited[index] = not is_legal(states[index], actions[index])
        if not forfeited[index]:
            proceed(states[index], games[index], actions[index])


@njit
def _roll_all(states: Records, games: Records, indices: npt.NDArray[np.int64]) -> None:
    for index in indices:
        roll_on(states[index], games[index])


@njit
def observe_seats(
    states: Records, seats: npt.NDArray[np.int8], observations: Records, masks: Records
) -> None:
    """Write what seats see and may do.

    Args:
        states: STATE[M].
        seats: int8[M].
        observations: rows (`rows_of`) of float32[M or more, OBS_SIZE].
        masks: rows of bool or int8[M or more, 16], 1 = legal.
    """
    for index in range(len(states)):
        prefetch(states[min(index + _AHEAD, len(states) - 1)])
        seat = np.int64(seats[index])
        write_observation(states[index], seat, observations[index]["all"])
        write_mask(states[index], seat, masks[index]["all"])


def observe_players(
    states: Records, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.bool_]
) -> None:
    """Write what the seats to decide see and may do.

    Args:
        states: STATE[M].
        observations: float32[M or more, OBS_SIZE].
        masks: bool[M or more, 16], True = legal.
    """
    seats = np.ascontiguousarray(states["player"])
    observe_seats(states, seats, rows_of(observations), rows_of(masks))


@njit
def _mark_potentials(
    states: Records,
    seats: npt.NDArray[np.int8],
    indices: npt.NDArray[np.int64],
    potentials: npt.NDArray[np.float64],
) -> None:
    """Write the learners' potentials at their decisions."""
    each = np.empty(MAX_PLAYERS, np.float64)
    for index in indices:
        write_potentials(states[index], each)
        potentials[index] = each[seats[index]]


@njit
def _reward_all(
    states: Records,
    games: Records,
    seats: npt.NDArray[np.int8],
    waiting: npt.NDArray[np.int16],
    forfeited: npt.NDArray[np.bool_],
    reward: int,
    shaping: float,
    gamma: float,
    potentials: npt.NDArray[np.float64],
    rewards: npt.NDArray[np.float64],
    done: npt.NDArray[np.bool_],
    outcomes: Records,
    final_obs: Records,
) -> int:
    """Reward the learners for the step; describe and count the games that ended."""
    each = np.empty(MAX_PLAYERS, np.float64)
    n_ended = 0
    for index in range(len(states)):
        state = states[index]
        seat = np.int64(seats[index])
        rewards[index] = 0.0
        done[index] = forfeited[index] or waiting[index] == ENDED
        if done[index]:
            write_observation(state, seat, final_obs[n_ended]["all"])
            write_finished(state, games[index], index, outcomes, n_ended)
            n_ended += 1
        if forfeited[index]:
            rewards[index] = worst_reward(reward, np.int64(state["players"]))
        elif done[index]:
            write_rewards(state, reward, each)
            rewards[index] = each[seat]
        if shaping != 0.0:
            each[seat] = 0.0
            if not done[index]:
                write_potentials(state, each)
            rewards[index] += shaping * (gamma * each[seat] - potentials[index])
            potentials[index] = each[seat]
    return n_ended
