// The players beside the table: names, points, towers.

import { h } from "./dom.js";
import { drawChip, seatBadge } from "./figures.js";
import { scores } from "./rules.js";
import { currentLanguage, percent, signed, t, tileName } from "./text.js";

export class Seats {
  #element = h("ol", { class: "seats" });
  #towers = [];
  #shown = ""; // what it was made of

  get element() {
    return this.#element;
  }

  /** The element to which tiles of this seat fly. */
  tower(seat) {
    return this.#towers[seat];
  }

  /**
   * Draw the players of `position`.
   *
   * `names` and `kinds` (in words) by seat; `chances`, if known, are win shares by seat; `partners`
   * maps a seat that may be chosen now to what choosing it does.
   */
  show(position, names, kinds, { chances = null, partners = new Map() } = {}) {
    const { pawns, towers, player, phase, rules, track } = position;
    const made = JSON.stringify([pawns, towers, player, phase === "over", rules, track.length, names, kinds, chances, currentLanguage()]);
    if (made === this.#shown && partners.size === 0) return;
    this.#shown = partners.size === 0 ? made : "";
    const points = scores(position);
    const finish = position.track.length - 1;
    this.#towers = [];
    const rows = names.map((name, seat) => {
      const tower = position.towers[seat];
      const home = position.pawns[seat].filter((slot) => slot === finish).length;
      const turn = seat === position.player && position.phase !== "over";
      const chips = h("div", { class: "tower" }, tower.map((tile) => drawChip(tile)));
      this.#towers.push(chips);
      const spoken = t("seat.tower", { tiles: tower.map(tileName).join(", ") });
      const words = tower.length ? h("span", { class: "unseen" }, spoken) : null;
      if (!tower.length) chips.append(h("span", { class: "none" }, t("seat.empty")));
      return h(
        "li",
        { class: `seat${turn ? " turn" : ""}${partners.has(seat) ? " partner" : ""}`, "aria-current": turn ? "true" : null },
        h(
          "div",
          { class: "who" },
          seatBadge(seat),
          h("span", { class: "name" }, name),
          h("span", { class: "kind" }, kinds[seat] ?? ""),
          chances ? h("span", { class: "chance" }, t("coach.wins", { share: percent(chances[seat]) })) : null,
          h("span", { class: "home" }, t("seat.home", { n: home, of: position.pawns[seat].length })),
          h("strong", { class: "points", title: t("seat.points", { n: points[seat] }) }, signed(points[seat])),
        ),
        chips,
        words,
        partners.get(seat) ?? null,
      );
    });
    this.#element.setAttribute("aria-label", t("seats.heading"));
    this.#element.replaceChildren(...rows);
  }
}
