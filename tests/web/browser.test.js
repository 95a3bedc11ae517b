// The page in headless Chromium, under a sub-path. `tests/test_browser.py` runs this; the record of
// Python that is replayed is the file THATSLIFE_RECORD.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";

import axe from "axe-core";

import * as rules from "../../web/rules.js";
import { LANGUAGES } from "../../web/text.js";
import { Site, playOn, sheet, start, temporaryFolder } from "./site.js";

const RECORD = process.env.THATSLIFE_RECORD;
assert.ok(RECORD, "run by tests/test_browser.py, which sets THATSLIFE_RECORD");

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Serious findings of axe in what is shown now. */
async function findings(page) {
  await page.evaluate(axe.source); // not bound by the content policy, as a script element would be
  const { violations } = await page.evaluate(() => window.axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** The record that the page offers to save. */
async function savedRecord(page, t) {
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click(".tool.record")]);
  const file = join(temporaryFolder(t), "record.jsonl");
  await saved.saveAs(file);
  const [game] = rules.readGames(readFileSync(file, "utf8"));
  return game;
}

describe("the page", { concurrency: false }, () => {
  let site;
  before(async () => {
    site = await Site.open();
  });
  afterEach(() => site.checkTroubles());
  after(() => site.close());

  for (const [preset, kinds, seed] of [
    ["basic", ["human", "greedy"], "0"],
    ["full", ["human", "random", "greedy", "human"], "18446744073709551615"],
    ["classic", ["greedy", "human", "greedy", "random", "greedy", "random"], "5"],
    ["expert", ["greedy", "random", "greedy"], "12"],
  ]) {
    test(`a whole game: ${preset}, ${kinds.length} seats`, async (t) => {
      const page = await site.page();
      await start(page, { preset, kinds, seed });
      await playOn(page);
      const rows = await sheet(page);
      for (const { points, worths } of rows) assert.equal(points, worths.reduce((sum, worth) => sum + worth, 0));
      await page.keyboard.press("Escape");
      const game = await savedRecord(page, t);
      assert.deepEqual(game.opening, rules.deal(rules.preset(preset, kinds.length), BigInt(seed)));
      const rolls = game.events.filter(([kind]) => kind === "roll").map(([, die]) => die);
      assert.deepEqual(rolls, rolls.map((_, k) => rules.dieOf(BigInt(seed), k)));
      assert.equal(BigInt(game.meta.seed), BigInt(seed));
      assert.deepEqual(game.meta.players, kinds);
      const byName = Object.fromEntries(rows.map((row) => [row.name, row]));
      assert.deepEqual(game.meta.names.map((name) => byName[name].points), game.scores);
      const won = game.meta.names.filter((name) => byName[name].won);
      assert.deepEqual(won, game.winners.map((seat) => game.meta.names[seat]));
    });
  }

  test("the same seed and the same choices make the same game", async (t) => {
    const events = [];
    for (let i = 0; i < 2; i++) {
      const page = await site.page();
      await start(page, { preset: "full", kinds: ["human", "random", "greedy"], seed: "33" });
      await playOn(page);
      await page.keyboard.press("Escape");
      events.push((await savedRecord(page, t)).events);
    }
    assert.deepEqual(events[0], events[1]);
  });

  test("a game of one's own", async (t) => {
    const page = await site.page();
    await page.check("#preset-own", { force: true });
    await page.selectOption("#own-layout", "variant2");
    await page.selectOption("#own-scoring", "expert");
    await page.selectOption("#own-pawns", "1");
    await page.uncheck("#own-action_tiles");
    await page.check("#own-guards");
    await page.check("#players-5", { force: true });
    await page.fill("#name-1", "<b>Zoë</b> & co");
    await page.click(".setup [type=submit]");
    await page.selectOption(".pace select", "instant");
    await playOn(page);
    await page.keyboard.press("Escape");
    const game = await savedRecord(page, t);
    const wanted = { players: 5, pawns: 1, layout: "variant2", action_tiles: false, guards: true, scoring: "expert" };
    assert.deepEqual(game.meta.ruleset, wanted);
    assert.equal(game.meta.names[1], "<b>Zoë</b> & co");
    assert.equal(await page.textContent(".seat:nth-child(2) .name"), "<b>Zoë</b> & co");
    assert.deepEqual(game.opening, rules.deal(rules.ruleset(wanted), game.meta.seed === undefined ? 0n : BigInt(game.meta.seed)));
  });

  test("a bad seed is told, and does not start", async () => {
    const page = await site.page();
    for (const seed of ["-1", "1.5", "18446744073709551616", "x", "9".repeat(30)]) {
      await page.fill("#seed", seed);
      await page.click(".setup [type=submit]");
      assert.equal(await page.textContent("#seed-trouble"), LANGUAGES.en.messages["error.seed"]);
      assert.equal(await page.locator(".game").count(), 0);
    }
  });

  for (const [tag, { name, messages, rules: text }] of Object.entries(LANGUAGES)) {
    test(`in ${name}`, async () => {
      const page = await site.page({ locale: { en: "en-US", de: "de-AT", fr: "fr-CA", it: "it-IT", pl: "pl-PL" }[tag], ...PHONE });
      assert.equal(await page.getAttribute("html", "lang"), tag);
      assert.equal(await page.title(), messages.title);
      const fits = async (where) => {
        const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= room, `${where} is ${wide} wide`);
      };
      await fits("set-up");
      await page.click(".nav:nth-child(3)");
      assert.equal(await page.textContent("#rules h2"), messages["rules.heading"]);
      assert.equal(await page.locator("#rules .text li").count(), text.flatMap(({ items }) => items).length);
      assert.ok((await page.locator("#rules .ruling").count()) >= 9);
      await fits("rules");
      await page.click("#rules .main");
      await start(page, { preset: "full", kinds: ["human", "human", "greedy"], seed: "3" });
      await playOn(page, 25);
      await fits("game");
      await playOn(page);
      await fits("score sheet");
      const words = await page.evaluate(() => document.body.textContent);
      assert.doesNotMatch(words, /\b(undefined|null|NaN)\b|[{}]|\[ruling\]/);
      await page.click("#score .buttons .tool");
      await page.waitForSelector(".replay");
      await fits("replay");
    });
  }

  test("the language can be changed in the middle of a game", async () => {
    const page = await site.page();
    await start(page, { kinds: ["human", "greedy"] });
    await playOn(page, 9);
    await page.waitForSelector(".act button");
    const points = await page.locator(".seat .points").allTextContents();
    await page.selectOption("#language", "de");
    assert.equal(await page.getAttribute("html", "lang"), "de");
    assert.deepEqual(await page.locator(".seat .points").allTextContents(), points);
    assert.match(await page.textContent(".log"), /Figur auf/);
    await playOn(page);
    assert.match(await page.textContent("#score h2"), /gewinn/);
    const again = await page.context().newPage();
    await again.goto(site.address);
    await again.waitForSelector("body[data-ready]");
    assert.equal(await again.getAttribute("html", "lang"), "de");
  });

  test("settings that others left behind do not matter", async () => {
    const page = await site.page();
    for (const kept of ['{"setup":{"players":99,"preset":"toString","own":{"x":1},"names":7},"pace":"x","language":"xx"}', "[", "null", "7"]) {
      await page.evaluate((text) => localStorage.setItem("thatslife", text), kept);
      await page.reload();
      await page.waitForSelector("body[data-ready]");
      assert.equal(await page.locator(".places li").count(), 2);
    }
    await page.click(".setup [type=submit]");
    await page.waitForSelector(".roll");
  });

  test("by keyboard alone", async () => {
    const page = await site.page();
    const held = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
    const tabTo = async (wanted) => {
      for (let i = 0; i < 40; i++) {
        if ((await held()).includes(wanted)) return;
        await page.keyboard.press("Tab");
      }
      assert.fail(`Tab does not come to ${wanted}`);
    };
    await tabTo("players-2");
    await page.keyboard.press("ArrowRight"); // 3 players
    await tabTo("preset-basic");
    await page.keyboard.press("ArrowLeft"); // round to: one's own
    await page.keyboard.press("ArrowLeft"); // the full game
    await tabTo("seed");
    await page.keyboard.type("11");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".game");
    assert.equal(await page.locator(".seat").count(), 3);
    await page.evaluate(() => document.querySelector(".pace select").focus());
    await page.keyboard.press("End"); // at once
    await tabTo("roll");
    let pressed = 0;
    while ((await page.locator("#score[open]").count()) === 0) {
      await page.waitForFunction(() => document.querySelector("#score[open]") || document.activeElement.closest(".act"));
      if (await page.locator("#score[open]").count()) break;
      const choices = await page.locator(".move").count();
      // a choice by its number, or by going there
      if (choices > 1 && pressed % 3 === 0) await page.keyboard.press(String(Math.min(choices, 9)));
      else if (choices > 1 && pressed % 3 === 1) {
        await page.keyboard.press("Tab");
        assert.ok(await page.locator(".felt .target").count() || (await page.locator(".pick").count()));
        await page.keyboard.press("Space");
      } else await page.keyboard.press("Enter");
      pressed++;
      await page.waitForTimeout(5);
    }
    assert.ok(pressed > 30);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#score[open]").count(), 0);
  });

  test("what may be moved is shown on the table, and explained", async () => {
    const page = await site.page();
    await start(page, { preset: "full", kinds: ["human", "human"], seed: "7" });
    await page.click(".roll");
    await playOn(page, 13);
    if (await page.locator(".roll").count()) await page.click(".roll");
    const n = await page.locator(".move").count();
    assert.ok(n >= 2);
    const reach = page.locator(".legal .reach").last();
    await reach.hover();
    const hint = await page.textContent(".hint.shown");
    const listed = await page.locator(".move .words").allTextContents();
    const plain = (text) => text.replace(/[·\s]+/g, " ").trim();
    assert.ok(listed.map(plain).includes(plain(hint)), `${hint} is none of ${listed}`);
    assert.equal(await page.locator(".felt .target:not(.casing)").count(), 1);
    const before = await page.locator(".log li").count();
    await reach.click();
    await page.waitForFunction((count) => document.querySelectorAll(".log li").length > count, before);
    assert.equal(plain(await page.locator(".log li").first().textContent()).split(": ")[1], plain(hint));
  });

  test("undo takes back to one's last decision, with the same roll", async (t) => {
    const page = await site.page();
    await start(page, { preset: "basic", kinds: ["human", "greedy", "greedy"], seed: "21" });
    assert.ok(await page.isDisabled(".undo"));
    await page.click(".roll");
    await page.waitForSelector(".move");
    const status = await page.textContent(".status");
    await page.click(".move");
    await page.waitForSelector(".roll");
    await page.click(".undo");
    await page.waitForSelector(".move");
    assert.equal(await page.textContent(".status"), status);
    assert.equal((await savedRecord(page, t)).events.length, 1);
    await playOn(page);
    await page.keyboard.press("Escape");
    await page.click(".undo"); // after the end too
    await page.waitForSelector(".move");
    await playOn(page);
  });

  test("moves are carried out in sight, and end as they do at once", async (t) => {
    const records = [];
    for (const [pace, reducedMotion] of [["quick", "no-preference"], ["calm", "reduce"], ["instant", "no-preference"]]) {
      const page = await site.page({ reducedMotion });
      await start(page, { preset: "full", kinds: ["human", "greedy"], seed: "4", pace });
      await playOn(page, 4);
      await page.waitForSelector(".roll, .move");
      const standing = await page.$$eval(".pawn, .guard, .tile", (all) => all.map(({ style }) => style.transform).sort());
      records.push({ events: (await savedRecord(page, t)).events, standing });
    }
    assert.deepEqual(records[1], records[0]);
    assert.deepEqual(records[2], records[0]);
  });

  test("a record of Python is replayed to the same scores", async () => {
    const page = await site.page();
    const games = rules.readGames(readFileSync(RECORD, "utf8"));
    assert.ok(games.length >= 3);
    await page.setInputFiles("input[type=file]", RECORD);
    await page.waitForSelector(".replay");
    for (const [i, game] of games.entries()) {
      await page.selectOption(".side select", String(i));
      await page.click(".do-last");
      const shown = async () => (await page.locator(".seat .points").allTextContents()).map((points) => Number(points.replace("−", "-")));
      assert.deepEqual(await shown(), game.scores);
      assert.equal(await page.textContent(".count"), `Step ${game.events.length} of ${game.events.length}`);
      await page.fill(".scrubber input", "17");
      assert.deepEqual(await shown(), rules.scores(game.positions[17]));
      await page.click(".do-forward");
      await page.waitForFunction(() => document.querySelector(".count").textContent.startsWith("Step 18"));
      await page.focus(".scrubber input");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await shown(), rules.scores(game.positions[16]));
      await page.click(".do-play");
      await page.waitForFunction(() => Number(document.querySelector(".scrubber input").value) >= 19);
      await page.click(".do-play");
      await page.click(".do-first");
      assert.deepEqual(await shown(), game.scores.map(() => 0));
    }
  });

  test("a file that is no record is refused by name and reason", async (t) => {
    const page = await site.page();
    const folder = temporaryFolder(t);
    const good = readFileSync(RECORD, "utf8").split("\n")[0];
    const bad = { "empty.jsonl": "", "cut.jsonl": good.slice(0, 500), "wrong.jsonl": `${good}\n${good.replace('"scores":[', '"scores":[1')}` };
    for (const [name, text] of Object.entries(bad)) {
      writeFileSync(join(folder, name), text);
      await page.setInputFiles("input[type=file]", join(folder, name));
      await page.waitForFunction((file) => document.querySelector("#alarm p")?.textContent.includes(file), name);
      if (name === "wrong.jsonl") assert.match(await page.textContent("#alarm p"), /line 2: scores/);
    }
    assert.equal(await page.locator(".replay").count(), 0);
  });

  for (const [scheme, options] of [["light", {}], ["dark", PHONE]]) {
    test(`axe finds nothing serious: ${scheme}, ${options.isMobile ? "phone" : "desktop"}`, async () => {
      const page = await site.page({ colorScheme: scheme, reducedMotion: "reduce", ...options });
      assert.deepEqual(await findings(page), []);
      await page.check("#preset-own", { force: true });
      assert.deepEqual(await findings(page), []);
      await start(page, { preset: "full", kinds: ["human", "greedy", "human", "random"] });
      assert.deepEqual(await findings(page), []);
      await playOn(page, 31);
      await page.waitForSelector(".act button");
      assert.deepEqual(await findings(page), []);
      await page.click(".nav:nth-child(3)");
      assert.deepEqual(await findings(page), []);
      await page.keyboard.press("Escape");
      await playOn(page);
      assert.deepEqual(await findings(page), []);
      await page.click("#score .buttons .tool");
      await page.waitForSelector(".replay");
      assert.deepEqual(await findings(page), []);
    });
  }
});
