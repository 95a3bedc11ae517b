// One game being played: whose turn it is, who decides, dice from the seed. What is seen of it is
// the business of its view (play.js).

import { decisionKey, greedy, random } from "./players.js";
import { dieOf, outcome } from "./rules.js";

const BASELINES = { random, greedy };

export class Table {
  #turn = 0; // counts runs of the loop; an older one ends by itself
  #answer = null;
  #view;

  /**
   * `seats` has {name, kind, player} of each; `player` is a function of players.js or a promise of
   * one, and is not needed for people, random and greedy.
   */
  constructor({ game, seats, seed, view }) {
    this.game = game;
    this.seats = seats;
    this.seed = seed;
    this.#view = view;
  }

  get names() {
    return this.seats.map(({ name }) => name);
  }

  /** Play on until the game is over, or `stop`. */
  async run() {
    const turn = ++this.#turn;
    const { game } = this;
    try {
      while (turn === this.#turn && game.position.phase !== "over") await this.#step(turn);
      if (turn === this.#turn) this.#view.ended();
    } catch (error) {
      if (turn === this.#turn) this.#view.failed(error);
    }
  }

  async #step(turn) {
    const { game, seats, seed } = this;
    const position = game.position;
    const seat = seats[position.player];
    if (position.phase === "roll") {
      await (seat.kind === "human" ? this.#ask() : this.#view.waits());
      if (turn !== this.#turn) return;
      game.roll(dieOf(seed, this.#count("roll")));
      await this.#view.rolled(position);
      return;
    }
    const action = await (seat.kind === "human" ? this.#ask() : this.#think(seat, position));
    if (turn !== this.#turn) return;
    const done = outcome(position, action);
    game.play(action);
    await this.#view.played(position, action, done);
  }

  async #think(seat, position) {
    const player = BASELINES[seat.kind] ?? (await seat.player);
    const key = decisionKey(this.seed, this.#count("play"));
    const [action] = await Promise.all([player(position, key), this.#view.waits()]);
    return action;
  }

  #count(kind) {
    return this.game.events.filter(([other]) => other === kind).length;
  }

  /** Have a person decide; `answer` tells what. */
  #ask() {
    return new Promise((told) => {
      this.#answer = told;
      this.#view.asks();
    });
  }

  /** The person's decision: an action, or nothing in phase roll. */
  answer(action) {
    const told = this.#answer;
    this.#answer = null;
    told?.(action);
  }

  /** Whether a person is asked just now, or the game is over: then things may be taken back. */
  get isQuiet() {
    return this.#answer !== null || this.game.position.phase === "over";
  }

  /** Where `undo` would go back to: before the last decision of a person; -1 if there is none. */
  get undoPoint() {
    const { positions, events } = this.game;
    const ofPerson = ([kind], i) => kind === "play" && this.seats[positions[i].player].kind === "human";
    return events.findLastIndex(ofPerson);
  }

  undo() {
    const point = this.undoPoint;
    if (point < 0 || !this.isQuiet) return;
    this.stop();
    this.game.rewind(point);
    this.#view.rewound();
    this.run();
  }

  stop() {
    this.#turn++;
    this.#answer = null;
  }
}
