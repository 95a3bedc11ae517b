// What the browser tests share: the page served under a sub-path of this machine, and Chromium.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { serve } from "../../web/tools/serve.js";

const WEB = new URL("../../web/", import.meta.url).pathname;
const BASE = "/games/that's life/";
// the first ones because tests run as root in containers; the others keep Chromium from calling home
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class Site {
  /** Chromium, and the page with the files of `overlay`, if given, before its own. */
  static async open({ overlay = null, headers = {} } = {}) {
    const site = new Site();
    site.server = await serve([...(overlay ? [overlay] : []), WEB], { base: BASE, headers });
    site.address = `http://127.0.0.1:${site.server.address().port}${encodeURI(BASE)}`;
    site.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    site.pages = [];
    return site;
  }

  /** A page in a context of its own; `close` checks that it behaved. */
  async page(options = {}) {
    const context = await this.browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    const troubles = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) troubles.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => troubles.push(`error: ${error.stack}`));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.address) && !url.startsWith("blob:")) troubles.push(`foreign: ${url}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
    });
    page.troubles = troubles;
    await page.goto(this.address);
    await page.waitForSelector("body[data-ready]");
    this.pages.push(page);
    return page;
  }

  /** No page saw an error in its console, or asked another server. */
  checkTroubles() {
    for (const page of this.pages) assert.deepEqual(page.troubles, []);
    this.pages = [];
  }

  async close() {
    await this.browser.close();
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** A folder that is gone when the tests are done. */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), "thatslife-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Begin a game from the view before it; `kinds` are those of the seats. */
export async function start(page, { preset = "basic", kinds, seed = "7", pace = "instant" }) {
  await page.check(`#preset-${preset}`, { force: true });
  await page.check(`#players-${kinds.length}`, { force: true });
  for (const [seat, kind] of kinds.entries()) await page.selectOption(`#kind-${seat}`, kind);
  await page.fill("#seed", seed);
  await page.click(".setup [type=submit]");
  await page.selectOption(".pace select", pace);
}

/** Play for the people at the table until the game is over, or `steps` times. */
export async function playOn(page, steps = Infinity) {
  return page.evaluate(async (most) => {
    let done = 0;
    const begun = performance.now();
    while (done < most && !document.querySelector("#score[open]")) {
      const alarm = document.querySelector("#alarm:not([hidden])");
      if (alarm) throw new Error(alarm.textContent);
      const choices = document.querySelectorAll(".act .roll, .act .move");
      if (choices.length) {
        choices[(done * 7) % choices.length].click();
        done++;
      } else if (performance.now() - begun > 240_000) {
        throw new Error(`nothing to do: ${document.querySelector(".status")?.textContent}`);
      }
      await new Promise((on) => setTimeout(on, 0));
    }
    return done;
  }, steps);
}

/** What the score sheet says, seat by seat in its order: [{name, points, sum, won}]. */
export const sheet = (page) =>
  page.$$eval("#score .result", (rows) =>
    rows.map((row) => ({
      name: row.querySelector(".name").textContent,
      points: Number(row.querySelector(".points").textContent.replace("−", "-")),
      worths: [...row.querySelectorAll(".tiles li:not(.clover) .worth")].map((worth) => Number(worth.textContent.replace("−", "-"))),
      won: row.classList.contains("won"),
    })),
  );
