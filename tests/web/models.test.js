// Trained players in the page, in headless Chromium. `tests/test_browser.py` runs this. The folder
// THATSLIFE_BUNDLE is a bundle of `python -m agents.export` with a policy, and a value for up to 4
// players. The file THATSLIFE_CHANCES has a line {name, position, chances} for each of some positions:
// what the shipped value of that name expects of each legal action, in Python.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import * as rules from "../../web/rules.js";
import { Site, playOn, start, temporaryFolder } from "./site.js";

const BUNDLE = process.env.THATSLIFE_BUNDLE;
assert.ok(BUNDLE, "run by tests/test_browser.py, which sets THATSLIFE_BUNDLE");
const MANIFEST = JSON.parse(readFileSync(join(BUNDLE, "manifest.json"), "utf8"));
const KIND = "value:tiny";
const POLICY_KIND = "policy:tiny";
const SHIPPED = { 2: "2p", 4: "universal", 6: "universal" }; // who is met first in the basic game

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
      const policies = Array(5).fill(POLICY_KIND);
      const lineups = { basic: ["human", KIND], full: ["human", KIND, POLICY_KIND, KIND], classic: ["human", ...policies] };
      for (const [preset, kinds] of Object.entries(lineups).slice(0, isolated ? 1 : 3)) {
        const n = kinds.length;
        const page = await site.page();
        assert.equal(await page.evaluate(() => self.crossOriginIsolated), isolated);
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
      const told = advice.map((words) => words.match(/^wins (\d+\.\d)% · plays it (\d+)%$/).slice(1).map(Number));
      const likely = told.map(([, share]) => share);
      assert.ok(Math.abs(likely.reduce((a, b) => a + b) - 100) <= likely.length, advice.join());
      const chances = told.map(([chance]) => chance);
      const best = await page.locator(".move").evaluateAll((moves) => moves.map((move) => move.classList.contains("best")));
      assert.ok(best.includes(true));
      best.forEach((isBest, i) => isBest && assert.equal(chances[i], Math.max(...chances)));
      const now = Number((await page.textContent(".now")).match(/^Coach: tiny · Win chance now: (\d+)%$/)[1]);
      assert.ok(Math.abs(now - Math.max(...chances)) <= 0.6, `${now} ${chances}`);
      await page.locator(".move.best").first().click();
    }
    await page.waitForSelector(".tool.coach");
    await page.click(".tool.coach");
    assert.equal(await page.locator(".advice span").count(), 0);
    site.checkTroubles();
  });

  const model = "value.onnx";
  const SPOILED = {
    "a missing model": [(folder) => rmSync(join(folder, model)), `The file tiny/${model} of this trained player is missing.`],
    "a missing policy": [(folder) => rmSync(join(folder, "policy.onnx")), "The file tiny/policy.onnx of this trained player is missing."],
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

  test("a value is offered to as many players as it knows, and a game to who was trained for it", async (t) => {
    const site = await open(t, { overlay: overlay(t) });
    const page = await site.page();
    const offered = async (preset, players) => {
      await page.check(`#preset-${preset}`, { force: true });
      await page.check(`#players-${players}`, { force: true });
      const kinds = await page.locator("#kind-1 option").evaluateAll((options) => options.map(({ value }) => value));
      return [await page.inputValue("#kind-1"), kinds.slice(3), await page.locator(".remark").allTextContents()];
    };
    const untrained = ["tiny was not trained for this game and may play it weakly."];
    assert.deepEqual(await offered("basic", 4), [KIND, [KIND, POLICY_KIND], []]);
    assert.deepEqual(await offered("full", 3), [KIND, [KIND, POLICY_KIND], untrained]);
    assert.deepEqual(await offered("basic", 5), ["greedy", [POLICY_KIND], []]);
  });

  test("what the trained player plays is what its files say, under Node too", async (t) => {
    // the decisions of a recorded game are those of the bundle run by onnxruntime-web here
    const ort = await import("onnxruntime-web");
    const { encode } = await import(join(BUNDLE, "encode.js"));
    const session = await ort.InferenceSession.create(readFileSync(join(BUNDLE, "policy.onnx")));
    const site = await open(t, { overlay: overlay(t) });
    const page = await site.page();
    await start(page, { preset: "basic", kinds: [POLICY_KIND, POLICY_KIND], seed: "77" });
    await page.waitForSelector("#score[open]");
    await page.keyboard.press("Escape");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.click(".tool.record")]);
    const [game] = rules.readGames(readFileSync(await saved.path(), "utf8"));
    let decisions = 0;
    for (const [i, [kind, action]] of game.events.entries()) {
      if (kind === "roll") continue;
      const vector = encode(game.positions[i]);
      const { policy } = await session.run({ position: new ort.Tensor("int32", vector, [1, vector.length]) });
      assert.ok(policy.data[action] >= Math.max(...policy.data) - 1e-5, `event ${i}`);
      decisions++;
    }
    assert.ok(decisions > 20);
  });
});

describe("the players that the page ships with", { concurrency: false }, () => {
  test("whole games against them in 2, 4 and 6 seats; they are the first choice", async (t) => {
    const site = await Site.open();
    t.after(() => site.close());
    for (const [n, name] of Object.entries(SHIPPED)) {
      const page = await site.page();
      await page.check(`#players-${n}`, { force: true });
      const kinds = await page.locator(".places select").evaluateAll((selects) => selects.map(({ value }) => value));
      assert.deepEqual(kinds, ["human", ...Array(n - 1).fill(`value:${name}`)]);
      await start(page, { preset: "basic", kinds, seed: "3" });
      await playOn(page);
      assert.equal(await page.locator("#score .result").count(), Number(n));
      await page.context().close();
    }
    site.checkTroubles();
  });

  test("the coach's win chances are those of Python", async (t) => {
    const site = await Site.open();
    t.after(() => site.close());
    const page = await site.page();
    const lines = readFileSync(process.env.THATSLIFE_CHANCES, "utf8").trim().split("\n").map(JSON.parse);
    assert.ok(lines.length >= 100);
    const told = await page.evaluate(async (asked) => {
      const [models, players, { legalActions }] = await Promise.all(["model", "players", "rules"].map((name) => import(new URL(`${name}.js`, document.baseURI))));
      const bundles = await models.installed((error) => { throw error; });
      const found = [];
      for (const { name, position } of asked) {
        const bundle = await models.open(bundles.find((entry) => entry.name === name));
        const shares = await players.sharesAfter(bundle, position, legalActions(position));
        found.push(shares.map((row) => row[position.player]));
      }
      return found;
    }, lines);
    lines.forEach(({ chances, name }, i) => {
      assert.equal(told[i].length, chances.length);
      chances.forEach((chance, k) => assert.ok(Math.abs(chance - told[i][k]) < 1e-4, `${name}: ${told[i]} is not ${chances}`));
    });
    site.checkTroubles();
  });

  test("each of their models is smaller than 2 MB", () => {
    const models = new URL("../../web/models/", import.meta.url).pathname;
    for (const name of new Set(Object.values(SHIPPED))) {
      const files = readdirSync(join(models, name)).filter((file) => file.endsWith(".onnx"));
      assert.ok(files.includes("value.onnx"), name);
      for (const file of files) assert.ok(statSync(join(models, name, file)).size < 2_000_000, `${name}/${file}`);
    }
  });

  test("their first move is ready soon after a cold start", async (t) => {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const site = await Site.open();
      t.after(() => site.close());
      const page = await site.page();
      await start(page, { preset: "basic", kinds: ["value:2p", "human"], seed: "9" });
      await page.waitForSelector(".roll");
      times.push(await page.evaluate(() => performance.now()));
    }
    t.diagnostic(`from opening the page to its answer, ms: ${times.map(Math.round).join(", ")}`);
    const limit = Number(process.env.THATSLIFE_COLD_LIMIT ?? 30_000);
    assert.ok(Math.min(...times) < limit, times.join());
  });
});
