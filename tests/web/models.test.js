// Trained players in the page, in headless Chromium. `tests/test_browser.py` runs this; the bundle
// of `python -m agents.export` that is played is the folder THATSLIFE_BUNDLE.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import * as rules from "../../web/rules.js";
import { Site, playOn, start, temporaryFolder } from "./site.js";

const BUNDLE = process.env.THATSLIFE_BUNDLE;
assert.ok(BUNDLE, "run by tests/test_browser.py, which sets THATSLIFE_BUNDLE");
const MANIFEST = JSON.parse(readFileSync(join(BUNDLE, "manifest.json"), "utf8"));
const HAS_VALUE = "value.onnx" in MANIFEST.models;
const KIND = `${HAS_VALUE ? "value" : "policy"}:tiny`;

/** A folder to lay over the page's own, with the bundle under the name `tiny`; `change` spoils it. */
function overlay(t, change = () => {}) {
  const folder = temporaryFolder(t);
  const models = join(folder, "models");
  mkdirSync(models);
  cpSync(BUNDLE, join(models, "tiny"), { recursive: true });
  writeFileSync(join(models, "models.json"), '["tiny"]');
  change(join(models, "tiny"), folder);
  return folder;
}

describe("trained players", { concurrency: false }, () => {
  const open = async (t, options) => {
    const site = await Site.open(options);
    t.after(() => site.close());
    return site;
  };

  for (const headers of [{}, { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" }]) {
    const isolated = Object.keys(headers).length > 0;
    test(`whole games in 2, 4 and 6 seats, ${isolated ? "cross-origin isolated" : "not isolated"}`, async (t) => {
      const site = await open(t, { overlay: overlay(t), headers });
      for (const [preset, n] of isolated ? [["basic", 2]] : [["basic", 2], ["full", 4], ["classic", 6]]) {
        const page = await site.page();
        assert.equal(await page.evaluate(() => self.crossOriginIsolated), isolated);
        const kinds = Array.from({ length: n }, (_, seat) => (seat % 2 ? KIND : "human"));
        await start(page, { preset, kinds, seed: "9" });
        await playOn(page);
        assert.equal(await page.locator("#score .result").count(), n);
        await page.context().close();
      }
      site.checkTroubles();
    });
  }

  test("the coach judges every move", async (t) => {
    const site = await open(t, { overlay: overlay(t) });
    const page = await site.page();
    await start(page, { preset: "basic", kinds: ["human", KIND], seed: "9" });
    await page.click(".tool.coach");
    assert.equal(await page.getAttribute(".tool.coach", "aria-pressed"), "true");
    for (let i = 0; i < 6; i++) {
      await page.waitForSelector(".roll");
      await page.click(".roll");
      await page.waitForSelector(".advice span");
      const advice = await page.locator(".move .advice").allTextContents();
      assert.equal(advice.length, await page.locator(".move").count());
      const shares = advice.map((words) => words.match(/plays it (\d+)%/)).filter(Boolean).map(([, share]) => Number(share));
      if (shares.length) assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 100) <= shares.length, advice.join());
      if (HAS_VALUE) for (const words of advice) assert.match(words, /wins \d+%/);
      assert.equal(await page.locator(".move.best").count() > 0, true);
      assert.match(await page.textContent(".now"), /Win chance now: \d+%/);
      await page.click(".move.best");
    }
    await page.waitForSelector(".tool.coach");
    await page.click(".tool.coach");
    assert.equal(await page.locator(".advice span").count(), 0);
    site.checkTroubles();
  });

  const model = HAS_VALUE ? "value.onnx" : "policy.onnx";
  const SPOILED = {
    "a missing model": [(folder) => rmSync(join(folder, model)), `The file tiny/${model} of this trained player is missing.`],
    "a truncated model": [(folder) => truncateSync(join(folder, model), 1000), `The file tiny/${model} is incomplete: 1000 of`],
    "another model": [(folder) => writeFileSync(join(folder, model), Buffer.alloc(MANIFEST.models[model].bytes, 7)), `The file tiny/${model} is not the one its manifest describes.`],
    "a missing encoder": [(folder) => rmSync(join(folder, "encode.js")), "The file tiny/encode.js of this trained player is missing."],
    "a model that is none": [
      (folder) => {
        writeFileSync(join(folder, model), "no model");
        const sha256 = createHash("sha256").update("no model").digest("hex");
        const manifest = structuredClone(MANIFEST);
        Object.assign(manifest.models[model], { bytes: 8, sha256 });
        writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
      },
      `The file tiny/${model} could not be made ready:`,
    ],
    "a runtime that is not there": [
      (_, folder) => {
        mkdirSync(join(folder, "vendor"));
        writeFileSync(join(folder, "vendor/ort.wasm.bundle.min.mjs"), "throw new Error('no runtime');");
      },
      "The part that runs trained players could not be loaded",
    ],
  };
  for (const [what, [change, message]] of Object.entries(SPOILED)) {
    test(`${what} is told by name, and others can still be played`, async (t) => {
      const site = await open(t, { overlay: overlay(t, change) });
      const page = await site.page();
      await start(page, { preset: "basic", kinds: ["human", KIND], seed: "9" });
      await page.click(".roll");
      await page.click(".move");
      await page.waitForSelector("#alarm p");
      assert.ok((await page.textContent("#alarm p")).startsWith(message), await page.textContent("#alarm p"));
      await page.click("#alarm button:last-child");
      await page.click(".nav:first-child");
      await start(page, { preset: "basic", kinds: ["human", "greedy"], seed: "9" });
      await playOn(page, 6);
    });
  }

  const twoOfWhichOneIsBad = (folder) => {
    cpSync(folder, join(folder, "../good"), { recursive: true });
    writeFileSync(join(folder, "../models.json"), '["tiny", "good"]');
    writeFileSync(join(folder, "manifest.json"), '{"format": 99}');
  };

  test("a bundle without a readable manifest is told by name", async (t) => {
    const site = await open(t, { overlay: overlay(t, twoOfWhichOneIsBad) });
    const page = await site.page();
    await page.waitForSelector("#alarm p");
    assert.equal(await page.textContent("#alarm p"), "The file tiny/manifest.json is not a manifest this page can read.");
    await page.click("#alarm button");
    const kinds = await page.locator("#kind-1 option").evaluateAll((options) => options.map(({ value }) => value));
    assert.ok(kinds.includes(KIND.replace("tiny", "good")), kinds.join()); // the other bundle is there
    assert.ok(!kinds.includes(KIND));
    await start(page, { preset: "basic", kinds: ["human", "greedy"], seed: "9" });
    await playOn(page, 6);
  });

  test("a session that is never ready is told after 20 seconds", async (t) => {
    const stub = "export const env = { wasm: {} }; export const InferenceSession = { create: () => new Promise(() => {}) };";
    const site = await open(t, {
      overlay: overlay(t, (_, folder) => {
        mkdirSync(join(folder, "vendor"));
        writeFileSync(join(folder, "vendor/ort.wasm.bundle.min.mjs"), stub);
      }),
    });
    const page = await site.page();
    const begun = Date.now();
    await start(page, { preset: "basic", kinds: [KIND, "human"], seed: "9" });
    await page.waitForSelector("#alarm p");
    assert.match(await page.textContent("#alarm p"), /longer than 20 seconds/);
    assert.ok(Date.now() - begun >= 15_000);
  });

  test("the first move is ready soon after a cold start", async (t) => {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const site = await open(t, { overlay: overlay(t) });
      const page = await site.page();
      await start(page, { preset: "basic", kinds: [KIND, "human"], seed: "9" });
      await page.waitForSelector(".roll");
      times.push(await page.evaluate(() => performance.now()));
    }
    t.diagnostic(`from opening the page to its answer, ms: ${times.map(Math.round).join(", ")}`);
    const limit = Number(process.env.THATSLIFE_COLD_LIMIT ?? 30_000);
    assert.ok(Math.min(...times) < limit, times.join());
  });

  test("what the trained player plays is what its files say, under Node too", async (t) => {
    // the decisions of a recorded game are those of the bundle run by onnxruntime-web here
    const ort = await import("onnxruntime-web");
    const { encode } = await import(join(BUNDLE, "encode.js"));
    const session = await ort.InferenceSession.create(readFileSync(join(BUNDLE, model)));
    const rate = async (position, action) => {
      const vector = encode(model === "value.onnx" ? rules.play(position, action) : position);
      const out = await session.run({ position: new ort.Tensor("int32", vector, [1, vector.length]) });
      return model === "value.onnx" ? out.win_shares.data[position.player] : out.policy.data[action];
    };
    const site = await open(t, { overlay: overlay(t) });
    const page = await site.page();
    await start(page, { preset: "basic", kinds: [KIND, KIND], seed: "77" });
    await page.waitForSelector("#score[open]");
    await page.keyboard.press("Escape");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.click(".tool.record")]);
    const [game] = rules.readGames(readFileSync(await saved.path(), "utf8"));
    let decisions = 0;
    for (const [i, [kind, action]] of game.events.entries()) {
      const position = game.positions[i];
      const legal = rules.legalActions(position);
      if (kind === "roll" || legal.length < 2) continue;
      const rates = await Promise.all(legal.map((each) => rate(position, each)));
      assert.ok(rates[legal.indexOf(action)] >= Math.max(...rates) - 1e-5, `event ${i}`);
      decisions++;
    }
    assert.ok(decisions > 20);
  });
});
