// The view of a recorded game, with a scrubber.

import { Board } from "./board.js";
import { h, pause } from "./dom.js";
import { drawDie, drawIcon } from "./figures.js";
import { outcome, winners } from "./rules.js";
import { Seats } from "./seats.js";
import { listed, t } from "./text.js";
import { happened, trackInWords } from "./words.js";

export class ReplayView {
  #element = h("div", { class: "game replay" });
  #board;
  #seats = new Seats();
  #parts = {};
  #games = [];
  #which = 0;
  #step = 0;
  #running = 0; // counts runs; 0 is none
  #runs = 0;
  #hooks;

  /** `hooks`: leave() and say(text). */
  constructor(hooks) {
    this.#hooks = hooks;
    this.#board = new Board(() => ({
      start: t("face.start"),
      finish: t("face.finish"),
      board: t("play.board", { n: this.#position.track.length - 2 }),
      lines: (position) => trackInWords(position, this.#names),
    }));
  }

  get element() {
    return this.#element;
  }

  /** Show these games, the first from its beginning. */
  begin(games) {
    this.#games = games;
    this.#which = 0;
    this.#step = 0;
    this.build();
  }

  stop() {
    this.#running = 0;
  }

  get #game() {
    return this.#games[this.#which];
  }

  get #position() {
    return this.#game.positions[this.#step];
  }

  get #names() {
    const { meta, opening } = this.#game;
    const given = Array.isArray(meta.names) ? meta.names : [];
    return opening.pawns.map((_, seat) =>
      typeof given[seat] === "string" && given[seat] ? given[seat].slice(0, 40) : t("name.human", { n: seat + 1 }),
    );
  }

  build() {
    const button = (name, press) =>
      h("button", { type: "button", class: `step do-${name}`, title: t(`replay.${name}`), "aria-label": t(`replay.${name}`), onclick: press }, drawIcon(name));
    const last = this.#game.events.length;
    this.#parts = {
      die: h("div", { class: "dice" }),
      status: h("p", { class: "status" }),
      log: h("ol", { class: "log", tabindex: "0", "aria-label": t("log.heading") }),
      run: button("play", () => this.#toggle()),
      range: h("input", { type: "range", min: 0, max: last, step: 1, value: this.#step, "aria-label": t("replay.heading"), oninput: (event) => this.#jump(Number(event.target.value)) }),
      count: h("output", { class: "count" }),
    };
    const which = h("select", { "aria-label": t("replay.heading"), onchange: (event) => this.#choose(Number(event.target.value)) },
      this.#games.map((_, i) => h("option", { value: i, selected: i === this.#which }, t("replay.which", { n: i + 1, of: this.#games.length }))),
    );
    this.#element.replaceChildren(
      h("div", { class: "ground" },
        h("div", { class: "bar" }, this.#parts.die, this.#parts.status),
        this.#board.element,
        h("div", { class: "scrubber" },
          button("first", () => this.#jump(0)),
          button("back", () => this.#jump(this.#step - 1)),
          this.#parts.run,
          button("forward", () => this.#forward()),
          button("last", () => this.#jump(last)),
          this.#parts.range,
          this.#parts.count,
        ),
      ),
      h("aside", { class: "side" },
        h("h2", {}, t("replay.heading")),
        this.#games.length > 1 ? which : null,
        this.#seats.element,
        h("div", { class: "tools" }, h("button", { type: "button", class: "tool", onclick: () => this.#hooks.leave() }, t("replay.leave"))),
        h("details", { class: "past", open: innerWidth > 900 }, h("summary", {}, t("log.heading")), this.#parts.log),
      ),
    );
    this.#board.begin(this.#position, this.#game.opening.track.length);
    this.#around();
  }

  #choose(which) {
    this.stop();
    this.#which = which;
    this.#step = 0;
    this.build();
  }

  #around() {
    const { events, positions } = this.#game;
    const position = this.#position;
    const rolled = events.slice(0, this.#step).findLast(([kind]) => kind === "roll");
    const done = this.#step === 0 ? t("replay.begin") : happened(positions[this.#step - 1], events[this.#step - 1], this.#names);
    const won = winners(position).map((seat) => this.#names[seat]);
    const over = position.phase === "over" ? t(won.length > 1 ? "status.shared" : "status.won", { names: listed(won) }) : null;
    this.#parts.die.replaceChildren(drawDie(position.die || (rolled?.[1] ?? 0)));
    this.#parts.die.classList.toggle("old", position.die === 0);
    this.#parts.status.textContent = over ?? done;
    this.#parts.range.value = this.#step;
    const step = t("replay.step", { n: this.#step, of: events.length });
    this.#parts.range.setAttribute("aria-valuetext", `${step}: ${done}`);
    this.#parts.count.textContent = step;
    const running = this.#running > 0;
    const name = running ? "pause" : "play";
    this.#parts.run.setAttribute("aria-label", t(`replay.${name}`));
    this.#parts.run.title = t(`replay.${name}`);
    this.#parts.run.replaceChildren(drawIcon(name));
    this.#seats.show(position, this.#names, []);
    const lines = events.slice(0, this.#step).map((event, i) => h("li", {}, happened(positions[i], event, this.#names)));
    this.#parts.log.replaceChildren(...lines.toReversed());
  }

  #jump(step) {
    this.stop();
    this.#step = Math.max(0, Math.min(step, this.#game.events.length));
    this.#board.show(this.#position);
    this.#around();
  }

  async #forward() {
    this.stop();
    await this.#advance(0.5);
    this.#hooks.say(this.#parts.status.textContent);
  }

  /** One step on, moved. */
  async #advance(pace) {
    const game = this.#game;
    const event = game.events[this.#step];
    if (!event) return;
    const before = this.#position;
    this.#step++;
    if (event[0] === "play") {
      const step = this.#step;
      this.#board.show(before);
      await this.#board.carryOut(outcome(before, event[1]), event[1], (seat) => this.#seats.tower(seat), pace);
      if (game !== this.#game || step !== this.#step) {
        this.#board.show(this.#position); // meanwhile elsewhere
        return;
      }
    }
    this.#around();
  }

  async #toggle() {
    if (this.#running) {
      this.stop();
      this.#around();
      return;
    }
    if (this.#step === this.#game.events.length) this.#jump(0);
    const run = ++this.#runs;
    this.#running = run;
    this.#around();
    while (this.#running === run && this.#step < this.#game.events.length) {
      await this.#advance(0.6);
      await pause(350);
    }
    if (this.#running === run) this.stop();
    this.#around();
  }
}
