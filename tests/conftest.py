"""What several test files share: rulesets and positions made up from an explicit Random."""

import random

import reference

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
