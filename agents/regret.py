"""How far an agent is from perfect play on a solved board, computed and not sampled.

python -m agents.regret --agent SPEC [SPEC ...] --board NAME [NAME ...] | all [--json | --markdown]

The agent is asked what it plays in every position that can be reached. It then meets, from each
seat, the optimal opponent (of equally good actions each is as likely) and the one that knows the
agent's play and answers best. Loss and exploitability are what it gets less than perfect play does,
means of both seats.

A player that does not know how likely its actions are, as those that sample, counts as one that
plays in each position what it plays with the position's own key (`position_keys`).
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

import agents
from agents.base import Agent, AgentError, States
from agents.boards import board_names, load_board, solution_of
from agents.cli import Parser, UsageError, progress_bar, run
from agents.simple import Human
from agents.solve import memory_size
from agents.solver import (
    DEFAULT_MEMORY,
    N_OBJECTIVES,
    OBJECTIVES,
    TOLERANCE,
    WIN,
    Solution,
    TooLargeError,
    decode,
    follow,
    index_of,
    opening_of,
    other_seat,
    slot_of,
    write_result,
)
from thatslife_env import Ruleset, njit, rules
from thatslife_env.board import DIE_FACES, N_ACTIONS, NOWHERE, OVER, STATE
from thatslife_env.position import illegal_move
from thatslife_env.rules import Int

MAX_DECISIONS: Final = 4_000_000
"""Most decisions on a board, in all positions and for all rolls, that an agent is asked for."""

MAX_SEARCHED: Final = 500_000
"""Likewise for a player that does not know how likely its actions are."""

BATCH: Final = 2048  # positions whose decisions are asked for at a time

N_SEATS: Final = 2
N_OPPONENTS: Final = 2
_OPTIMAL: Final = 0
_BEST: Final = 1


@dataclass(frozen=True)
class Regret:
    """How far an agent is from perfect play on a board.

    What is expected is a win share, or a margin of points where that is the objective.

    Attributes:
        agent: its spec.
        board: name or path of the board.
        objective: one of `OBJECTIVES`.
        states: positions with somebody to roll, every one by itself.
        decisions: positions and rolls with two actions or more; the agent was asked for each.
        optimum: what perfect play gets against itself in seat 0 and 1.
        against_optimal: what the agent gets against the optimal opponent, in seat 0 and 1.
        against_best: what it gets against the opponent that answers it best, in seat 0 and 1.
        loss: mean of both seats of optimum less against_optimal.
        exploitability: mean of both seats of optimum less against_best.
        optimal_share: of its decisions in games against the optimal opponent, from each seat as
            often, how many are expected to be optimal; only those with two actions or more count.
            1 if there are none.
    """

    agent: str
    board: str
    objective: str
    states: int
    decisions: int
    optimum: tuple[float, float]
    against_optimal: tuple[float, float]
    against_best: tuple[float, float]
    loss: float
    exploitability: float
    optimal_share: float


def regret(
    agent: Agent,
    board: str | Ruleset,
    *,
    objective: str = "win",
    memory: int = DEFAULT_MEMORY,
    progress: Callable[[int, int], None] = lambda n_states, total: None,
) -> Regret:
    """Compute how far an agent is from perfect play on a board.

    Args:
        agent: who.
        board: the name of a board that comes along, the path of one, or a ruleset.
        objective: what perfect play is for: `win` or `margin`.
        memory: bytes that may be used for the positions.
        progress: called with the number of positions done since the last call, and of all.

    Raises:
        SolverError: the board cannot be solved, or is too large (TooLargeError).
        AgentError: the agent cannot play on it.
        IllegalMoveError: the agent plays illegally.
    """
    name = board if isinstance(board, str) else "ruleset"
    ruleset = load_board(board).ruleset if isinstance(board, str) else board
    which = OBJECTIVES.index(objective)
    solution = solution_of(ruleset, memory, merge=False)
    offsets, n_decisions = count_decisions(solution)
    if n_decisions > MAX_DECISIONS:
        raise TooLargeError(
            f"board {name}: it has {n_decisions:,} decisions; agents are asked for at most "
            f"{MAX_DECISIONS:,}"
        )
    chances = ask(agent, solution, offsets, n_decisions, name, progress)

    game = (solution.coding, solution.keys, solution.table, solution.values, solution.order)
    expected = np.empty((solution.n_states, N_SEATS, N_OPPONENTS), np.float64)
    _evaluate(*game, which, offsets, chances, expected)
    tally = np.zeros((N_SEATS, 2), np.float64)
    _tally(*game, which, offsets, chances, tally)

    value = solution.opening_values[which]
    optimum = (value, float(other_seat(value, which)))
    got = expected[0]
    decided, optimal = tally.sum(axis=0)
    return Regret(
        agent=agent.name,
        board=name,
        objective=objective,
        states=solution.n_states,
        decisions=n_decisions,
        optimum=optimum,
        against_optimal=(float(got[0, _OPTIMAL]), float(got[1, _OPTIMAL])),
        against_best=(float(got[0, _BEST]), float(got[1, _BEST])),
        loss=float(np.mean(optimum - got[:, _OPTIMAL])),
        exploitability=float(np.mean(optimum - got[:, _BEST])),
        optimal_share=float(optimal / decided) if decided > 0 else 1.0,
    )


def position_keys(states: States) -> npt.NDArray[np.uint64]:
    """A key for each position, a function of it alone: STATE[M] to uint64[M]."""
    raw = np.ascontiguousarray(states).view(np.uint8).reshape(len(states), STATE.itemsize)
    padded = np.zeros((len(states), -(-STATE.itemsize // 8) * 8), np.uint8)
    padded[:, : STATE.itemsize] = raw
    keys = np.empty(len(states), np.uint64)
    _hash_rows(padded.view("<u8").astype(np.uint64), keys)
    return keys


# Asking the agent -------------------------------------------------------------------------------


def count_decisions(solution: Solution) -> tuple[npt.NDArray[np.int64], int]:
    """Where the chances of each position's actions begin, and how many decisions there are.

    Returns:
        int64[N + 1], in numbers: a position with L >= 2 legal actions has 6 x L, one with fewer
        none. And the number of pairs of such a position and a roll.
    """
    offsets = np.zeros(solution.n_states + 1, np.int64)
    n_decisions = _write_offsets(solution.coding, solution.keys, offsets)
    return offsets, int(n_decisions)


def ask(
    agent: Agent,
    solution: Solution,
    offsets: npt.NDArray[np.int64],
    n_decisions: int,
    name: str,
    progress: Callable[[int, int], None],
) -> npt.NDArray[np.float64]:
    """How likely each action of an agent is in all positions of a game.

    Returns:
        float64[offsets[-1]]: for each position, roll and legal action, in this order.

    Raises:
        TooLargeError: there are too many decisions for an agent that does not know its chances.
        IllegalMoveError: an action that is not legal has a chance.
        AgentError: the chances are none.
    """
    chances = np.empty(offsets[-1], np.float64)
    states = np.empty(BATCH * DIE_FACES, STATE)
    knows = True
    for begin in range(0, solution.n_states, BATCH):
        end = min(begin + BATCH, solution.n_states)
        n_asked = _write_decisions(solution.coding, solution.keys, offsets, begin, end, states)
        asked = states[:n_asked]
        if n_asked and knows:
            try:
                answers = agent.probabilities(asked)
            except AgentError:
                knows = False
                if n_decisions > MAX_SEARCHED:
                    raise TooLargeError(
                        f"board {name}: it has {n_decisions:,} decisions; {agent.name}, whose "
                        f"chances are not known, is asked for at most {MAX_SEARCHED:,}"
                    ) from None
        if n_asked and not knows:
            actions = agent.act_batch(asked, position_keys(asked))
            if actions.min() < 0 or actions.max() >= N_ACTIONS:
                raise AgentError(f"{agent.name}: played {actions.min()} to {actions.max()}")
            answers = np.eye(N_ACTIONS)[actions]
        if n_asked:
            _check(agent, asked, answers)
            _pack(asked, answers, chances[offsets[begin] : offsets[end]])
        progress(end - begin, solution.n_states)
    return chances


def _check(agent: Agent, asked: States, answers: npt.NDArray[np.float64]) -> None:
    """Refuse what are no chances of legal actions."""
    if answers.shape != (len(asked), N_ACTIONS):
        raise AgentError(f"{agent.name}: chances of shape {answers.shape}")
    sums = answers.sum(axis=1)
    if not (answers >= 0).all() or not (np.abs(sums - 1) < 1e-4).all():
        raise AgentError(f"{agent.name}: chances that are negative, or whose sum is not 1")
    wrong = np.empty(len(asked), np.int64)
    _write_illegal(asked, answers, wrong)
    if wrong.max() >= 0:
        where = int(wrong.argmax())
        raise illegal_move(asked[where], int(wrong[where]), f"of {agent.name}")


@njit
def _hash_rows(rows: npt.NDArray[np.uint64], out: npt.NDArray[np.uint64]) -> None:
    for i in range(len(rows)):
        hashed = np.uint64(0)
        for word in rows[i]:
            hashed = rules.mix(hashed ^ word)
        out[i] = hashed


@njit
def _write_offsets(
    coding: States, keys: npt.NDArray[np.uint64], offsets: npt.NDArray[np.int64]
) -> int:
    """See `count_decisions`."""
    state = np.empty(1, STATE)
    n_decisions = 0
    for index in range(len(keys)):
        decode(coding[0], keys[index], state[0])
        rules.roll(state[0], 1)
        n_legal = rules.count_bits(rules.legal_bits(state[0]))
        is_choice = n_legal >= 2
        n_decisions += DIE_FACES * is_choice
        offsets[index + 1] = offsets[index] + DIE_FACES * n_legal * is_choice
    return n_decisions


@njit
def _write_decisions(
    coding: States,
    keys: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
    begin: int,
    end: int,
    out: States,
) -> int:
    """Write the decisions of the positions from `begin` to `end`, all rolls; how many they are."""
    state = np.empty(1, STATE)
    n_asked = 0
    for index in range(begin, end):
        if offsets[index + 1] > offsets[index]:
            decode(coding[0], keys[index], state[0])
            for die in range(1, DIE_FACES + 1):
                rules.roll(state[0], die)
                out[n_asked] = state[0]
                n_asked += 1
    return n_asked


@njit
def _write_illegal(
    states: States, answers: npt.NDArray[np.float64], wrong: npt.NDArray[np.int64]
) -> None:
    """Write an illegal action that has a chance, or -1."""
    for i in range(len(states)):
        bits = rules.legal_bits(states[i])
        wrong[i] = -1
        for action in range(N_ACTIONS):
            if answers[i, action] > 0 and not (bits >> action) & 1:
                wrong[i] = action


@njit
def _pack(
    states: States, answers: npt.NDArray[np.float64], chances: npt.NDArray[np.float64]
) -> None:
    """Write the chances of the legal actions one after the other, their sums made 1."""
    at = 0
    for i in range(len(states)):
        bits = rules.legal_bits(states[i])
        total = answers[i].sum()
        for action in range(N_ACTIONS):
            if (bits >> action) & 1:
                chances[at] = answers[i, action] / total
                at += 1


# All games at once -------------------------------------------------------------------------------


@njit
def _write_moves(
    coding: States,
    keys: npt.NDArray[np.uint64],
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    objective: int,
    index: int,
    states: States,
    followers: npt.NDArray[np.int64],
    ends: npt.NDArray[np.float64],
    optimal: npt.NDArray[np.float64],
) -> Int:
    """What can be done in a position after each roll.

    Args:
        coding: CODING[1].
        keys: uint64[N, W].
        table: int32[T].
        values: float64[N, 2].
        objective: index in `OBJECTIVES`.
        index: of the position.
        states: STATE[2], scratch.
        followers: int64[16, 6], written: where the n-th legal action leads; -1 if to the end.
        ends: float64[16, 6], written where the action leads to the end: what the player has then.
        optimal: float64[16, 6], written: how likely optimal play is to choose it.

    Returns:
        The number of legal actions.
    """
    state = states[0]
    after = states[1]
    key = np.empty(keys.shape[1], np.uint64)
    result = np.empty(N_OBJECTIVES, np.float64)
    decode(coding[0], keys[index], state)
    seat = np.int64(state["player"])
    rules.roll(state, 1)
    bits = rules.legal_bits(state)
    n_legal = 0
    for action in range(N_ACTIONS):
        if not (bits >> action) & 1:
            continue
        slot = slot_of(state, action)
        target: Int = NOWHERE
        for face in range(DIE_FACES):
            rules.roll(state, face + 1)
            if rules.landing(state, slot) == target:  # as the roll before
                followers[n_legal, face] = followers[n_legal, face - 1]
                ends[n_legal, face] = ends[n_legal, face - 1]
                optimal[n_legal, face] = optimal[n_legal, face - 1]
                continue
            target = rules.landing(state, slot)
            follow(states[:1], action, states[1:])
            if after["phase"] == OVER:
                write_result(after, seat, result)
                followers[n_legal, face] = -1
                ends[n_legal, face] = result[objective]
                optimal[n_legal, face] = result[objective]
            else:
                is_own = after["player"] == seat
                follower = index_of(coding[0], keys, table, after, key)
                followers[n_legal, face] = follower
                worth = values[follower, objective]
                optimal[n_legal, face] = worth if is_own else other_seat(worth, objective)
        n_legal += 1
    for face in range(DIE_FACES):
        best = optimal[:n_legal, face].max()
        n_best = 0
        for number in range(n_legal):
            n_best += optimal[number, face] >= best - TOLERANCE
        for number in range(n_legal):
            is_best = optimal[number, face] >= best - TOLERANCE
            optimal[number, face] = 1.0 / n_best if is_best else 0.0
    return n_legal


@njit
def _evaluate(
    coding: States,
    keys: npt.NDArray[np.uint64],
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    order: npt.NDArray[np.int32],
    objective: int,
    offsets: npt.NDArray[np.int64],
    chances: npt.NDArray[np.float64],
    expected: npt.NDArray[np.float64],
) -> None:
    """Write what the agent expects in each position, those that follow first.

    Args:
        coding: CODING[1].
        keys: uint64[N, W].
        table: int32[T].
        values: float64[N, 2].
        order: int32[N].
        objective: index in `OBJECTIVES`.
        offsets: int64[N + 1].
        chances: float64, see `ask`.
        expected: float64[N, 2, 2], written: with the agent in each seat, against each opponent.
    """
    states = np.empty(2, STATE)
    followers = np.empty((N_ACTIONS, DIE_FACES), np.int64)
    ends = np.empty((N_ACTIONS, DIE_FACES), np.float64)
    optimal = np.empty((N_ACTIONS, DIE_FACES), np.float64)
    for index in order:
        n_legal = _write_moves(
            coding, keys, table, values, objective, index, states, followers, ends, optimal
        )
        player = np.int64(states[0]["player"])
        for seat in range(N_SEATS):
            for opponent in range(N_OPPONENTS):
                total = 0.0
                for face in range(DIE_FACES):
                    mean = 0.0
                    worst = np.inf
                    for number in range(n_legal):
                        follower = followers[number, face]
                        if follower >= 0:
                            worth = expected[follower, seat, opponent]
                        elif seat == player:
                            worth = ends[number, face]
                        else:
                            worth = other_seat(ends[number, face], objective)
                        chance = optimal[number, face]
                        if seat == player:
                            chance = 1.0
                            if n_legal > 1:
                                chance = chances[offsets[index] + face * n_legal + number]
                        mean += chance * worth
                        worst = min(worst, worth)
                    total += worst if opponent == _BEST and seat != player else mean
                expected[index, seat, opponent] = total / DIE_FACES


@njit
def _tally(
    coding: States,
    keys: npt.NDArray[np.uint64],
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    order: npt.NDArray[np.int32],
    objective: int,
    offsets: npt.NDArray[np.int64],
    chances: npt.NDArray[np.float64],
    tally: npt.NDArray[np.float64],
) -> None:
    """Count the agent's decisions in a game against the optimal opponent.

    Args:
        coding: CODING[1].
        keys: uint64[N, W].
        table: int32[T].
        values: float64[N, 2].
        order: int32[N].
        objective: index in `OBJECTIVES`.
        offsets: int64[N + 1].
        chances: float64, see `ask`.
        tally: float64[2, 2], zeros; with the agent in each seat, the expected number of its
            decisions with two actions or more is added, and of the optimal ones.
    """
    states = np.empty(2, STATE)
    followers = np.empty((N_ACTIONS, DIE_FACES), np.int64)
    ends = np.empty((N_ACTIONS, DIE_FACES), np.float64)
    optimal = np.empty((N_ACTIONS, DIE_FACES), np.float64)
    reach = np.zeros((len(keys), N_SEATS), np.float64)  # how likely each position comes up
    reach[0] = 1.0
    for place in range(len(order) - 1, -1, -1):
        index = order[place]
        if reach[index].max() == 0.0:
            continue
        n_legal = _write_moves(
            coding, keys, table, values, objective, index, states, followers, ends, optimal
        )
        player = np.int64(states[0]["player"])
        for seat in range(N_SEATS):
            share = reach[index, seat] / DIE_FACES
            for face in range(DIE_FACES):
                if seat == player and n_legal > 1:
                    tally[seat, 0] += share
                for number in range(n_legal):
                    chance = optimal[number, face]
                    if seat == player and n_legal > 1:
                        chance = chances[offsets[index] + face * n_legal + number]
                        if optimal[number, face] > 0:
                            tally[seat, 1] += share * chance
                    if followers[number, face] >= 0:
                        reach[followers[number, face], seat] += share * chance


# The command ------------------------------------------------------------------------------------


def main() -> None:
    """Read the arguments, compute and print."""
    parser = Parser(prog="agents.regret", description=__doc__)
    parser.add_argument("--agent", nargs="+", required=True, metavar="SPEC")
    parser.add_argument(
        "--board",
        nargs="+",
        required=True,
        metavar="NAME",
        help=f"of {', '.join(board_names())}, a JSON file, or all that are not too large",
    )
    parser.add_argument("--objective", choices=OBJECTIVES, default=OBJECTIVES[WIN])
    parser.add_argument(
        "--memory", type=memory_size, default=DEFAULT_MEMORY, help="it may use; 4GB if not given"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a list of objects, for programs")
    form.add_argument("--markdown", action="store_true", help="a table, for docs")
    arguments = parser.parse_args()
    for_all = arguments.board == ["all"]
    boards = board_names() if for_all else arguments.board
    for board in boards:
        opening_of(load_board(board).ruleset)
    players = [agents.make(spec) for spec in arguments.agent]
    if any(isinstance(player, Human) for player in players):
        raise UsageError("--agent: a person can't be asked for every position")

    found: list[Regret] = []
    refused: list[TooLargeError] = []
    for board in boards:
        for player in players:
            try:
                with progress_bar(f"{board}, {player.name}") as progress:
                    one = regret(
                        player,
                        board,
                        objective=arguments.objective,
                        memory=arguments.memory,
                        progress=progress,
                    )
                found.append(one)
            except TooLargeError as error:
                refused.append(error)
                print(f"left out: {error}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([asdict(one) for one in found]))
    elif arguments.markdown:
        print(markdown(found))
    else:
        for one in found:
            _show(one)
    if refused and not for_all:  # after what was found, which took its time
        raise refused[0]


def markdown(found: list[Regret]) -> str:
    """Losses, and in brackets shares of optimal decisions: agents down, boards across."""
    boards = list(dict.fromkeys(one.board for one in found))
    cells = {(one.agent, one.board): one for one in found}
    lines = [f"| | {' | '.join(boards)} |", "|---" * (len(boards) + 1) + "|"]
    for agent in dict.fromkeys(one.agent for one in found):
        row = [
            f"{cells[agent, board].loss:.4f} ({cells[agent, board].optimal_share:.1%})"
            if (agent, board) in cells
            else ""
            for board in boards
        ]
        lines.append(f"| {agent} | {' | '.join(row)} |")
    return "\n".join(lines)


def _show(one: Regret) -> None:
    """Print one result for people."""
    print(f"{one.agent} on {one.board}: {one.states:,} positions, {one.decisions:,} decisions")
    for words, number in (
        (f"loss against the optimal opponent ({one.objective})", one.loss),
        ("exploitability", one.exploitability),
        ("share of optimal decisions", one.optimal_share),
    ):
        print(f"  {words}: {number:.6f}")
    for words, pair in (
        ("optimum", one.optimum),
        ("against the optimal opponent", one.against_optimal),
        ("against the opponent that answers best", one.against_best),
    ):
        print(f"  {words}: {pair[0]:.6f} in seat 0, {pair[1]:.6f} in seat 1")


if __name__ == "__main__":
    run(main, "agents.regret")
