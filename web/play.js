// The view of a game being played.

import { Board } from "./board.js";
import { $, download, h, pause, styled } from "./dom.js";
import { drawDie } from "./figures.js";
import { sharesAfter } from "./players.js";
import { FIRST_OPPONENT, legalActions, winners } from "./rules.js";
import { Seats } from "./seats.js";
import { listed, percent, t, tileName, trainedName } from "./text.js";
import { explain, happened, sentence, trackInWords } from "./words.js";

const PACES = { calm: 1, quick: 0.4, instant: 0 };
const THINKING = 620; // ms between what other players do, at the calm pace
const BREATH = 40; // ms after which the page is shown, at once or not

export class PlayView {
  #element = h("div", { class: "game" });
  #parts = {};
  #board;
  #seats = new Seats();
  #table = null;
  #shown = 0; // when, in ms
  #settings;
  #hooks;

  /** `settings` has pace and coach; `hooks` canCoach(), coach() (a promise of a bundle), finished, replay, alarm, say. */
  constructor(settings, hooks) {
    this.#settings = settings;
    this.#hooks = hooks;
    this.#board = new Board(() => this.#boardWords());
  }

  get element() {
    return this.#element;
  }

  get table() {
    return this.#table;
  }

  begin(table) {
    this.#table = table;
    this.build();
    this.#board.begin(table.game.position, table.game.opening.track.length);
    table.run();
  }

  /** Everything anew, as for another language. */
  build() {
    const tool = (name, press) => h("button", { type: "button", class: `tool ${name}`, onclick: press }, t(`play.${name}`));
    const parts = {
      die: h("div", { class: "dice" }),
      status: h("p", { class: "status" }),
      act: h("div", { class: "act" }),
      log: h("ol", { class: "log", tabindex: "0", "aria-label": t("log.heading") }),
      undo: tool("undo", () => this.#table.undo()),
      coach: h("button", { type: "button", class: "tool coach", "aria-pressed": "false", onclick: () => this.#toggleCoach() }, t("play.coach")),
      pace: h(
        "select",
        { onchange: (event) => this.#hooks.set("pace", event.target.value) },
        Object.keys(PACES).map((pace) => h("option", { value: pace, selected: pace === this.#settings.pace }, t(`pace.${pace}`))),
      ),
    };
    this.#parts = parts;
    const save = tool("record", () => download(`thatslife-${this.#table.seed}.jsonl`, `${this.#table.game.toText()}\n`));
    const tools = h(
      "div",
      { class: "tools" },
      parts.undo,
      parts.coach,
      save,
      tool("replay", () => this.#hooks.replay(this.#table)),
      h("label", { class: "pace" }, t("play.pace"), parts.pace),
    );
    this.#element.replaceChildren(
      h("div", { class: "ground" },
        h("div", { class: "bar" }, parts.die, parts.status),
        this.#board.element,
        parts.act,
      ),
      h("aside", { class: "side" },
        h("h2", { class: "unseen" }, t("seats.heading")),
        this.#seats.element,
        tools,
        h("details", { class: "past", open: innerWidth > 900 }, h("summary", {}, t("log.heading")), parts.log),
        h("p", { class: "seed" }, t("play.seed", { seed: this.#table.seed })),
      ),
    );
    this.refresh();
  }

  /** What the position is, and what may be done, without motion. */
  refresh() {
    const { game } = this.#table;
    this.#board.show(game.position);
    const { positions, events } = game;
    const lines = events.map((event, i) => this.#logLine(positions[i], event));
    this.#parts.log.replaceChildren(...lines.toReversed());
    this.#around();
    if (game.position.phase === "over") this.ended();
    else if (this.#table.isQuiet) this.asks();
  }

  get #pace() {
    return PACES[this.#settings.pace] ?? 1;
  }

  /** Die, status, players, tools. */
  #around(extra = {}) {
    const { position } = this.#table.game;
    this.#parts.die.replaceChildren(drawDie(position.die || this.#lastDie()));
    this.#parts.die.classList.toggle("old", position.die === 0);
    this.#parts.status.textContent = this.#status();
    this.#seats.show(position, this.#table.names, this.#kinds(), extra);
    this.#parts.undo.disabled = !this.#table.isQuiet || this.#table.undoPoint < 0;
    const { coach } = this.#parts;
    const can = this.#hooks.canCoach();
    coach.setAttribute("aria-pressed", String(can && this.#settings.coach));
    coach.disabled = !can;
    coach.title = can ? "" : t("play.coach.none");
  }

  #kinds() {
    return this.#table.seats.map(({ about }) => about);
  }

  #lastDie() {
    return this.#table.game.events.findLast(([kind]) => kind === "roll")?.[1] ?? 0;
  }

  #status() {
    const { names, seats, game } = this.#table;
    const { phase, player, die, towers } = game.position;
    const name = names[player];
    const human = seats[player].kind === "human";
    if (phase === "over") return this.#verdict();
    if (phase === "roll") return t(human ? "status.roll" : "status.rolls", { name });
    if (!human) return t("status.thinks", { name, die });
    return t(`status.${phase}`, { name, die, tile: tileName(towers[player].at(-1) ?? "lucky") });
  }

  #verdict() {
    const won = winners(this.#table.game.position).map((seat) => this.#table.names[seat]);
    return t(won.length > 1 ? "status.shared" : "status.won", { names: listed(won) });
  }

  #boardWords() {
    const { names, game } = this.#table;
    return {
      start: t("face.start"),
      finish: t("face.finish"),
      board: t("play.board", { n: game.position.track.length - 2 }),
      lines: (position) => trackInWords(position, names),
    };
  }

  #logLine(position, event) {
    return h("li", {}, happened(position, event, this.#table.names));
  }

  #note(position, event) {
    const line = this.#logLine(position, event);
    this.#parts.log.prepend(line);
    this.#hooks.say(line.textContent);
  }

  // What the table tells -------------------------------------------------------------------------

  async waits() {
    const now = performance.now();
    if (this.#pace === 0 && now - this.#shown < BREATH) return;
    this.#shown = now;
    this.#parts.act.replaceChildren();
    this.#around();
    await pause(THINKING * this.#pace);
  }

  async rolled(before) {
    const { game } = this.#table;
    this.#note(before, game.events.at(-1));
    if (this.#pace > 0) {
      this.#parts.act.replaceChildren();
      this.#around();
      this.#parts.die.classList.add("tumbling");
      await pause(420 * this.#pace);
      this.#parts.die.classList.remove("tumbling");
    }
  }

  async played(before, action, done) {
    this.#parts.act.replaceChildren();
    this.#parts.undo.disabled = true;
    this.#note(before, ["play", action]);
    const tower = (seat) => this.#seats.tower(seat);
    await this.#board.carryOut(done, action, tower, this.#pace);
    if (this.#pace > 0) this.#around();
  }

  rewound() {
    this.refresh();
  }

  failed(error) {
    this.#hooks.alarm(error, () => this.#table.run());
  }

  ended() {
    this.#around();
    const show = h("button", { type: "button", class: "main", onclick: () => this.#hooks.finished(this.#table) }, t("play.sheet"));
    this.#parts.act.replaceChildren(show);
    this.#hooks.say(this.#status());
    this.#hooks.finished(this.#table);
  }

  /** A person is to roll or decide. */
  asks() {
    const { game, names } = this.#table;
    const position = game.position;
    const held = document.activeElement === document.body || this.#element.contains(document.activeElement);
    this.#around();
    this.#hooks.say(this.#status());
    if (position.phase === "roll") {
      const roll = h("button", { type: "button", class: "main roll", onclick: () => this.#answer() }, t("play.roll"));
      this.#parts.act.replaceChildren(roll);
    } else {
      const actions = legalActions(position);
      const moves = new Map(actions.map((action) => [action, sentence(position, action, names)]));
      this.#board.offer(position, moves, (action) => this.#answer(action));
      this.#parts.act.replaceChildren(this.#list(position, actions));
      if (position.phase !== "move") this.#offerPartners(position, actions);
      if (this.#settings.coach && this.#hooks.canCoach()) this.#advise(position, actions);
    }
    if (held) this.#parts.act.querySelector("button")?.focus({ preventScroll: true });
  }

  #answer(action) {
    this.#board.withdraw();
    this.#table.answer(action);
  }

  #list(position, actions) {
    const { names } = this.#table;
    const rows = actions.map((action, i) => {
      const { what, parts, tone } = explain(position, action, names);
      const aim = () => this.#board.aim(action);
      const rest = () => this.#board.aim(null);
      const [main, ...others] = parts.length > 1 ? parts : [null, ...parts];
      return h("li", {},
        h("button",
          { type: "button", class: "move", "data-action": action, onclick: () => this.#answer(action), onpointerenter: aim, onpointerleave: rest, onfocus: aim, onblur: rest },
          h("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
          h("span", { class: "words" },
            h("span", { class: "what" }, what),
            main ? h("span", { class: `effect ${tone}` }, ` ${main}`) : null,
            others.length ? h("span", { class: "landing" }, ` ${others.join(" · ")}`) : null,
          ),
          h("span", { class: "advice" }),
        ),
      );
    });
    const list = h("ol", { class: "moves", "aria-label": t("play.moves") }, rows);
    list.addEventListener("keydown", (event) => {
      const n = Number(event.key);
      if (!event.ctrlKey && !event.metaKey && !event.altKey && n >= 1 && n <= actions.length) this.#answer(actions[n - 1]);
    });
    return list;
  }

  #offerPartners(position, actions) {
    const { names } = this.#table;
    const partners = new Map(actions.map((action) => {
      const seat = (position.player + action - FIRST_OPPONENT + 1) % names.length;
      const label = explain(position, action, names).what;
      return [seat, h("button", { type: "button", class: "pick", tabindex: "-1", "aria-hidden": "true", onclick: () => this.#answer(action) }, label)];
    }));
    this.#around({ partners });
  }

  // The coach --------------------------------------------------------------------------------------

  #toggleCoach() {
    this.#hooks.set("coach", !this.#settings.coach);
    this.#around();
    if (this.#table.isQuiet && this.#table.game.position.phase !== "over") this.asks();
  }

  async #advise(position, actions) {
    try {
      const bundle = await this.#hooks.coach();
      const nothing = { probabilities: null, value: null };
      const { probabilities, value } = bundle.hasPolicy ? await bundle.judge(position) : nothing;
      const after = bundle.hasValue ? await sharesAfter(bundle, position, actions) : null;
      if (this.#table.game.position !== position) return; // meanwhile decided
      const chances = after?.map((shares) => shares[position.player]);
      this.#showAdvice(actions, probabilities, chances);
      // what the seats may expect if the best move is played
      const shares = after?.[chances.indexOf(Math.max(...chances))];
      if (shares) this.#seats.show(position, this.#table.names, this.#kinds(), { chances: shares });
      if (position.phase !== "move") this.#offerPartners(position, actions);
      const now = shares ? shares[position.player] : value;
      const heading = t("coach.heading", { name: trainedName(bundle.name) });
      const words = now === null ? heading : `${heading} · ${t("coach.now", { share: percent(now) })}`;
      this.#parts.act.append(h("p", { class: "now" }, words));
    } catch (error) {
      this.#hooks.alarm(error, () => this.asks());
    }
  }

  #showAdvice(actions, probabilities, chances) {
    const rates = chances ?? actions.map((action) => probabilities[action]);
    const highest = Math.max(...rates);
    actions.forEach((action, i) => {
      const place = this.#parts.act.querySelector(`[data-action="${action}"] .advice`);
      const bar = h("span", { class: "likely", "aria-hidden": "true" }, styled(h("span"), { width: `${Math.round(rates[i] * 100)}%` }));
      const words = chances ? [t("coach.wins", { share: percent(chances[i], 1) })] : [];
      if (probabilities) words.push(t("coach.likely", { share: percent(probabilities[action]) }));
      place.closest("button").classList.toggle("best", rates[i] === highest);
      place.replaceChildren(bar, h("span", {}, words.join(" · ")));
    });
  }
}
