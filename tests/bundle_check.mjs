// Checks a bundle as a port in another language would: node bundle_check.mjs BUNDLE GAMES
// GAMES has a line [position, action] for each decision of games that Python played.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [bundle, games] = process.argv.slice(2);
const ort = await import("onnxruntime-web");
const { encode, decode, PositionError, VECTOR } = await import(
  pathToFileURL(join(bundle, "encode.js"))
);
const lines = (file) => readFileSync(file, "utf8").trim().split("\n").map(JSON.parse);
const manifest = JSON.parse(readFileSync(join(bundle, "manifest.json"), "utf8"));
const expected = lines(join(bundle, "conformance.jsonl"));

ort.env.wasm.numThreads = 1;
const begun = performance.now();
const bytes = new Uint8Array(readFileSync(join(bundle, "policy.onnx")));
const session = await ort.InferenceSession.create(bytes);
const loading = performance.now() - begun;

const run = (vectors) => {
  const data = new Int32Array(vectors.length * VECTOR.size);
  vectors.forEach((vector, row) => data.set(vector, row * VECTOR.size));
  return session.run({ position: new ort.Tensor("int32", data, [vectors.length, VECTOR.size]) });
};
const best = (shares) => shares.indexOf(Math.max(...shares));

// What the manifest says
assert.deepEqual(VECTOR, manifest.vector);
const { inputs, outputs } = manifest.models["policy.onnx"];
assert.deepEqual(session.inputNames, inputs.map(({ name }) => name));
assert.deepEqual(session.outputNames, outputs.map(({ name }) => name));

// Every line of the conformance file
assert.equal(expected.length, manifest.conformance.lines);
const sizes = [1, 2, 7, 64];
for (let begin = 0, k = 0; begin < expected.length; k += 1) {
  const part = expected.slice(begin, begin + sizes[k % sizes.length]);
  begin += part.length;
  const vectors = part.map(({ position }) => encode(position));
  const { policy, value } = await run(vectors);
  assert.ok(policy.data instanceof Float32Array && value.data instanceof Float32Array);
  assert.deepEqual([...policy.dims, ...value.dims], [part.length, 16, part.length]);
  part.forEach((line, row) => {
    assert.deepEqual([...vectors[row]], line.vector);
    assert.deepEqual(decode(vectors[row]), line.position);
    const shares = policy.data.slice(row * 16, row * 16 + 16);
    line.policy.forEach((share, action) => {
      assert.ok(Math.abs(shares[action] - share) < 1e-5, `${shares} ${line.policy}`);
      assert.equal(shares[action] > 0, line.mask[action] === 1);
    });
    assert.ok(Math.abs(value.data[row] - line.value) < 1e-5);
  });
}

// Whole games: the same moves, as plain numbers
let differing = 0;
const decisions = lines(games);
const started = performance.now();
for (const [position, action] of decisions) {
  const { policy } = await run([encode(position)]);
  const move = best(policy.data);
  assert.ok(Number.isInteger(move) && policy.data[move] > 0);
  if (move !== action) {
    differing += 1; // only where two moves are as good
    assert.ok(policy.data[move] - policy.data[action] < 1e-5);
  }
}
assert.ok(differing < decisions.length / 100);
const each = (performance.now() - started) / decisions.length;

// What is wrong is named
const [{ position }] = expected;
for (const [change, place] of [
  [{ die: 7 }, "die"],
  [{ phase: "rol" }, "phase"],
  [{ track: ["start", 9, "finish"] }, "track[1]"],
  [{ towers: [] }, "towers"],
  [{ extra: 1 }, "position"],
]) {
  assert.throws(
    () => encode({ ...position, ...change }),
    (error) => error instanceof PositionError && error.message.startsWith(`${place}: `),
  );
}
for (const [feed, reason] of [
  [{ positions: new ort.Tensor("int32", new Int32Array(263), [1, 263]) }, /position/],
  [{ position: new ort.Tensor("float32", new Float32Array(263), [1, 263]) }, /data type|int32/i],
  [{ position: new ort.Tensor("int32", new Int32Array(262), [1, 262]) }, /262/],
]) {
  await assert.rejects(session.run(feed), reason);
}

console.log(JSON.stringify({ lines: expected.length, decisions: decisions.length, loading, each }));
