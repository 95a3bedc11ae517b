// web/rules.js against what Python wrote: `tests/test_javascript.py` makes the files and runs this.
// They lie in the folder THATSLIFE_FROM_PYTHON: games.txt (games in the format of the golden
// playthroughs, one after the other), positions.jsonl ({text, place}: place of the refusal, or null),
// records.jsonl (a record file), bad_records.jsonl ({text, event}) and decisions.jsonl ({position,
// greedy: its actions, seed, n: decisions before, plays: what random and greedy play). What this writes for Python
// to read goes to written.jsonl.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { decisionKey, greedy, greedyActions, random } from "../../web/players.js";
import * as rules from "../../web/rules.js";

const FROM_PYTHON = process.env.THATSLIFE_FROM_PYTHON;
assert.ok(FROM_PYTHON, "run by tests/test_javascript.py, which sets THATSLIFE_FROM_PYTHON");
const GOLDEN = new URL("../golden/", import.meta.url).pathname;

const linesOf = (file) => readFileSync(file, "utf8").trimEnd().split("\n");
const fromPython = (name) => linesOf(join(FROM_PYTHON, name));

/** Replays one playthrough, comparing every line; returns how many rolls and plays it had. */
function replay(lines, name) {
  assert.equal(lines[0], "golden 1", name);
  const ruleset = rules.ruleset(JSON.parse(lines[1].slice("ruleset ".length)));
  const seed = BigInt(lines[2].slice("seed ".length));
  let position = rules.deal(ruleset, seed);
  let rolls = 0;
  let plays = 0;
  const shown = {
    position: () => position,
    legal: () => rules.legalActions(position),
    scores: () => rules.scores(position),
    end: () => rules.scores(position),
    winners: () => rules.winners(position),
  };
  lines.slice(3).forEach((line, i) => {
    const where = `${name}, line ${i + 4}: ${line}`;
    const space = line.indexOf(" ");
    const [keyword, rest] = [line.slice(0, space), line.slice(space + 1)];
    if (keyword === "roll") {
      const die = rules.dieOf(seed, rolls++);
      assert.equal(String(die), rest, where);
      const rolled = rules.roll(position, die);
      assert.deepEqual(rolled, { ...position, phase: "move", die }, where);
      position = rolled;
    } else if (keyword === "play") {
      const action = parseInt(rest, 10);
      assert.equal(`${action} ${rules.describe(position, action)}`, rest, where);
      position = rules.play(position, action);
      plays++;
    } else {
      assert.equal(JSON.stringify(shown[keyword]()), rest, where);
    }
    if (keyword === "position") {
      assert.equal(JSON.stringify(rules.readPosition(rest)), rest, where);
    }
  });
  assert.equal(position.phase, "over", `${name}: not a whole game`);
  return rolls + plays;
}

test("every golden playthrough", () => {
  const files = readdirSync(GOLDEN).filter((file) => file.endsWith(".txt"));
  assert.ok(files.length >= 40, `${files.length} files in ${GOLDEN}`);
  for (const file of files) assert.ok(replay(linesOf(join(GOLDEN, file)), file) > 0);
});

test("thousands of games of Python", () => {
  const lines = fromPython("games.txt");
  const begins = lines.flatMap((line, i) => (line === "golden 1" ? [i] : []));
  assert.ok(begins.length >= 2000, `${begins.length} games`);
  begins.forEach((begin, i) => replay(lines.slice(begin, begins[i + 1]), `game ${i}`));
});

test("deals and dice printed on the rule page", () => {
  const printed = [
    [0n, "-8 8 -4 -2 -2 6 -4 -7 -9 L 2 5 4 -6 L -8 -1 L -3 L 7 -5 1 -6 3 -5 L -3 -10 -1 L -7", "2 3 5 4 2 2 1 6 5 2 3 4"],
    [7n, "-6 5 L L 1 -9 -5 -8 -4 -2 -2 L 3 -3 -5 8 -1 7 -7 4 2 -3 L -4 L -8 -7 -10 6 -6 -1 L", "6 2 5 1 4 6 6 6 2 4 5 1"],
    [rules.MAX_SEED, "L 7 -6 5 8 -9 L L L -2 -8 -5 -6 -2 -3 -4 L -4 2 1 6 -5 -1 4 -8 -3 -1 3 L -7 -10 -7", "1 2 3 6 3 2 3 4 2 3 4 5"],
  ];
  for (const [seed, tiles, rolls] of printed) {
    const { track } = rules.deal(rules.ruleset({ action_tiles: false }), seed);
    const shown = track.slice(1, -1).map((tile) => (tile === "lucky" ? "L" : tile));
    assert.equal(shown.join(" "), tiles);
    assert.equal(Array.from({ length: 12 }, (_, k) => rules.dieOf(seed, k)).join(" "), rolls);
  }
  for (const seed of [-1n, rules.MAX_SEED + 1n, 7, "7"]) {
    assert.throws(() => rules.deal(rules.preset("basic", 2), seed), RangeError);
    assert.throws(() => rules.dieOf(seed, 0), RangeError);
  }
});

test("positions are refused where Python refuses them, for the same place", () => {
  const cases = fromPython("positions.jsonl").map((line) => JSON.parse(line));
  let refused = 0;
  for (const { text, place } of cases) {
    let found = null;
    try {
      rules.readPosition(text);
    } catch (error) {
      assert.ok(error instanceof rules.PositionError, `${text}: ${error.stack}`);
      assert.ok(error.message.length < 300, error.message);
      found = error.message.split(": ")[1];
      refused++;
    }
    assert.equal(found, place, text);
  }
  assert.ok(refused >= 4000 && cases.length - refused >= 500, `${refused} of ${cases.length}`);
});

test("a tower worked out tile by tile, as on the rule page", () => {
  const sum = (tower, scoring) =>
    rules.worths(tower, scoring).reduce((total, { worth }) => total + worth, 0);
  const L = "lucky";
  assert.equal(sum([-1, -2, -3, -4, -5, -6, -7, -8, L, L, 2, 3, 4, 8], "standard"), 11);
  assert.equal(sum([-9, L], "expert"), 9);
  assert.equal(sum([5, L], "expert"), -5);
  assert.equal(sum([-9, L, L], "expert"), 9);
  assert.equal(sum([L, -9], "expert"), -9);
  assert.deepEqual(rules.worths([-2, L, -7, 3], "standard"), [
    { tile: -2, worth: -2, by: null },
    { tile: L, worth: 0, by: 2 },
    { tile: -7, worth: 7, by: 1 },
    { tile: 3, worth: 3, by: null },
  ]);
});

test("what cannot be played is refused, and nothing changes", () => {
  const opening = rules.deal(rules.preset("full", 3), 5n);
  const before = JSON.stringify(opening);
  for (const die of [0, 7, 1.5, "1", true, null, undefined, 1n]) {
    assert.throws(() => rules.roll(opening, die), rules.IllegalMoveError);
  }
  const rolled = rules.roll(opening, 3);
  assert.throws(() => rules.roll(rolled, 3), rules.IllegalMoveError);
  for (const action of [-1, 1, 2, 11, 16, "0", null, 0.5]) {
    assert.throws(() => rules.play(rolled, action), rules.IllegalMoveError);
  }
  assert.throws(() => rules.play(opening, 0), rules.IllegalMoveError);
  assert.throws(() => (rolled.pawns[0][0] = 3), TypeError);
  assert.equal(JSON.stringify(opening), before);
});

test("rulesets", () => {
  assert.deepEqual(rules.preset("classic", 5), {
    players: 5,
    pawns: 2,
    layout: "standard",
    action_tiles: false,
    guards: true,
    scoring: "standard",
  });
  assert.equal(rules.preset("classic", 4).pawns, 3);
  const bad = [
    [{ players: 1 }, "players"],
    [{ players: "2" }, "players"],
    [{ pawns: 4 }, "pawns"],
    [{ guards: 1 }, "guards"],
    [{ action_tiles: null }, "action_tiles"],
    [{ scoring: "Expert" }, "scoring"],
    [{ layout: "toString" }, "layout"],
    [{ layout: [] }, "layout"],
    [{ layout: [0] }, "layout"],
    [{ layout: ["start"] }, "layout"],
    [{ layout: Array(33).fill(1) }, "layout"],
    [{ layout: Array(5).fill("gift") }, "layout"],
    [{ board: 1 }, "board"],
  ];
  for (const [fields, named] of bad) {
    assert.throws(
      () => rules.ruleset(fields),
      (error) => error instanceof rules.RulesetError && error.message.includes(named),
    );
  }
  assert.throws(() => rules.preset("toString", 2), rules.RulesetError);
});

test("records of Python are read, and written as they were", () => {
  const lines = fromPython("records.jsonl");
  const games = rules.readGames(lines.join("\n\n"));
  assert.equal(games.length, lines.length);
  games.forEach((game, i) => assert.equal(game.toText(), lines[i]));
});

test("records that Python refuses are refused, at the same event", () => {
  for (const line of fromPython("bad_records.jsonl")) {
    const { text, event } = JSON.parse(line);
    assert.throws(
      () => rules.readGames(`\n${text}`),
      (error) => error instanceof rules.RecordError && error.event === event && error.line === 2,
      text,
    );
  }
});

test("records written here, for Python to read", () => {
  const written = [];
  for (let number = 0; number < 60; number++) {
    const name = Object.keys(rules.PRESETS)[number % 4];
    const seed = number % 2 ? rules.MAX_SEED - BigInt(number) : BigInt(number);
    const game = rules.Game.deal(rules.preset(name, 2 + (number % 5)), seed, { names: ["Zoë"] });
    const last = number < 40 ? Infinity : number; // the rest stay unfinished
    for (let k = 0, rolls = 0; game.position.phase !== "over" && k < last; k++) {
      const legal = rules.legalActions(game.position);
      if (game.position.phase === "roll") game.roll(rules.dieOf(seed, rolls++));
      else game.play(legal[rules.draw(seed, 1000 + k, legal.length)]);
    }
    written.push(game.toText());
  }
  writeFileSync(join(FROM_PYTHON, "written.jsonl"), `${written.join("\n")}\n`);
});

test("random and greedy play as in Python, choice by choice", async () => {
  const cases = fromPython("decisions.jsonl").map(rules.parse);
  assert.ok(cases.length >= 1000);
  for (const { position: text, greedy: wanted, seed, n, plays } of cases) {
    const position = rules.readPosition(text);
    const key = decisionKey(BigInt(seed), n);
    assert.deepEqual(greedyActions(position), wanted, text);
    assert.deepEqual([await random(position, key), await greedy(position, key)], plays, text);
  }
});

test("taking back", () => {
  const game = rules.Game.deal(rules.preset("full", 4), 3n);
  for (let k = 0; k < 10; k++) {
    game.roll(rules.dieOf(3n, k));
    while (rules.legalActions(game.position).length) game.play(rules.legalActions(game.position)[0]);
  }
  const { events, positions } = game;
  game.rewind(7);
  assert.deepEqual(game.events, events.slice(0, 7));
  assert.deepEqual(game.position, positions[7]);
  assert.deepEqual(new rules.Game(game.opening, events).position, positions.at(-1));
  game.rewind(0);
  assert.deepEqual(game.position, game.opening);
});
