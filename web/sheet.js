// The score sheet: every tower worked out tile by tile, in a dialog.

import { h } from "./dom.js";
import { drawChip, seatBadge } from "./figures.js";
import { scores, winners, worths } from "./rules.js";
import { listed, signed, t, tileName } from "./text.js";

/** Fill `dialog` with the scores of a finished position. */
export function fillSheet(dialog, position, names, buttons) {
  const points = scores(position);
  const won = winners(position);
  const order = names.map((_, seat) => seat);
  const lucky = position.towers.map((tower) => tower.filter((tile) => tile === "lucky").length);
  order.sort((a, b) => points[b] - points[a] || lucky[a] - lucky[b] || a - b);
  const headline = t(won.length > 1 ? "status.shared" : "status.won", { names: listed(won.map((seat) => names[seat])) });
  const rows = order.map((seat) => row(position, seat, names[seat], points[seat], lucky[seat], won.includes(seat)));
  const tie = points.filter((each) => each === points[won[0]]).length > 1;
  dialog.setAttribute("aria-label", t("sheet.heading"));
  dialog.replaceChildren(
    h("h2", {}, headline),
    h("p", { class: "remark" }, t(`scoring.${position.rules.scoring}.about`)),
    h("ol", { class: "results", tabindex: "0", "aria-label": t("sheet.heading") }, rows),
    tie ? h("p", { class: "remark" }, t("sheet.tie")) : "",
    h("div", { class: "buttons" }, buttons),
  );
}

function row(position, seat, name, points, lucky, won) {
  const tiles = worths(position.towers[seat], position.rules.scoring);
  return h("li", { class: `result${won ? " won" : ""}` },
    h("div", { class: "who" },
      seatBadge(seat),
      h("span", { class: "name" }, name),
      won ? h("span", { class: "crown" }, t("sheet.winner")) : null,
      h("span", { class: "kind" }, t("sheet.lucky", { n: lucky })),
      h("strong", { class: "points" }, signed(points)),
    ),
    tiles.length ? h("ol", { class: "tiles" }, tiles.map((each) => tile(each, tiles))) : h("p", { class: "remark" }, t("seat.empty")),
    tiles.length ? h("p", { class: "sum", "aria-hidden": "true" }, sum(tiles, points)) : null,
  );
}

/** One tile with what it counts: "−7 turned: 7". */
function tile({ tile, worth, by }, tiles) {
  const isLucky = tile === "lucky";
  const remark = isLucky
    ? by === null ? t("sheet.idle") : t("sheet.turns", { tile: tileName(tiles[by].tile) })
    : by === null ? "" : t("sheet.turned");
  const spoken = [isLucky ? tileName(tile) : t("sheet.tile", { tile: tileName(tile), worth: signed(worth) }), remark];
  return h("li", { class: `${by === null ? "" : "turned"}${isLucky ? " clover" : ""}`, title: remark || null },
    drawChip(tile),
    h("span", { class: "worth", "aria-hidden": "true" }, isLucky ? (by === null ? "·" : "⟲") : signed(worth)),
    h("span", { class: "unseen" }, spoken.filter(Boolean).join(", ")),
  );
}

/** "7 + 3 − 2 = 8". */
function sum(tiles, points) {
  const counted = tiles.filter(({ tile }) => tile !== "lucky").map(({ worth }) => worth);
  const terms = counted.map((worth, i) => (i === 0 ? signed(worth) : `${worth < 0 ? "−" : "+"} ${Math.abs(worth)}`));
  return `${terms.join(" ") || "0"} = ${signed(points)}`;
}
