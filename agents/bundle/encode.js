// The JSON of a position to the vector that the models take in, and back. No dependencies.
//
//   import { encode } from "./encode.js";
//   const tensor = new ort.Tensor("int32", encode(position), [1, 263]);

/** The layout of the vector, as in manifest.json. */
export const VECTOR = Object.freeze(@VECTOR@);

const ROWS = Object.fromEntries(VECTOR.rows.map((row) => [row.name, row]));
const TILES = new Map(Object.entries(VECTOR.tiles));
const NAMES = new Map(Object.entries(VECTOR.tiles).map(([name, code]) => [code, name]));
const [SEATS, PAWNS] = ROWS.pawns.shape;
const [GUARDS] = ROWS.guards.shape;
const HEIGHT = ROWS.towers.shape[1]; // also the most tiles on track and towers together
const ACTION_TILES = ROWS.track.shape[0] - 2 - HEIGHT;
const KEYS = ["rules", "track", "pawns", "guards", "towers", "player", "phase", "die"];
const RULE_KEYS = ["players", "pawns", "guards", "scoring"];

/** A position that is refused; the message names the place and what is wrong there. */
export class PositionError extends Error {
  constructor(place, reason) {
    super(`${place}: ${reason}`);
    this.name = "PositionError";
  }
}

/**
 * The vector of a position.
 * @param {object} position the parsed JSON object
 * @returns {Int32Array} of VECTOR.size numbers
 * @throws {PositionError} if it is refused
 */
export function encode(position) {
  checkKeys(position, KEYS, "position");
  const rules = position.rules;
  checkKeys(rules, RULE_KEYS, "rules");
  const players = number(rules.players, 2, SEATS, "rules.players");
  const pawnsEach = number(rules.pawns, 1, PAWNS, "rules.pawns");
  if (typeof rules.guards !== "boolean") fail("rules.guards", "must be true or false");
  const scoring = word(rules.scoring, VECTOR.scorings, "rules.scoring");

  const track = trackOf(position.track);
  const finish = track.length - 1;

  const pawns = rowsOf(position.pawns, players, "pawns").map((slots, seat) => {
    if (slots.length !== pawnsEach) {
      fail(`pawns[${seat}]`, `must have ${pawnsEach} pawns, as rules.pawns says`);
    }
    return slotsOf(slots, finish, `pawns[${seat}]`);
  });

  if (list(position.guards, "guards").length > 0 && !rules.guards) {
    fail("guards", "there are guards, but rules.guards is false");
  }
  if (position.guards.length > GUARDS) fail("guards", `at most ${GUARDS} are allowed`);
  const guards = slotsOf(position.guards, finish, "guards");

  const towers = rowsOf(position.towers, players, "towers").map((tower, seat) =>
    Array.from(tower, (face, level) => {
      const code = codeOf(face, `towers[${seat}][${level}]`);
      if (!isTile(code)) fail(`towers[${seat}][${level}]`, "must be a number or lucky tile");
      return code;
    }),
  );
  if (towers.reduce((sum, tower) => sum + tower.length, count(track, isTile)) > HEIGHT) {
    fail("towers", `more than ${HEIGHT} tiles on track and towers`);
  }

  const player = number(position.player, 0, players - 1, "player");
  const phase = word(position.phase, VECTOR.phases, "phase");
  const name = position.phase;
  const die = number(position.die, 0, 6, "die");
  if ((name === "roll" || name === "over") !== (die === 0)) {
    fail("die", `${die} does not fit phase ${name}`);
  }
  if ((name === "roll" || name === "move") && pawns[player][0] === finish) {
    fail("player", `seat ${player} is to ${name} but has no unfinished pawn`);
  }
  if (name === "over" && pawns.some((slots) => slots[0] < finish)) {
    fail("phase", "over, but a pawn is on the way");
  }
  if ((name === "give" || name === "steal") && nChoices(towers, player, name) < 2) {
    fail("phase", `${name} needs at least two seats to choose from`);
  }

  const filled = {
    players: [players],
    pawns_each: [pawnsEach],
    with_guards: [rules.guards ? 1 : 0],
    scoring: [scoring],
    player: [player],
    phase: [phase],
    die: [die],
    track,
    pawns: table(pawns, PAWNS, VECTOR.nowhere),
    guards,
    towers: table(towers, HEIGHT, VECTOR.no_tile),
  };
  const vector = new Int32Array(VECTOR.size);
  for (const row of VECTOR.rows) {
    const size = row.shape.reduce((a, b) => a * b);
    const empty = row.name === "track" ? VECTOR.no_tile : VECTOR.nowhere;
    vector.set(padded(filled[row.name], size, empty), row.start);
  }
  return vector;
}

/** The JSON object of a vector that `encode` made. */
export function decode(vector) {
  const part = (name, index = 0) => {
    const { shape, start } = ROWS[name];
    const width = shape[shape.length - 1];
    return Array.from(vector.slice(start + index * width, start + (index + 1) * width), Number);
  };
  const faces = (codes) =>
    codes.filter((code) => code !== VECTOR.no_tile).map((code) => NAMES.get(code) ?? code);
  const [players] = part("players");
  const [pawnsEach] = part("pawns_each");
  const seats = Array.from({ length: players }, (_, seat) => seat);
  return {
    rules: {
      players,
      pawns: pawnsEach,
      guards: part("with_guards")[0] === 1,
      scoring: VECTOR.scorings[part("scoring")[0]],
    },
    track: faces(part("track")),
    pawns: seats.map((seat) => part("pawns", seat).slice(0, pawnsEach)),
    guards: part("guards").filter((slot) => slot !== VECTOR.nowhere),
    towers: seats.map((seat) => faces(part("towers", seat))),
    player: part("player")[0],
    phase: VECTOR.phases[part("phase")[0]],
    die: part("die")[0],
  };
}

function fail(place, reason) {
  throw new PositionError(place, reason);
}

function checkKeys(given, keys, place) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    fail(place, `must be an object with the keys ${keys.join(", ")}`);
  }
  for (const key of Object.keys(given)) {
    if (!keys.includes(key)) fail(place, `unknown key ${key}; there are: ${keys.join(", ")}`);
  }
  for (const key of keys) {
    if (!Object.hasOwn(given, key)) fail(place, `the key ${key} is missing`);
  }
}

function number(given, low, high, place) {
  if (!Number.isInteger(given) || given < low || given > high) {
    fail(place, `must be a whole number from ${low} to ${high}`);
  }
  return given;
}

function word(given, words, place) {
  if (typeof given !== "string" || !words.includes(given)) {
    fail(place, `must be one of ${words.join(", ")}`);
  }
  return words.indexOf(given);
}

function list(given, place) {
  if (!Array.isArray(given)) fail(place, "must be a list");
  return given;
}

function rowsOf(given, players, place) {
  if (list(given, place).length !== players) {
    fail(place, `must have ${players} entries, as rules.players says`);
  }
  return Array.from(given, (row, seat) => list(row, `${place}[${seat}]`));
}

function slotsOf(given, finish, place) {
  const slots = Array.from(given, (slot, i) => number(slot, 0, finish, `${place}[${i}]`));
  if (slots.some((slot, i) => i > 0 && slot < slots[i - 1])) {
    fail(place, "must be in ascending order");
  }
  return slots;
}

function codeOf(face, place) {
  if (typeof face === "string" && TILES.has(face)) return TILES.get(face);
  if (number(face, -10, 8, place) === 0) {
    fail(place, "must be a number tile, which is never 0, or the name of a tile");
  }
  return face;
}

function isTile(code) {
  return code <= 8;
}

function count(values, test) {
  return values.filter(test).length;
}

function trackOf(given) {
  const codes = Array.from(list(given, "track"), (face, slot) => codeOf(face, `track[${slot}]`));
  const start = TILES.get("start");
  const finish = TILES.get("finish");
  if (codes.length < 2 || codes[0] !== start || codes[codes.length - 1] !== finish) {
    fail("track", "must begin with start and end with finish");
  }
  const second = codes.findIndex(
    (code, slot) => slot > 0 && slot < codes.length - 1 && (code === start || code === finish),
  );
  if (second >= 0) fail(`track[${second}]`, "a second start or finish");
  const isAction = (code) => code === TILES.get("gift") || code === TILES.get("steal");
  if (count(codes, isAction) > ACTION_TILES) {
    fail("track", `more than ${ACTION_TILES} action tiles`);
  }
  if (count(codes, isTile) > HEIGHT) fail("track", `more than ${HEIGHT} tiles`);
  return codes;
}

/** How many seats a tile could be given to, or stolen from. */
function nChoices(towers, player, phase) {
  const others = towers.filter((_, seat) => seat !== player);
  if (phase === "steal") return count(others, (tower) => tower.length > 0);
  const own = towers[player];
  if (own.length === 0) return 0;
  const tops = others.map((tower) => (tower.length > 0 ? tower[tower.length - 1] : 0));
  const best = own[own.length - 1] < 0 ? Math.max(...tops) : Math.min(...tops);
  return count(tops, (top) => top === best);
}

function padded(numbers, length, empty) {
  return [...numbers, ...new Array(length - numbers.length).fill(empty)];
}

function table(rows, width, empty) {
  const all = [...rows, ...new Array(SEATS - rows.length).fill([])];
  return all.flatMap((row) => padded(row, width, empty));
}
