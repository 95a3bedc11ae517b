"""A slow, plain reference implementation, written from the rule document alone.

Tests compare the product with this file move by move, so it shares nothing with the product: no
code, no constants, no representation. The track is a list of places, every place holds the pieces
standing on it, and a tile that is taken is simply removed from the list. Positions in the public
JSON form are read and written at the edges only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# ------------------------------------------------------------------------------------------------
# Tiles and layouts
# ------------------------------------------------------------------------------------------------

LUCKY = "lucky"
MINUS_8 = [-1, -2, -3, -4, -5, -6, -7, -8]
MINUS_10 = [-1, -2, -3, -4, -5, -6, -7, -8, -9, -10]
PLUS_UP = [1, 2, 3, 4, 5, 6, 7, 8]
PLUS_DOWN = [8, 7, 6, 5, 4, 3, 2, 1]
SIX_LUCKY = [LUCKY, LUCKY, LUCKY, LUCKY, LUCKY, LUCKY]

LAYOUTS: dict[str, list] = {
    "standard": MINUS_8 + SIX_LUCKY + PLUS_DOWN + MINUS_10,
    "variant1": MINUS_8 + PLUS_UP + SIX_LUCKY + MINUS_10,
    "variant2": MINUS_8 + PLUS_UP + MINUS_10 + SIX_LUCKY,
}


def is_number(value: object) -> bool:
    """Whether the value is a whole number; booleans are not numbers, and neither is 2.0."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_tile(face: object) -> bool:
    """Whether the face is that of a tile players collect: -10..-1, 1..8 or lucky."""
    if is_number(face):
        return -10 <= face <= -1 or 1 <= face <= 8
    return isinstance(face, str) and face == LUCKY


def is_action_tile(face: object) -> bool:
    """Whether the face is a side of an action tile."""
    return isinstance(face, str) and face in ("gift", "steal")


# ------------------------------------------------------------------------------------------------
# Deals and dice
# ------------------------------------------------------------------------------------------------

MODULUS = 2**64


def mix(z: int) -> int:
    """The output function of splitmix64."""
    z = z % MODULUS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % MODULUS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % MODULUS
    return z ^ (z >> 31)


def draw(seed: int, k: int, n: int) -> int:
    """The k-th number (k = 0, 1, ...) out of 0..n-1 of a seed."""
    high_half = mix(seed + (k + 1) * 0x9E3779B97F4A7C15) >> 32
    return (high_half * n) >> 32


def shuffled_tiles(seed: int) -> list:
    """The 32 tiles in the random order of a seed."""
    tiles = list(LAYOUTS["standard"])
    for k in range(31):
        i = 31 - k
        j = draw(seed, k, i + 1)
        tiles[i], tiles[j] = tiles[j], tiles[i]
    return tiles


def dice(seed: int, k: int) -> int:
    """The k-th roll (k = 0, 1, ...) of the game dealt from a seed."""
    return 1 + draw(seed ^ 0xD1CED1CED1CED1CE, k, 6)


def preset(name: str, players: int) -> dict:
    """Keyword arguments for `Game.deal` for one of the four named rulesets."""
    if name == "basic":
        return {
            "players": players,
            "pawns": 3,
            "layout": "shuffled",
            "action_tiles": True,
            "guards": False,
            "scoring": "standard",
        }
    if name == "classic":
        return {
            "players": players,
            "pawns": 2 if players in (5, 6) else 3,
            "layout": "standard",
            "action_tiles": False,
            "guards": True,
            "scoring": "standard",
        }
    if name == "expert":
        return {
            "players": players,
            "pawns": 3,
            "layout": "shuffled",
            "action_tiles": True,
            "guards": False,
            "scoring": "expert",
        }
    if name == "full":
        return {
            "players": players,
            "pawns": 3,
            "layout": "shuffled",
            "action_tiles": True,
            "guards": True,
            "scoring": "expert",
        }
    raise ValueError(f"no preset {name!r}")


# ------------------------------------------------------------------------------------------------
# Towers
# ------------------------------------------------------------------------------------------------


def tower_score(tower: list, scoring: str) -> int:
    """The points of one tower, listed from bottom to top.

    Args:
        tower: Numbers and "lucky".
        scoring: "standard" or "expert".

    Returns:
        The points.
    """
    if scoring == "standard":
        plus = [tile for tile in tower if tile != LUCKY and tile > 0]
        minus = [tile for tile in tower if tile != LUCKY and tile < 0]
        for _ in range(tower.count(LUCKY)):
            if minus:
                largest = min(minus)  # -8 is a larger minus than -3
                minus.remove(largest)
                plus.append(-largest)
        return sum(plus) + sum(minus)
    if scoring == "expert":
        points = 0
        for height, tile in enumerate(tower):
            if tile == LUCKY:
                continue
            has_lucky_on_it = height + 1 < len(tower) and tower[height + 1] == LUCKY
            points += -tile if has_lucky_on_it else tile
        return points
    raise ValueError(f"no scoring {scoring!r}")


def top_value(tower: list) -> int:
    """How the top of a tower ranks when a gift is made."""
    if not tower:
        return 0
    if tower[-1] == LUCKY:
        return 0
    return tower[-1]


def seats_to_the_left(seat: int, players: int) -> list[int]:
    """All other seats, the left neighbour first."""
    return [(seat + distance) % players for distance in range(1, players)]


def gift_receivers(towers: list[list], giver: int) -> list[int]:
    """The seats among which the giver's top tile may go; none if the giver has no tile."""
    if not towers[giver]:
        return []
    others = seats_to_the_left(giver, len(towers))
    tops = [top_value(towers[seat]) for seat in others]
    given = towers[giver][-1]
    if given != LUCKY and given < 0:
        wanted = max(tops)
    else:
        wanted = min(tops)
    return [seat for seat in others if top_value(towers[seat]) == wanted]


def steal_victims(towers: list[list], thief: int) -> list[int]:
    """The other seats that have a tile."""
    return [seat for seat in seats_to_the_left(thief, len(towers)) if towers[seat]]


# ------------------------------------------------------------------------------------------------
# The game
# ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Piece:
    """A pawn of the seat `owner`, or a guard if the owner is None."""

    owner: int | None

    @property
    def is_pawn(self) -> bool:
        """Whether this is anyone's pawn."""
        return self.owner is not None


@dataclass(eq=False)
class Place:
    """The start, the finish, a tile or an action tile lying on the table."""

    face: int | str
    pieces: list[Piece] = field(default_factory=list)

    @property
    def has_pawn(self) -> bool:
        """Whether anyone's pawn stands here."""
        return any(piece.is_pawn for piece in self.pieces)


class Game:
    """One game in progress."""

    def __init__(
        self,
        *,
        players: int,
        pawns: int,
        guards: bool,
        scoring: str,
        track: list[Place],
        towers: list[list],
        player: int,
        phase: str,
        die: int,
    ) -> None:
        """Takes over the given parts; use `deal` or `from_json`."""
        self.n_players = players
        self.n_pawns = pawns
        self.with_guards = guards
        self.scoring = scoring
        self.track = track
        self.towers = towers
        self.player = player
        self.phase = phase
        self.die = die

    # -- beginning -------------------------------------------------------------------------------

    @classmethod
    def deal(
        cls,
        *,
        players: int,
        pawns: int = 3,
        layout: str | list = "shuffled",
        action_tiles: bool = True,
        guards: bool = False,
        scoring: str = "standard",
        seed: int = 0,
    ) -> Game:
        """A new game.

        Args:
            players: 2..6.
            pawns: Pawns of each player, 1..3.
            layout: "shuffled", "standard", "variant1", "variant2" or a list of faces.
            action_tiles: Whether a gift is put in after every 8 tiles.
            guards: Whether guards stand on the lucky, 7 and 8 tiles.
            scoring: "standard" or "expert".
            seed: 0..2^64-1; decides the order of the `shuffled` layout.

        Returns:
            The game before the first roll.

        Raises:
            ValueError: If an argument is outside its set.
        """
        if not (is_number(players) and 2 <= players <= 6):
            raise ValueError(f"players must be 2..6, not {players!r}")
        if not (is_number(pawns) and 1 <= pawns <= 3):
            raise ValueError(f"pawns must be 1..3, not {pawns!r}")
        if scoring not in ("standard", "expert"):
            raise ValueError(f"no scoring {scoring!r}")
        if not (is_number(seed) and 0 <= seed < MODULUS):
            raise ValueError(f"seed must be 0..2^64-1, not {seed!r}")

        if isinstance(layout, list):
            for face in layout:
                if not is_tile(face) and not is_action_tile(face):
                    raise ValueError(f"no tile {face!r}")
            if not 1 <= len(layout) <= 36:
                raise ValueError("a layout has 1 to 36 entries")
            if len([face for face in layout if is_tile(face)]) > 32:
                raise ValueError("a layout has at most 32 tiles")
            if len([face for face in layout if is_action_tile(face)]) > 4:
                raise ValueError("a layout has at most 4 action tiles")
            faces = list(layout)
        elif layout == "shuffled":
            faces = shuffled_tiles(seed)
        elif layout in LAYOUTS:
            faces = list(LAYOUTS[layout])
        else:
            raise ValueError(f"no layout {layout!r}")

        names_its_own = any(is_action_tile(face) for face in faces)
        if action_tiles and not names_its_own:
            tiles = faces
            faces = []
            for count, tile in enumerate(tiles, start=1):
                faces.append(tile)
                if count % 8 == 0:
                    faces.append("gift")

        track = [Place("start")] + [Place(face) for face in faces] + [Place("finish")]
        for seat in range(players):
            for _ in range(pawns):
                track[0].pieces.append(Piece(seat))
        if guards:
            guarded = [place for place in track if place.face in (LUCKY, 7, 8)]
            for place in guarded[:8]:
                place.pieces.append(Piece(None))

        return cls(
            players=players,
            pawns=pawns,
            guards=guards,
            scoring=scoring,
            track=track,
            towers=[[] for _ in range(players)],
            player=0,
            phase="roll",
            die=0,
        )

    @classmethod
    def from_json(cls, position: dict) -> Game:
        """The game standing at a position that `problems` accepts (not checked here)."""
        track = [Place(face) for face in position["track"]]
        for seat, indices in enumerate(position["pawns"]):
            for index in indices:
                track[index].pieces.append(Piece(seat))
        for index in position["guards"]:
            track[index].pieces.append(Piece(None))
        return cls(
            players=position["rules"]["players"],
            pawns=position["rules"]["pawns"],
            guards=position["rules"]["guards"],
            scoring=position["rules"]["scoring"],
            track=track,
            towers=[list(tower) for tower in position["towers"]],
            player=position["player"],
            phase=position["phase"],
            die=position["die"],
        )

    def to_json(self) -> dict:
        """The position in the public form; shares nothing with the game."""
        return {
            "rules": {
                "players": self.n_players,
                "pawns": self.n_pawns,
                "guards": self.with_guards,
                "scoring": self.scoring,
            },
            "track": [place.face for place in self.track],
            "pawns": [self._indices(seat) for seat in range(self.n_players)],
            "guards": self._indices(None),
            "towers": [list(tower) for tower in self.towers],
            "player": self.player,
            "phase": self.phase,
            "die": self.die,
        }

    # -- looking at the table --------------------------------------------------------------------

    def _from_the_rear(self, owner: int | None) -> list[tuple[Place, Piece]]:
        """All pieces of one owner with their places, the rearmost first."""
        found = []
        for place in self.track:
            for piece in place.pieces:
                if piece.owner == owner:
                    found.append((place, piece))
        return found

    def _indices(self, owner: int | None) -> list[int]:
        """The track indices of all pieces of one owner, ascending."""
        return [self.track.index(place) for place, _ in self._from_the_rear(owner)]

    def _is_home(self, seat: int) -> bool:
        """Whether all pawns of a seat are on the finish."""
        finish = self.track[-1]
        return all(place is finish for place, _ in self._from_the_rear(seat))

    def _moves(self) -> dict[int, tuple[Place, Piece]]:
        """The legal moves of the player: action number -> the piece and where it stands."""
        finish = self.track[-1]
        moves = {}

        places_done = []  # of equal pieces on one tile only the first counts
        for k, (place, piece) in enumerate(self._from_the_rear(self.player)):
            if place is not finish and place not in places_done:
                moves[k] = (place, piece)
                places_done.append(place)

        places_done = []
        for g, (place, piece) in enumerate(self._from_the_rear(None)):
            if place is not finish and place.has_pawn and place not in places_done:
                moves[3 + g] = (place, piece)
                places_done.append(place)

        return moves

    def _choices(self) -> dict[int, int]:
        """The legal choices of an opponent: action number -> seat."""
        if self.phase == "give":
            candidates = gift_receivers(self.towers, self.player)
        else:
            candidates = steal_victims(self.towers, self.player)
        choices = {}
        for distance, seat in enumerate(seats_to_the_left(self.player, self.n_players), start=1):
            if seat in candidates:
                choices[10 + distance] = seat
        return choices

    def legal_actions(self) -> list[int]:
        """The actions the player may choose from, ascending; none in `roll` and `over`."""
        if self.phase == "move":
            return sorted(self._moves())
        if self.phase in ("give", "steal"):
            return sorted(self._choices())
        return []

    # -- playing ---------------------------------------------------------------------------------

    def roll(self, die: int) -> None:
        """Rolls the die.

        Args:
            die: What it shows.

        Raises:
            ValueError: If no roll is due, or the die doesn't show 1..6.
        """
        if self.phase != "roll":
            raise ValueError(f"no roll in phase {self.phase!r}")
        if die not in (1, 2, 3, 4, 5, 6):
            raise ValueError(f"a die shows 1..6, not {die!r}")
        self.die = int(die)
        self.phase = "move"

    def play(self, action: int) -> None:
        """Carries out one decision, with everything that follows from it.

        Args:
            action: 0..2 a pawn, 3..10 a guard, 11..15 an opponent.

        Raises:
            ValueError: If the action is not legal.
        """
        if action not in self.legal_actions():
            raise ValueError(f"action {action!r} is not among {self.legal_actions()}")
        if self.phase == "move":
            place, piece = self._moves()[action]
            self._move(place, piece)
        elif self.phase == "give":
            self._pass_top_tile(self.player, self._choices()[action])
            self._end_turn()
        else:
            self._pass_top_tile(self._choices()[action], self.player)
            self._end_turn()

    def _move(self, place: Place, piece: Piece) -> None:
        """Moves a piece by the roll and does what its leaving brings about."""
        finish = self.track[-1]
        target = place
        for _ in range(self.die):
            if target is not finish:
                target = self.track[self.track.index(target) + 1]
        place.pieces.remove(piece)
        target.pieces.append(piece)

        if piece.is_pawn and not place.pieces:
            if is_tile(place.face):
                self.track.remove(place)
                self.towers[self.player].append(place.face)
            elif place.face == "gift":
                place.face = "steal"
                self._gift()
                return
            elif place.face == "steal":
                place.face = "gift"
                self._steal()
                return
        self._end_turn()

    def _gift(self) -> None:
        """Gives the player's top tile away, or lets the player choose to whom."""
        receivers = gift_receivers(self.towers, self.player)
        if len(receivers) > 1:
            self.phase = "give"
            return
        if len(receivers) == 1:
            self._pass_top_tile(self.player, receivers[0])
        self._end_turn()

    def _steal(self) -> None:
        """Takes a top tile for the player, or lets the player choose from whom."""
        victims = steal_victims(self.towers, self.player)
        if len(victims) > 1:
            self.phase = "steal"
            return
        if len(victims) == 1:
            self._pass_top_tile(victims[0], self.player)
        self._end_turn()

    def _pass_top_tile(self, giver: int, receiver: int) -> None:
        """The top tile of one tower goes on top of another."""
        self.towers[receiver].append(self.towers[giver].pop())

    def _end_turn(self) -> None:
        """The next player to the left with an unfinished pawn is to roll, or the game is over."""
        self.die = 0
        for seat in [*seats_to_the_left(self.player, self.n_players), self.player]:
            if not self._is_home(seat):
                self.player = seat
                self.phase = "roll"
                return
        self.phase = "over"

    # -- result ----------------------------------------------------------------------------------

    def scores(self) -> list[int]:
        """The points of every seat, as if the game ended now."""
        return [tower_score(tower, self.scoring) for tower in self.towers]

    def winners(self) -> list[int]:
        """The winning seats, ascending, as if the game ended now."""
        scores = self.scores()
        leaders = [seat for seat in range(self.n_players) if scores[seat] == max(scores)]
        fewest = min(self.towers[seat].count(LUCKY) for seat in leaders)
        return [seat for seat in leaders if self.towers[seat].count(LUCKY) == fewest]


# ------------------------------------------------------------------------------------------------
# Refusing positions
# ------------------------------------------------------------------------------------------------


def _key_problems(where: str, mapping: dict, keys: list[str]) -> list[str]:
    """Keys that are missing or unknown."""
    found = [f"{where}: key {key!r} is missing" for key in keys if key not in mapping]
    found += [f"{where}: key {key!r} is unknown" for key in mapping if key not in keys]
    return found


def _type_problems(position: dict) -> list[str]:
    """Values of the wrong type, however deep; missing keys are passed over."""
    found = []

    def need(where: str, value: object, kind: str) -> bool:
        fits = {
            "an object": isinstance(value, dict),
            "a list": isinstance(value, list),
            "a number": is_number(value),
            "a boolean": isinstance(value, bool),
            "a string": isinstance(value, str),
            "a number or a string": is_number(value) or isinstance(value, str),
        }[kind]
        if not fits:
            found.append(f"{where}: must be {kind}, not {value!r}")
        return fits

    def need_list(where: str, value: object, kind: str) -> None:
        if need(where, value, "a list"):
            for index, entry in enumerate(value):
                need(f"{where}[{index}]", entry, kind)

    def need_lists(where: str, value: object, kind: str) -> None:
        if need(where, value, "a list"):
            for index, entry in enumerate(value):
                need_list(f"{where}[{index}]", entry, kind)

    if "rules" in position and need("rules", position["rules"], "an object"):
        rules = position["rules"]
        if "players" in rules:
            need("rules.players", rules["players"], "a number")
        if "pawns" in rules:
            need("rules.pawns", rules["pawns"], "a number")
        if "guards" in rules:
            need("rules.guards", rules["guards"], "a boolean")
        if "scoring" in rules:
            need("rules.scoring", rules["scoring"], "a string")
    if "track" in position:
        need_list("track", position["track"], "a number or a string")
    if "pawns" in position:
        need_lists("pawns", position["pawns"], "a number")
    if "guards" in position:
        need_list("guards", position["guards"], "a number")
    if "towers" in position:
        need_lists("towers", position["towers"], "a number or a string")
    if "player" in position:
        need("player", position["player"], "a number")
    if "phase" in position:
        need("phase", position["phase"], "a string")
    if "die" in position:
        need("die", position["die"], "a number")
    return found


def _value_problems(position: dict) -> list[str]:
    """Values outside their sets; all keys and types are right."""
    found = []
    rules = position["rules"]
    if not 2 <= rules["players"] <= 6:
        found.append(f"rules.players: must be 2..6, not {rules['players']}")
    elif not 0 <= position["player"] < rules["players"]:
        found.append(f"player: no seat {position['player']}")
    if not 1 <= rules["pawns"] <= 3:
        found.append(f"rules.pawns: must be 1..3, not {rules['pawns']}")
    if rules["scoring"] not in ("standard", "expert"):
        found.append(f"rules.scoring: no scoring {rules['scoring']!r}")
    for index, face in enumerate(position["track"]):
        if not is_tile(face) and not is_action_tile(face) and face not in ("start", "finish"):
            found.append(f"track[{index}]: no tile {face!r}")
    for seat, tower in enumerate(position["towers"]):
        for height, tile in enumerate(tower):
            if not is_tile(tile):
                found.append(f"towers[{seat}][{height}]: {tile!r} is not a tile")
    if position["phase"] not in ("roll", "move", "give", "steal", "over"):
        found.append(f"phase: no phase {position['phase']!r}")
    if not 0 <= position["die"] <= 6:
        found.append(f"die: must be 0..6, not {position['die']}")
    return found


def _table_problems(position: dict) -> list[str]:
    """Wrong counts, a wrong track, misplaced pieces; every single value is in its set."""
    found = []
    rules = position["rules"]
    track = position["track"]
    pawns = position["pawns"]
    guards = position["guards"]
    towers = position["towers"]

    if len(pawns) != rules["players"]:
        found.append(f"pawns: {len(pawns)} lists for {rules['players']} players")
    for seat, indices in enumerate(pawns):
        if len(indices) != rules["pawns"]:
            found.append(f"pawns[{seat}]: {len(indices)} pawns instead of {rules['pawns']}")
    if len(towers) != rules["players"]:
        found.append(f"towers: {len(towers)} towers for {rules['players']} players")

    if track.count("start") != 1 or track[0] != "start":
        found.append("track: must begin with its only start")
    if track.count("finish") != 1 or track[-1] != "finish":
        found.append("track: must end with its only finish")

    n_tiles = len([face for face in track if is_tile(face)]) + sum(len(tower) for tower in towers)
    if n_tiles > 32:
        found.append(f"track and towers: {n_tiles} tiles, more than 32")
    n_action_tiles = len([face for face in track if is_action_tile(face)])
    if n_action_tiles > 4:
        found.append(f"track: {n_action_tiles} action tiles, more than 4")

    piece_lists = [(f"pawns[{seat}]", indices) for seat, indices in enumerate(pawns)]
    piece_lists.append(("guards", guards))
    for where, indices in piece_lists:
        for index in indices:
            if not 0 <= index < len(track):
                found.append(f"{where}: {index} is off the track")
        if indices != sorted(indices):
            found.append(f"{where}: not ascending")

    if guards and not rules["guards"]:
        found.append("guards: there are guards, but the rules have none")
    if len(guards) > 8:
        found.append(f"guards: {len(guards)} guards, more than 8")
    return found


def _turn_problems(position: dict) -> list[str]:
    """Player, phase and die that don't fit the table; the table itself is right."""
    found = []
    finish = len(position["track"]) - 1
    player = position["player"]
    phase = position["phase"]
    die = position["die"]

    if phase in ("roll", "over") and die != 0:
        found.append(f"die: must be 0 in phase {phase!r}, not {die}")
    if phase in ("move", "give", "steal") and die == 0:
        found.append(f"die: must be 1..6 in phase {phase!r}, not 0")

    if phase in ("roll", "move"):
        if all(index == finish for index in position["pawns"][player]):
            found.append(f"player: seat {player} has no unfinished pawn")

    is_any_pawn_on_the_way = any(
        index != finish for indices in position["pawns"] for index in indices
    )
    if phase == "over" and is_any_pawn_on_the_way:
        found.append("phase: over, but a pawn is on the way")
    if phase in ("roll", "move") and not is_any_pawn_on_the_way:
        found.append(f"phase: {phase!r}, but no pawn is on the way")

    if phase == "give" and len(gift_receivers(position["towers"], player)) < 2:
        found.append("phase: a gift without a choice among at least two seats")
    if phase == "steal" and len(steal_victims(position["towers"], player)) < 2:
        found.append("phase: a steal without a choice among at least two seats")
    return found


def problems(position: object) -> list[str]:
    """Why a position is refused.

    The checks come in groups (keys and types, values, table, turn); a group is only looked at when
    the groups before it found nothing, because it would make no sense otherwise.

    Args:
        position: Parsed JSON.

    Returns:
        The reasons, each with its place; none if the position is accepted.
    """
    if not isinstance(position, dict):
        return [f"position: must be an object, not {position!r}"]
    keys = ["rules", "track", "pawns", "guards", "towers", "player", "phase", "die"]
    found = _key_problems("position", position, keys)
    if isinstance(position.get("rules"), dict):
        rule_keys = ["players", "pawns", "guards", "scoring"]
        found += _key_problems("rules", position["rules"], rule_keys)
    found += _type_problems(position)
    return (
        found or _value_problems(position) or _table_problems(position) or _turn_problems(position)
    )
