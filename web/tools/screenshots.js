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

/** The person's turn to choose, in the middle of a game; before, the coach's best moves were played. */
async function toMiddle(page, decisions) {
  const hasCoach = await page.isEnabled(".tool.coach");
  if (hasCoach) await page.click(".tool.coach");
  for (let made = 0; ; made++) {
    await page.waitForSelector(".act button");
    if (await page.locator(".roll").count()) await page.click(".roll");
    await page.waitForSelector(hasCoach ? ".advice span" : ".move");
    if (made >= decisions && (await page.locator(".move").count()) >= 3) break;
    await page.locator(hasCoach ? ".move.best" : ".move").first().click();
  }
  await page.locator(".move").first().hover();
}

/** The strongest player of the full game that is there, for so many seats. */
async function opponents(page, n) {
  await page.check("#preset-full", { force: true });
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
    await toMiddle(page, 9);
    await picture(page, `game-${suffix}`);
    if (!dark) {
      await playOn(page);
      await picture(page, `end-${suffix}`);
    }
    await page.context().close();
  }
}
await site.close();
