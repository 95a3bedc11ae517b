// The rules of That's Life!, said a second time for the page; tests/web/rules.test.js holds them to
// the first, move by move.
//
// A position is the JSON object of the rule page, frozen. Functions take one and give a new one:
//
//     let position = deal(preset("basic", 2), 7n);
//     position = roll(position, dieOf(7n, 0));
//     position = play(position, legalActions(position)[0]);
//
// A tile is what JSON shows: a number, "lucky", "gift", "steal", "start" or "finish". Slots count
// what lies on the track from 0, the start. Seeds are BigInts.

export const MIN_PLAYERS = 2;
export const MAX_PLAYERS = 6;
export const MAX_PAWNS = 3; // of one player
export const MAX_GUARDS = 8;
export const MAX_TILES = 32; // number and lucky tiles, on track and towers together
export const MAX_ACTION_TILES = 4;
export const MAX_LAYOUT = MAX_TILES + MAX_ACTION_TILES;
export const GIFT_INTERVAL = 8; // one action tile after every 8 tiles
export const DIE_FACES = 6;
export const MIN_VALUE = -10;
export const MAX_VALUE = 8;
export const MAX_SEED = 2n ** 64n - 1n;

// Actions: 0..2 move the k-th pawn from the rear, 3..10 the g-th guard from the rear, 11..15 choose
// the opponent 1..5 seats to the left.
export const N_ACTIONS = 16;
export const FIRST_GUARD = MAX_PAWNS;
export const FIRST_OPPONENT = FIRST_GUARD + MAX_GUARDS;

export const PHASES = ["roll", "move", "give", "steal", "over"];
export const SCORINGS = ["standard", "expert"];

export class PositionError extends Error {}
export class IllegalMoveError extends Error {}
export class RulesetError extends Error {}

/** A record that is refused; `event` is the index of the impossible one, `line` counts from 1. */
export class RecordError extends Error {
  constructor(reason, { line = null, event = null } = {}) {
    const place = [line === null ? [] : `line ${line}`, event === null ? [] : `event ${event}`];
    super([...place.flat(), reason].join(": "));
    this.reason = reason;
    this.line = line;
    this.event = event;
  }
}

// What is played -------------------------------------------------------------------------------

const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
const MINUS_8 = upTo(8).map((value) => -value);
const MINUS_10 = upTo(10).map((value) => -value);
const PLUS = upTo(8);
const LUCKY_6 = Array(6).fill("lucky");
const STANDARD = [...MINUS_8, ...LUCKY_6, ...PLUS.toReversed(), ...MINUS_10];

/** Tiles of the named layouts, start to finish, without action tiles. */
export const LAYOUTS = Object.freeze({
  shuffled: STANDARD, // the order to shuffle from
  standard: STANDARD,
  variant1: [...MINUS_8, ...PLUS, ...LUCKY_6, ...MINUS_10],
  variant2: [...MINUS_8, ...PLUS, ...MINUS_10, ...LUCKY_6],
});

const BASIC = {
  players: 2,
  pawns: 3,
  layout: "shuffled",
  action_tiles: true,
  guards: false,
  scoring: "standard",
};

/** Name of each preset to the fields in which it differs from the basic game. */
export const PRESETS = Object.freeze({
  basic: {},
  classic: { layout: "standard", guards: true, action_tiles: false },
  expert: { scoring: "expert" },
  full: { guards: true, scoring: "expert" },
});

/** The ruleset of a preset; classic gives 2 pawns with 5 and 6 players. */
export function preset(name, players) {
  if (!Object.hasOwn(PRESETS, name)) throw new RulesetError(`unknown ruleset ${short(name)}`);
  const pawns = name === "classic" && players >= 5 ? 2 : 3;
  return ruleset({ ...PRESETS[name], players, pawns });
}

/**
 * A checked ruleset; fields left out are those of the basic game.
 *
 * Throws RulesetError, which names the field.
 */
export function ruleset(fields) {
  for (const key of Object.keys(fields)) {
    if (!Object.hasOwn(BASIC, key)) throw new RulesetError(`unknown key ${short(key)}`);
  }
  const rules = { ...BASIC, ...fields };
  const need = (fits, key, what) => {
    if (!fits) throw new RulesetError(`${key} must be ${what}, not ${short(rules[key])}`);
  };
  need(isWhole(rules.players, MIN_PLAYERS, MAX_PLAYERS), "players", "2 to 6");
  need(isWhole(rules.pawns, 1, MAX_PAWNS), "pawns", "1 to 3");
  need(typeof rules.action_tiles === "boolean", "action_tiles", "true or false");
  need(typeof rules.guards === "boolean", "guards", "true or false");
  need(SCORINGS.includes(rules.scoring), "scoring", `one of ${SCORINGS.join(", ")}`);
  if (!Array.isArray(rules.layout)) {
    const named = typeof rules.layout === "string" && Object.hasOwn(LAYOUTS, rules.layout);
    need(named, "layout", `one of ${Object.keys(LAYOUTS).join(", ")} or a list`);
    return Object.freeze(rules);
  }
  const actions = rules.layout.filter(isActionTile).length;
  need(rules.layout.every((tile) => isTile(tile) || isActionTile(tile)), "layout", "tiles");
  need(isWhole(rules.layout.length, 1, MAX_LAYOUT), "layout", `1 to ${MAX_LAYOUT} entries`);
  need(actions <= MAX_ACTION_TILES, "layout", `at most ${MAX_ACTION_TILES} action tiles`);
  need(rules.layout.length - actions <= MAX_TILES, "layout", `at most ${MAX_TILES} tiles`);
  return Object.freeze({ ...rules, layout: Object.freeze([...rules.layout]) });
}

// Deals and dice: splitmix64 -------------------------------------------------------------------

const MASK = MAX_SEED;
const GAMMA = 0x9e3779b97f4a7c15n;
const DICE = 0xd1ced1ced1ced1cen;

function mix(z) {
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

/** The k-th number, 0..2^64 - 1, of the stream of `seed`; BigInts but for k. */
export function draw64(seed, k) {
  return mix((seed + BigInt(k + 1) * GAMMA) & MASK);
}

/** The k-th number, 0..n-1, of the stream of `seed` (a BigInt). */
export function draw(seed, k, n) {
  return Number(((draw64(seed, k) >> 32n) * BigInt(n)) >> 32n);
}

/** The k-th roll, from 0, of the game dealt from `seed` (a BigInt): 1..6. */
export function dieOf(seed, k) {
  return 1 + draw(checkSeed(seed) ^ DICE, k, DIE_FACES);
}

/** The opening of the game of `rules` dealt from `seed` (a BigInt). */
export function deal(rules, seed) {
  checkSeed(seed);
  const { players, pawns, guards, scoring } = rules;
  const track = ["start", ...laidOut(rules, seed), "finish"];
  const guarded = track.flatMap((tile, slot) => (["lucky", 7, 8].includes(tile) ? [slot] : []));
  return frozen({
    rules: { players, pawns, guards, scoring },
    track,
    pawns: seats(players).map(() => Array(pawns).fill(0)),
    guards: guards ? guarded.slice(0, MAX_GUARDS) : [],
    towers: seats(players).map(() => []),
    player: 0,
    phase: "roll",
    die: 0,
  });
}

function laidOut(rules, seed) {
  const tiles = [...(Array.isArray(rules.layout) ? rules.layout : LAYOUTS[rules.layout])];
  if (rules.layout === "shuffled") {
    for (let i = tiles.length - 1, k = 0; i > 0; i--, k++) {
      const j = draw(seed, k, i + 1);
      [tiles[i], tiles[j]] = [tiles[j], tiles[i]];
    }
  }
  if (!rules.action_tiles || tiles.some(isActionTile)) return tiles;
  return tiles.flatMap((tile, i) => ((i + 1) % GIFT_INTERVAL === 0 ? [tile, "gift"] : [tile]));
}

function checkSeed(seed) {
  if (typeof seed !== "bigint" || seed < 0n || seed > MAX_SEED) {
    throw new RangeError(`a seed is a BigInt from 0 to 2^64 - 1, not ${short(seed)}`);
  }
  return seed;
}

// A turn ---------------------------------------------------------------------------------------

/** The legal actions, ascending; empty in phases roll and over. */
export function legalActions(position) {
  if (position.phase === "move") return moves(position);
  return partners(position).map((steps) => FIRST_OPPONENT + steps - 1);
}

/** The position after the player rolled `die`. Throws IllegalMoveError. */
export function roll(position, die) {
  if (position.phase !== "roll") throw new IllegalMoveError(`no roll in phase ${position.phase}`);
  if (!isWhole(die, 1, DIE_FACES)) {
    throw new IllegalMoveError(`a die shows 1 to ${DIE_FACES}, not ${short(die)}`);
  }
  return frozen({ ...structuredClone(position), phase: "move", die });
}

/** The position after a legal action, up to the next roll or open choice. Throws IllegalMoveError. */
export function play(position, action) {
  return outcome(position, action).position;
}

/**
 * A legal action carried out, and what it did.
 *
 * Gives `position` as `play` does, and `piece` ("pawn", "guard" or null), `from` and `to` (slots
 * before a gap closes), `takes` (the tile or null), `turns` (the action tile that was up, or null)
 * and `passes` (null, or the tile that went from one seat's tower to another's: {tile, from, to}).
 *
 * Throws IllegalMoveError.
 */
export function outcome(position, action) {
  if (!legalActions(position).includes(action)) {
    const legal = legalActions(position).join(", ");
    throw new IllegalMoveError(`action ${short(action)} is not legal; legal: ${legal || "none"}`);
  }
  const after = structuredClone(position);
  const done = { piece: null, from: null, to: null, takes: null, turns: null, passes: null };
  if (position.phase === "move") {
    move(after, action, done);
  } else {
    done.passes = handOver(after, action - FIRST_OPPONENT + 1);
    endTurn(after);
  }
  return { position: frozen(after), ...done };
}

/** A legal action in words, those of Python's `Position.describe`. Throws IllegalMoveError. */
export function describe(position, action) {
  const { piece, from, to, takes, turns, passes } = outcome(position, action);
  if (position.phase === "give") return `give ${passes.tile} to seat ${passes.to}`;
  if (position.phase === "steal") return `steal ${passes.tile} from seat ${passes.from}`;
  const words = `${piece} from ${from} (${position.track[from]}) to ${to} (${position.track[to]})`;
  if (takes !== null) return `${words}, takes ${takes}`;
  return turns === null ? words : `${words}, turns the ${turns}`;
}

/** Where a piece on `slot` would come to stand with this roll. */
export function landing(position, slot) {
  return Math.min(slot + position.die, finishOf(position));
}

/** Pawns and guards that may move; of equal ones on a tile only the lowest-numbered. */
function moves(position) {
  const finish = finishOf(position);
  const first = (slots) => (slot, i) => slot !== finish && slot !== slots[i - 1];
  const pawns = position.pawns[position.player];
  const legal = [];
  pawns.forEach((slot, pawn) => {
    if (first(pawns)(slot, pawn)) legal.push(pawn);
  });
  position.guards.forEach((slot, guard) => {
    // a guard moves only while a pawn, anyone's, stands on its tile
    if (first(position.guards)(slot, guard) && hasPawn(position, slot)) {
      legal.push(FIRST_GUARD + guard);
    }
  });
  return legal;
}

function move(after, action, done) {
  const isPawn = action < FIRST_GUARD;
  const pieces = isPawn ? after.pawns[after.player] : after.guards;
  const piece = isPawn ? action : action - FIRST_GUARD;
  done.piece = isPawn ? "pawn" : "guard";
  done.from = pieces[piece];
  done.to = landing(after, done.from);
  pieces[piece] = done.to;
  pieces.sort((a, b) => a - b);
  if (isPawn && done.from > 0 && isBare(after, done.from)) {
    leave(after, done);
    if (after.phase !== "move") return; // a choice is left open
  }
  endTurn(after);
}

/** The last piece, a pawn, has left: its mover takes the tile, or turns and carries out its action. */
function leave(after, done) {
  const tile = after.track[done.from];
  if (!isActionTile(tile)) {
    done.takes = tile;
    after.towers[after.player].push(tile);
    closeGap(after, done.from);
    return;
  }
  done.turns = tile;
  after.track[done.from] = tile === "gift" ? "steal" : "gift";
  after.phase = tile === "gift" ? "give" : "steal";
  const choices = partners(after);
  if (choices.length >= 2) return;
  if (choices.length === 1) done.passes = handOver(after, choices[0]);
  after.phase = "move";
}

function closeGap(after, slot) {
  const closed = (slots) => slots.map((other) => (other > slot ? other - 1 : other));
  after.track.splice(slot, 1);
  after.pawns = after.pawns.map(closed);
  after.guards = closed(after.guards);
}

/** Steps to the left, ascending, of the opponents among whom the player may choose now. */
function partners(position) {
  const { phase, player, towers, rules } = position;
  const others = upTo(rules.players - 1);
  const towerOf = (steps) => towers[(player + steps) % rules.players];
  if (phase === "steal") return others.filter((steps) => towerOf(steps).length > 0);
  if (phase !== "give" || towers[player].length === 0) return [];
  // a minus tile goes to the most valuable top, another to the least valuable
  const ranks = others.map((steps) => topRank(towerOf(steps)));
  const wanted = topRank(towers[player]) < 0 ? Math.max(...ranks) : Math.min(...ranks);
  return others.filter((_, i) => ranks[i] === wanted);
}

/** Worth of a tower's top tile for a gift: its value; 0 for a lucky tile and for no tile. */
function topRank(tower) {
  const top = tower.at(-1);
  return typeof top === "number" ? top : 0;
}

/** Gives the player's top tile to the opponent so many steps to the left, or steals theirs. */
function handOver(after, steps) {
  const other = (after.player + steps) % after.rules.players;
  const [from, to] = after.phase === "give" ? [after.player, other] : [other, after.player];
  const tile = after.towers[from].pop();
  after.towers[to].push(tile);
  return { tile, from, to };
}

/** The next player to the left with a pawn on the way is to roll; if none, the game is over. */
function endTurn(after) {
  const { players } = after.rules;
  const round = upTo(players).map((steps) => (after.player + steps) % players);
  const next = round.find((seat) => !isHome(after, seat));
  after.phase = next === undefined ? "over" : "roll";
  after.player = next ?? after.player;
  after.die = 0;
}

const finishOf = (position) => position.track.length - 1;
const hasPawn = (position, slot) => position.pawns.some((pawns) => pawns.includes(slot));
const isBare = (position, slot) => !hasPawn(position, slot) && !position.guards.includes(slot);
const seats = (players) => Array.from({ length: players }, (_, seat) => seat);

/** Whether all pawns of `seat` are on the finish. */
export function isHome(position, seat) {
  return position.pawns[seat].every((slot) => slot === finishOf(position));
}

/** Whether `tile` is a number or lucky tile. */
export function isTile(tile) {
  return tile === "lucky" || (isWhole(tile, MIN_VALUE, MAX_VALUE) && tile !== 0);
}

export function isActionTile(tile) {
  return tile === "gift" || tile === "steal";
}

// Points ---------------------------------------------------------------------------------------

/**
 * What each tile of a tower is worth, bottom to top: [{tile, worth, by}].
 *
 * `by` is the height, from 0, of the lucky tile that turned it, or null; of a lucky tile, the height
 * of the tile that it turned.
 */
export function worths(tower, scoring) {
  const made = tower.map((tile) => ({ tile, worth: tile === "lucky" ? 0 : tile, by: null }));
  const turn = (lucky, height) => {
    made[height].worth = -made[height].worth;
    made[height].by = lucky;
    made[lucky].by = height;
  };
  const luckies = made.flatMap(({ tile }, height) => (tile === "lucky" ? [height] : []));
  if (scoring === "expert") {
    // just the tile directly under it, unless that is another lucky tile
    for (const lucky of luckies) {
      if (lucky > 0 && tower[lucky - 1] !== "lucky") turn(lucky, lucky - 1);
    }
    return made;
  }
  // one minus tile each, always the largest that is still minus
  const minus = made.flatMap(({ tile }, height) => (tile < 0 ? [height] : []));
  minus.sort((a, b) => tower[a] - tower[b]);
  luckies.slice(0, minus.length).forEach((lucky, i) => turn(lucky, minus[i]));
  return made;
}

/** Points of each seat, as if the game ended now. */
export function scores(position) {
  return position.towers.map((tower) =>
    worths(tower, position.rules.scoring).reduce((sum, { worth }) => sum + worth, 0),
  );
}

/** The winning seats, ascending, as if the game ended now: most points, then fewest lucky tiles. */
export function winners(position) {
  const points = scores(position);
  const lucky = position.towers.map((tower) => tower.filter((tile) => tile === "lucky").length);
  const ahead = (a, b) => points[a] > points[b] || (points[a] === points[b] && lucky[a] < lucky[b]);
  const all = seats(position.rules.players);
  return all.filter((seat) => !all.some((other) => ahead(other, seat)));
}

// Reading positions: each check throws PositionError with the place ------------------------------

const KEYS = ["rules", "track", "pawns", "guards", "towers", "player", "phase", "die"];
const RULE_KEYS = ["players", "pawns", "guards", "scoring"];

/**
 * The position of a JSON text or of its parsed object, checked.
 *
 * Throws PositionError, whose message is `position: PLACE: REASON`.
 */
export function readPosition(given) {
  if (typeof given === "string") {
    try {
      given = parse(given);
    } catch (error) {
      throw new PositionError(`position: not JSON: ${error.message}`);
    }
  }
  checkKeys(given, KEYS, "the position");
  checkKeys(given.rules, RULE_KEYS, "rules");
  const players = number(given.rules.players, MIN_PLAYERS, MAX_PLAYERS, "rules.players");
  const pawns = number(given.rules.pawns, 1, MAX_PAWNS, "rules.pawns");
  if (typeof given.rules.guards !== "boolean") {
    fail("rules.guards", `must be true or false, not ${short(given.rules.guards)}`);
  }
  const rules = {
    players,
    pawns,
    guards: given.rules.guards,
    scoring: word(given.rules.scoring, SCORINGS, "rules.scoring"),
  };
  const track = readTrack(given.track);
  const finish = track.length - 1;
  const position = {
    rules,
    track,
    pawns: rows(given.pawns, players, "pawns").map((slots, seat) => {
      if (slots.length !== pawns) {
        fail(`pawns[${seat}]`, `has ${slots.length} pawns, rules.pawns says ${pawns}`);
      }
      return readSlots(slots, finish, `pawns[${seat}]`);
    }),
    guards: readGuards(given.guards, rules.guards, finish),
    towers: readTowers(given.towers, players, track.filter(isTile).length),
    player: number(given.player, 0, players - 1, "player"),
    phase: word(given.phase, PHASES, "phase"),
    die: number(given.die, 0, DIE_FACES, "die"),
  };
  checkPhase(position);
  return frozen(position);
}

/** Whether die and phase fit, and somebody can do what the phase asks. */
function checkPhase(position) {
  const { phase, player, die } = position;
  if (["roll", "over"].includes(phase) !== (die === 0)) {
    fail("die", `${die} does not fit phase ${phase}`);
  }
  if (["roll", "move"].includes(phase) && isHome(position, player)) {
    fail("player", `seat ${player} is to ${phase} but has no unfinished pawn`);
  }
  if (phase === "over" && seats(position.rules.players).some((seat) => !isHome(position, seat))) {
    fail("phase", "over, but a pawn is on the way");
  }
  if (["give", "steal"].includes(phase) && partners(position).length < 2) {
    const choices = partners(position).length;
    fail("phase", `${phase} needs at least two seats to choose from; there are ${choices}`);
  }
}

function readTrack(given) {
  const track = list(given, "track");
  if (track[0] !== "start") fail("track", "must begin with start");
  if (track.at(-1) !== "finish") fail("track", "must end with finish");
  track.forEach((tile, slot) => {
    const place = `track[${slot}]`;
    if (!isTile(tile) && !isActionTile(tile) && tile !== "start" && tile !== "finish") {
      fail(place, `${short(tile)} is not a tile`);
    }
    if (tile === "start" && slot > 0) fail(place, "a second start");
    if (tile === "finish" && slot < track.length - 1) fail(place, "a finish before the end");
  });
  const actions = track.filter(isActionTile).length;
  if (actions > MAX_ACTION_TILES) fail("track", `there are ${actions} action tiles; at most 4`);
  const tiles = track.length - 2 - actions;
  if (tiles > MAX_TILES) fail("track", `there are ${tiles} tiles; at most ${MAX_TILES}`);
  return [...track];
}

function readGuards(given, allowed, finish) {
  const guards = list(given, "guards");
  if (guards.length > 0 && !allowed) fail("guards", "there are some, but rules.guards is false");
  if (guards.length > MAX_GUARDS) fail("guards", `there are ${guards.length}; at most 8`);
  return readSlots(guards, finish, "guards");
}

function readTowers(given, players, onTrack) {
  const towers = rows(given, players, "towers");
  towers.forEach((tower, seat) =>
    tower.forEach((tile, height) => {
      if (!isTile(tile)) fail(`towers[${seat}][${height}]`, `${short(tile)} is no tile for it`);
    }),
  );
  const total = onTrack + towers.flat().length;
  if (total > MAX_TILES) fail("towers", `${total} tiles on track and towers; at most ${MAX_TILES}`);
  return towers.map((tower) => [...tower]);
}

function readSlots(given, finish, place) {
  const slots = given.map((slot, i) => number(slot, 0, finish, `${place}[${i}]`));
  if (slots.some((slot, i) => slot < slots[i - 1])) fail(place, `${slots} is not ascending`);
  return slots;
}

function fail(place, reason) {
  throw new PositionError(`position: ${place}: ${reason}`);
}

function checkKeys(given, keys, place) {
  if (!isObject(given)) fail(place, `must be an object with the keys ${keys.join(", ")}`);
  for (const key of Object.keys(given)) {
    if (!keys.includes(key)) fail(place, `unknown key ${short(key)}`);
  }
  for (const key of keys) {
    if (!Object.hasOwn(given, key)) fail(place, `the key ${key} is missing`);
  }
}

function number(given, low, high, place) {
  if (!Number.isInteger(given) && typeof given !== "bigint") {
    fail(place, `must be a whole number, not ${short(given)}`);
  }
  if (!isWhole(given, low, high)) fail(place, `must be ${low} to ${high}, not ${short(given)}`);
  return given + 0; // -0 becomes 0
}

function word(given, words, place) {
  if (!words.includes(given)) fail(place, `must be one of ${words.join(", ")}, not ${short(given)}`);
  return given;
}

function list(given, place) {
  if (!Array.isArray(given)) fail(place, `must be a list, not ${short(given)}`);
  return given;
}

function rows(given, players, place) {
  const entries = list(given, place);
  if (entries.length !== players) {
    fail(place, `has ${entries.length} entries, rules.players says ${players}`);
  }
  return entries.map((row, seat) => list(row, `${place}[${seat}]`));
}

// Games on paper -------------------------------------------------------------------------------

const VERSION = 1;
const RECORD_KEYS = ["version", "opening", "events", "scores", "winners", "meta"];

/** A game from its opening to where it now stands; `meta` holds anything worth keeping. */
export class Game {
  #positions;
  #events = [];

  /** `events` are ["roll", die] and ["play", action]; throws RecordError at an impossible one. */
  constructor(opening, events = [], meta = {}) {
    this.meta = meta;
    this.#positions = [opening];
    events.forEach((event, index) => {
      try {
        this.#enter(event);
      } catch (error) {
        if (!(error instanceof IllegalMoveError || error instanceof RecordError)) throw error;
        throw new RecordError(error.message, { event: index });
      }
    });
  }

  /** The game of `rules` dealt from `seed` (a BigInt); meta gets `ruleset` and `seed`. */
  static deal(rules, seed, meta = {}) {
    return new Game(deal(rules, seed), [], { ...meta, ruleset: { ...rules }, seed });
  }

  get opening() {
    return this.#positions[0];
  }

  /** After the last event. */
  get position() {
    return this.#positions.at(-1);
  }

  /** The opening, then the position after each event. */
  get positions() {
    return [...this.#positions];
  }

  get events() {
    return this.#events.map((event) => [...event]);
  }

  /** Points of each seat at the end; null while unfinished. */
  get scores() {
    return this.position.phase === "over" ? scores(this.position) : null;
  }

  /** The winning seats; null while unfinished. */
  get winners() {
    return this.position.phase === "over" ? winners(this.position) : null;
  }

  roll(die) {
    this.#positions.push(roll(this.position, die));
    this.#events.push(["roll", die]);
  }

  play(action) {
    this.#positions.push(play(this.position, action));
    this.#events.push(["play", action]);
  }

  /** Take back all but the first `n` events. */
  rewind(n) {
    this.#events.length = Math.min(n, this.#events.length);
    this.#positions.length = this.#events.length + 1;
  }

  #enter(event) {
    const fits = Array.isArray(event) && event.length === 2 && ["roll", "play"].includes(event[0]);
    if (!fits) throw new RecordError(`must be ["roll", die] or ["play", action], not ${short(event)}`);
    if (event[0] === "roll") this.roll(event[1]);
    else this.play(event[1]);
  }

  /** The JSON of the rule page, one line; BigInts in `meta` become numbers. */
  toText() {
    const { opening, events, scores, winners, meta } = this;
    return write({ version: VERSION, opening, events, scores, winners, meta });
  }

  /** The game of one line; throws RecordError. */
  static fromText(text, line = null) {
    try {
      return readRecord(text);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      throw new RecordError(error.reason, { line, event: error.event });
    }
  }
}

/** The games of a record file's text, one per line; blank lines are skipped. Throws RecordError. */
export function readGames(text) {
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  return lines.flatMap((line, i) => (line.trim() === "" ? [] : [Game.fromText(line, i + 1)]));
}

function readRecord(text) {
  let record;
  try {
    record = parse(text);
  } catch (error) {
    throw new RecordError(`not JSON: ${error.message}`);
  }
  const refuse = (reason) => {
    throw new RecordError(reason);
  };
  if (!isObject(record)) refuse(`must be an object with the keys ${RECORD_KEYS.join(", ")}`);
  // first: a later version may have other keys
  if (Object.hasOwn(record, "version") && record.version !== VERSION) {
    refuse(`version: must be ${VERSION}, not ${short(record.version)}`);
  }
  for (const key of Object.keys(record)) {
    if (!RECORD_KEYS.includes(key)) refuse(`unknown key ${short(key)}`);
  }
  for (const key of RECORD_KEYS) {
    if (!Object.hasOwn(record, key)) refuse(`the key ${key} is missing`);
  }
  for (const key of ["opening", "meta"]) {
    if (!isObject(record[key])) refuse(`${key}: must be an object, not ${short(record[key])}`);
  }
  if (!Array.isArray(record.events)) refuse(`events: must be a list, not ${short(record.events)}`);
  let opening;
  try {
    opening = readPosition(record.opening);
  } catch (error) {
    if (!(error instanceof PositionError)) throw error;
    refuse(`opening: ${error.message}`);
  }
  const game = new Game(opening, record.events, record.meta);
  for (const key of ["scores", "winners"]) {
    if (write(record[key]) !== write(game[key])) {
      refuse(`${key}: must be ${write(game[key])} by the rules, not ${short(record[key])}`);
    }
  }
  return game;
}

// JSON, to the digit -----------------------------------------------------------------------------
// JSON.parse would round large whole numbers, as seeds are, and cannot tell 3.0 from 3.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = "\u0000"; // which no string of a JSON text has unescaped

/**
 * A JSON text as values: whole numbers beyond 2^53 as BigInts, 3.0 as a Number object, which is no
 * whole number to the checks here. Throws SyntaxError.
 */
export function parse(text) {
  const marked = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || Number.isSafeInteger(Number(token)) === /^-?\d+$/.test(token)) {
      return token;
    }
    return JSON.stringify(MARK + token);
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== "string" || value[0] !== MARK) return value;
    const token = value.slice(1);
    if (/^-?\d+$/.test(token)) return BigInt(token);
    return new Number(token);
  });
}

function write(value) {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Number) return `${value}.0`;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}:${write(part)}`);
  return `{${entries.join(",")}}`;
}

// Small things -----------------------------------------------------------------------------------

function isWhole(value, low, high) {
  return Number.isInteger(value) && value >= low && value <= high;
}

function isObject(value) {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** A value for a message, never long. */
function short(value) {
  const text = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? String(value));
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

function frozen(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}
