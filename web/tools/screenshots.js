// The pictures of the page for the README: `node web/tools/screenshots.js FOLDER`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Site, playOn, start } from "../../tests/web/site.js";

const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const site = await Site.open();

async function picture(page, name) {
  await page.waitForTimeout(600); // what moves comes to rest
  await page.screenshot({ path: join(folder, `web-${name}.png`) });
  console.log(join(folder, `web-${name}.png`));
}

/** The people's turn to choose, in the middle of a game. */
async function toMiddle(page, steps) {
  await playOn(page, steps);
  while ((await page.locator(".act .move").count()) < 3) await playOn(page, 1);
  if (await page.isEnabled(".tool.coach")) {
    await page.click(".tool.coach");
    await page.waitForSelector(".advice span");
  }
  await page.locator(".move").first().hover();
}

/** The strongest player that is there, for so many seats. */
async function opponents(page, n) {
  await page.check(`#players-${n + 1}`, { force: true });
  const kind = await page.inputValue("#kind-1");
  return ["human", ...Array(n).fill(kind)];
}

for (const [device, options] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await site.page({ ...options, colorScheme });
    const dark = colorScheme === "dark";
    const suffix = `${device}${dark ? "-dark" : ""}`;
    if (!dark) await picture(page, `start-${suffix}`);
    const kinds = await opponents(page, device === "desktop" ? 3 : 1);
    await start(page, { preset: "full", kinds, seed: "2005" });
    await toMiddle(page, device === "desktop" ? 30 : 38);
    await picture(page, `game-${suffix}`);
    if (!dark) {
      await playOn(page);
      await picture(page, `end-${suffix}`);
    }
    await page.context().close();
  }
}
await site.close();
