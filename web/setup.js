// The view before a game: who plays, which game, from which seed.

import { h, s } from "./dom.js";
import { TILE, drawGuard, drawPawn, drawTile, seatBadge } from "./figures.js";
import { trainedFor } from "./model.js";
import { LAYOUTS, MAX_PLAYERS, MAX_SEED, MIN_PLAYERS, PRESETS, RulesetError, SCORINGS, preset, ruleset } from "./rules.js";
import { t, trainedName } from "./text.js";

const OWN = "own";
const BASELINES = ["human", "random", "greedy"];

export class SetupView {
  #element = h("form", { class: "setup", autocomplete: "off" });
  #choice;
  #bundles = [];
  #hooks;

  /** `choice` is what was chosen last, or {}; `hooks`: start({rules, seats, seed}) and keep(choice). */
  constructor(choice, hooks) {
    this.#choice = sound(choice);
    this.#hooks = hooks;
    this.#element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#start();
    });
  }

  get element() {
    return this.#element;
  }

  /** These trained players may be chosen too. */
  offer(bundles) {
    this.#bundles = bundles;
    this.build();
  }

  build() {
    const choice = this.#choice;
    const players = radios("players", t("setup.players"), numbers(MIN_PLAYERS, MAX_PLAYERS).map((n) => [n, String(n)]), choice.players, (value) => {
      choice.players = Number(value);
      this.#again();
    });
    const seats = numbers(0, choice.players - 1).map((seat) => this.#seat(seat));
    this.#element.replaceChildren(
      hero(),
      h("div", { class: "sheet" },
        h("h2", {}, t("setup.heading")),
        h("div", { class: "halves" },
          h("section", {}, h("h3", {}, t("setup.who")), players, h("ol", { class: "places" }, seats), this.#remarks()),
          h("section", {}, h("h3", {}, t("setup.which")), this.#presets(), this.#choice.preset === OWN ? this.#details() : null),
        ),
        h("div", { class: "go" }, this.#seed(), h("button", { type: "submit", class: "main" }, t("setup.start"))),
      ),
    );
  }

  #again() {
    const held = document.activeElement?.id;
    this.build();
    this.#hooks.keep(this.#choice);
    if (held) document.getElementById(held)?.focus();
  }

  // Who plays ------------------------------------------------------------------------------------

  /** Kinds of player by their key, in words. */
  #kinds() {
    const kinds = new Map(BASELINES.map((kind) => [kind, t(`kind.${kind}`)]));
    for (const { kind, name, way } of this.#trained()) kinds.set(kind, t(`kind.${way}`, { name: trainedName(name) }));
    return kinds;
  }

  #trained() {
    return trainedFor(this.#bundles, this.#rules());
  }

  #kind(seat) {
    const kinds = this.#kinds();
    const chosen = this.#choice.kinds[seat];
    if (kinds.has(chosen)) return chosen;
    return seat === 0 ? "human" : this.#strongest();
  }

  /** The kind that an opponent is at first: the best that is trained for the game, or so many players. */
  #strongest() {
    const [best] = this.#trained();
    return best?.knows ? best.kind : "greedy";
  }

  #seat(seat) {
    const n = seat + 1;
    const kind = this.#kind(seat);
    const select = h("select", { id: `kind-${seat}`, "aria-label": t("setup.kind", { n }), onchange: (event) => {
      this.#choice.kinds[seat] = event.target.value;
      this.#again();
    } }, [...this.#kinds()].map(([key, words]) => h("option", { value: key, selected: key === kind }, words)));
    const name = h("input", { id: `name-${seat}`, type: "text", maxlength: 24, "aria-label": t("setup.name", { n }), placeholder: this.#standardName(seat), oninput: (event) => {
      this.#choice.names[seat] = event.target.value;
      this.#hooks.keep(this.#choice);
    } });
    name.value = this.#choice.names[seat] ?? "";
    return h("li", {}, seatBadge(seat), name, select);
  }

  #standardName(seat) {
    const kind = this.#kind(seat);
    return t(`name.${BASELINES.includes(kind) ? kind : "trained"}`, { n: seat + 1 });
  }

  #remarks() {
    if (this.#bundles.length === 0) return h("p", { class: "remark" }, t("setup.nomodels"));
    const kinds = numbers(0, this.#choice.players - 1).map((seat) => this.#kind(seat));
    const weak = this.#trained().filter(({ kind, knows }) => kinds.includes(kind) && knows < 2);
    const names = new Set(weak.map(({ name }) => trainedName(name)));
    return [...names].map((name) => h("p", { class: "remark" }, t("setup.untrained", { name })));
  }

  // Which game -----------------------------------------------------------------------------------

  #rules() {
    const { players, own } = this.#choice;
    return this.#choice.preset === OWN ? ruleset({ ...own, players }) : preset(this.#choice.preset, players);
  }

  #presets() {
    const cards = [...Object.keys(PRESETS), OWN].map((name) =>
      h("label", { class: "card" },
        h("input", { type: "radio", name: "preset", id: `preset-${name}`, value: name, checked: name === this.#choice.preset, onchange: () => {
          const { players: _, ...fields } = this.#rules();
          if (name === OWN) this.#choice.own = fields;
          this.#choice.preset = name;
          this.#again();
        } }),
        h("strong", {}, t(`preset.${name}`)),
        h("span", {}, t(`preset.${name}.about`)),
      ),
    );
    return h("fieldset", { class: "cards" }, h("legend", { class: "unseen" }, t("setup.which")), cards);
  }

  #details() {
    const rules = this.#rules();
    const set = (field, value) => {
      this.#choice.own[field] = value;
      this.#again();
    };
    const pick = (field, words, options) =>
      h("label", {}, h("span", {}, words), h("select", { id: `own-${field}`, onchange: (event) => set(field, field === "pawns" ? Number(event.target.value) : event.target.value) },
        options.map(([value, label]) => h("option", { value, selected: value === rules[field] }, label))));
    const tick = (field, words) =>
      h("label", { class: "tick" }, h("input", { type: "checkbox", id: `own-${field}`, checked: rules[field], onchange: (event) => set(field, event.target.checked) }), h("span", {}, words));
    return h("fieldset", { class: "details" }, h("legend", {}, t("setup.details")),
      pick("layout", t("setup.layout"), Object.keys(LAYOUTS).map((name) => [name, t(`layout.${name}`)])),
      pick("scoring", t("setup.scoring"), SCORINGS.map((name) => [name, t(`scoring.${name}`)])),
      pick("pawns", t("setup.pawns"), numbers(1, 3).map((n) => [n, String(n)])),
      h("div", { class: "ticks" }, tick("action_tiles", t("setup.actions")), tick("guards", t("setup.guards"))),
    );
  }

  #seed() {
    const input = h("input", { id: "seed", type: "text", inputmode: "numeric", "aria-describedby": "seed-trouble", placeholder: t("setup.seed.hint"), oninput: (event) => {
      this.#choice.seed = event.target.value.trim();
    } });
    input.value = this.#choice.seed;
    return h("label", { class: "seed" }, h("span", {}, t("setup.seed")), input, h("span", { id: "seed-trouble", class: "trouble", role: "alert" }));
  }

  // Off ------------------------------------------------------------------------------------------

  #start() {
    const { seed: given, names } = this.#choice;
    const chosen = /^\d{1,20}$/.test(given) ? BigInt(given) : null;
    if (given !== "" && (chosen === null || chosen > MAX_SEED)) {
      this.#element.querySelector("#seed-trouble").textContent = t("error.seed");
      const input = this.#element.querySelector("#seed");
      input.setAttribute("aria-invalid", "true");
      input.focus();
      return;
    }
    this.#hooks.keep({ ...this.#choice, seed: "" });
    const kinds = this.#kinds();
    const seats = numbers(0, this.#choice.players - 1).map((seat) => {
      const kind = this.#kind(seat);
      const name = names[seat]?.trim();
      // who is called by another name is told apart by what it is
      return { name: name || this.#standardName(seat), kind, about: name && kind !== "human" ? kinds.get(kind) : "" };
    });
    this.#hooks.start({ rules: this.#rules(), seats, seed: chosen ?? chance() });
  }
}

/** A choice as it was kept, as far as it makes sense. */
function sound({ players, preset: name, kinds, names, own }) {
  const choice = { players: 2, preset: "basic", kinds: [], names: [], own: {}, seed: "" };
  if (numbers(MIN_PLAYERS, MAX_PLAYERS).includes(players)) choice.players = players;
  if (Array.isArray(kinds)) choice.kinds = kinds.map(String);
  if (Array.isArray(names)) choice.names = names.map((each) => (typeof each === "string" ? each : ""));
  try {
    choice.own = { ...own };
    ruleset({ ...choice.own, players: choice.players });
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    choice.own = {};
  }
  if (name === OWN || Object.hasOwn(PRESETS, name)) choice.preset = name;
  return choice;
}

/** A seed by chance, short enough to be written down. */
const chance = () => BigInt(crypto.getRandomValues(new Uint32Array(1))[0]);

const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function radios(name, legend, options, chosen, pick) {
  return h("fieldset", { class: "radios" }, h("legend", {}, legend), options.map(([value, words]) =>
    h("label", {}, h("input", { type: "radio", name, id: `${name}-${value}`, value, checked: value === chosen, onchange: (event) => pick(event.target.value) }), h("span", {}, words)),
  ));
}

/** A piece of track to look at. */
function hero() {
  const tiles = [-4, "lucky", 7, -9, "gift", 2, -1];
  const standing = [[], [0, "guard"], [1], [], [2, 3], [0], [5]];
  const picture = s("svg", { class: "hero", viewBox: "-60 -70 720 140", "aria-hidden": "true" }, s("path", { class: "ribbon", d: "M-900,20 C100,-30 300,40 1500,-10" }));
  tiles.forEach((tile, i) => {
    const y = [2, -6, -2, 6, 7, 0, -5][i];
    const turn = [-4, 3, -2, 4, -3, 2, -4][i];
    const group = s("g", { transform: `translate(${i * 100},${y}) rotate(${turn})` }, drawTile(tile));
    const n = standing[i].length;
    if (n) group.firstChild.classList.add("occupied");
    standing[i].forEach((who, k) => group.append(s("g", { transform: `translate(${(k - (n - 1) / 2) * 30},${TILE.height / 2 - 8})` }, who === "guard" ? drawGuard() : drawPawn(who))));
    picture.append(group);
  });
  return picture;
}
