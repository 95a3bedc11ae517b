// Checks value.onnx of a bundle as a frontend with its own rules would: node value_check.mjs GAMES
// GAMES has a line {position, chances, action} for each decision of games that Python played: the
// win chance after each legal action, and the action. `rules.js` is that of the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-web";
import { VECTOR, encode } from "./encode.js";
import { legalActions, play } from "./rules.js";

const lines = (file) => readFileSync(file, "utf8").trim().split("\n").map(JSON.parse);
const manifest = JSON.parse(readFileSync("manifest.json", "utf8"));
const { inputs, outputs, max_players: maxPlayers } = manifest.models["value.onnx"];

ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(readFileSync("value.onnx"));
assert.deepEqual(session.inputNames, inputs.map(({ name }) => name));
assert.deepEqual(session.outputNames, outputs.map(({ name }) => name));

/** The win shares of every seat, six numbers for each position. */
async function ask(positions) {
  const data = new Int32Array(positions.length * VECTOR.size);
  positions.forEach((position, row) => data.set(encode(position), row * VECTOR.size));
  const tensor = new ort.Tensor("int32", data, [positions.length, VECTOR.size]);
  const { win_shares: shares } = await session.run({ position: tensor });
  assert.ok(shares.data instanceof Float32Array);
  assert.deepEqual([...shares.dims], [positions.length, 6]);
  return positions.map((_, row) => [...shares.data.slice(row * 6, row * 6 + 6)]);
}

// Every line of the conformance file
const expected = lines("conformance.jsonl");
for (let begin = 0; begin < expected.length; begin += 64) {
  const part = expected.slice(begin, begin + 64);
  for (const [row, shares] of (await ask(part.map(({ position }) => position))).entries()) {
    const { position, win_shares: wanted } = part[row];
    const { players } = position.rules;
    shares.forEach((share, seat) => {
      assert.ok(Math.abs(share - wanted[seat]) < 1e-5, `${shares} ${wanted}`);
      if (seat >= players || players > maxPlayers) assert.equal(share, 0);
    });
  }
}

// Whole games: the win chance of each move, and the move
let differing = 0;
const decisions = lines(process.argv[2]);
for (const { position, chances, action } of decisions) {
  const own = [];
  for (const each of legalActions(position)) {
    const after = play(position, each);
    const isOpen = ["give", "steal"].includes(after.phase);
    const ends = isOpen ? legalActions(after).map((choice) => play(after, choice)) : [after];
    own.push(Math.max(...(await ask(ends)).map((shares) => shares[position.player])));
  }
  assert.equal(own.length, chances.length);
  own.forEach((chance, i) => assert.ok(Math.abs(chance - chances[i]) < 1e-4, `${own} ${chances}`));
  const best = legalActions(position)[own.indexOf(Math.max(...own))];
  if (best !== action) {
    differing += 1; // only where two moves are as good
    const of = (one) => own[legalActions(position).indexOf(one)];
    assert.ok(of(best) - of(action) < 1e-5);
  }
}
assert.ok(differing < decisions.length / 100);
console.log(JSON.stringify({ lines: expected.length, decisions: decisions.length }));
