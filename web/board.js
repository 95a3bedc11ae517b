// The table: the track as a winding path, its pieces, what may be moved, and how it moves.

import { h, motion, pause, s, styled } from "./dom.js";
import { TILE, drawChip, drawGuard, drawPawn, drawTile } from "./figures.js";
import { FIRST_GUARD, FIRST_OPPONENT, landing } from "./rules.js";

const CELL = { width: 100, height: 120 };
const HOP = 150; // ms a tile
const SETTLE = 380; // ms for the gap to close; the style sheet's --settle is the same

/** How many tiles lie in a row, in a table so wide. */
const columnsFor = (width) => (width >= 700 ? 10 : width >= 500 ? 8 : 7);

export class Board {
  #element;
  #svg = s("svg", { class: "track", role: "img" });
  #ribbon = s("path", { class: "ribbon" });
  #layers = { tiles: s("g"), aim: s("g", { class: "aim" }), pieces: s("g") };
  #hint = h("div", { class: "hint", role: "presentation" });
  #words; // () => {start, finish, board, lines(position)}: what is written here
  #spoken = h("ol", { class: "unseen" });
  #columns = 10;
  #rows = 4; // for which there is room
  #length = 38; // of the track at first
  #position = null;
  #tiles = []; // elements along the track
  #pawns = []; // elements by seat and pawn
  #guards = [];
  #offer = { moves: new Map(), choose: () => {} };

  /** `words()` gives `{start, finish, board}` and `lines(position)`, the track in words. */
  constructor(words) {
    this.#words = words;
    this.#svg.append(this.#ribbon, this.#layers.tiles, this.#layers.aim, this.#layers.pieces);
    this.#element = h("div", { class: "felt" }, this.#svg, this.#hint, this.#spoken);
    new ResizeObserver(() => requestAnimationFrame(() => this.#fit())).observe(this.#element);
  }

  /** As many tiles in a row as the width has room for. */
  #fit() {
    const width = this.#element.clientWidth;
    const columns = columnsFor(width);
    if (width === 0 || columns === this.#columns) return;
    this.#columns = columns;
    if (!this.#position) return;
    const { moves, choose } = this.#offer;
    const position = this.#position;
    this.show(position);
    if (moves.size) this.offer(position, moves, choose);
  }

  get element() {
    return this.#element;
  }

  /** Make room for a track of `length` slots, and show `position` at once. */
  begin(position, length) {
    this.#length = length;
    this.#columns = columnsFor(this.#element.clientWidth);
    this.show(position);
  }

  /** Draw `position` anew. */
  show(position) {
    this.withdraw();
    this.#layers.tiles.replaceChildren();
    this.#layers.pieces.replaceChildren();
    this.#tiles = position.track.map((tile) => this.#added(this.#drawn(tile), "tiles"));
    this.#pawns = position.pawns.map((slots, seat) =>
      slots.map(() => this.#added(drawPawn(seat), "pieces")),
    );
    this.#guards = position.guards.map(() => this.#added(drawGuard(), "pieces"));
    this.#svg.classList.add("still"); // no motion from where they were
    this.#arrange(position);
  }

  #added(element, layer) {
    this.#layers[layer].append(element);
    return element;
  }

  #drawn(tile) {
    return drawTile(tile, this.#words()[tile] ?? "");
  }

  // Where things lie -------------------------------------------------------------------------

  #arrange(position) {
    this.#position = position;
    const rows = Math.ceil(position.track.length / this.#columns);
    this.#rows = this.#columns > 7 ? Math.ceil(this.#length / this.#columns) : rows;
    const height = this.#rows * CELL.height;
    this.#svg.setAttribute("viewBox", `0 0 ${this.#columns * CELL.width} ${height}`);
    const places = position.track.map((_, slot) => this.#place(slot, position));
    this.#ribbon.setAttribute("d", `M${places.map(({ x, y }) => `${x},${y}`).join("L")}`);
    const occupied = new Set([...position.pawns.flat(), ...position.guards]);
    this.#tiles.forEach((element, slot) => {
      put(element, places[slot]);
      element.classList.toggle("occupied", occupied.has(slot));
    });
    const { pawns, guards } = this.#standing(position);
    this.#pawns.forEach((row, seat) => row.forEach((element, k) => put(element, pawns[seat][k])));
    this.#guards.forEach((element, k) => put(element, guards[k]));
    this.#stack();
    const { board, lines } = this.#words();
    this.#svg.setAttribute("aria-label", board);
    this.#spoken.replaceChildren(...lines(position).map((line) => h("li", {}, line)));
  }

  /** Pieces lower on the table hide those behind. */
  #stack() {
    const all = [...this.#guards, ...this.#pawns.flat()];
    const depth = (element) => Number(element.dataset.y) + Number(element.dataset.x) / 1e5;
    all.sort((a, b) => depth(a) - depth(b));
    // moving an element in the document would end its motion: only if the order is another
    const now = [...this.#layers.pieces.children];
    if (all.some((element, i) => element !== now[i])) this.#layers.pieces.append(...all);
  }

  /** The centre of a slot; every other row runs back. */
  #place(slot, position) {
    const rows = Math.ceil(position.track.length / this.#columns);
    const spread = rows < this.#rows ? Math.min(1.2, this.#rows / rows) : 1;
    const top = ((this.#rows - rows * spread) * CELL.height) / 2;
    const row = Math.floor(slot / this.#columns);
    const along = slot % this.#columns;
    const column = row % 2 ? this.#columns - 1 - along : along;
    const y = top + (row + 0.5) * spread * CELL.height;
    return { x: (column + 0.5) * CELL.width, y, scale: 1 };
  }

  /** Where each piece stands: groups of one colour side by side, in front on the tile. */
  #standing(position) {
    const groups = new Map(); // slot -> owners on it, in order
    const note = (slot, owner) => {
      const owners = groups.get(slot) ?? [];
      if (!owners.includes(owner)) owners.push(owner);
      groups.set(slot, owners);
    };
    position.guards.forEach((slot) => note(slot, "guard"));
    position.pawns.forEach((slots, seat) => slots.forEach((slot) => note(slot, seat)));
    const spot = (slots, k, owner) => {
      const centre = this.#place(slots[k], position);
      const owners = groups.get(slots[k]);
      const { dx, dy, scale } = corner(owners.indexOf(owner), owners.length);
      const fellows = slots.filter((slot) => slot === slots[k]).length;
      const rank = k - slots.indexOf(slots[k]);
      const fan = (rank - (fellows - 1) / 2) * 8 * scale;
      return { x: centre.x + dx + fan, y: centre.y + dy - rank * 3 * scale, scale };
    };
    return {
      pawns: position.pawns.map((slots, seat) => slots.map((_, k) => spot(slots, k, seat))),
      guards: position.guards.map((_, k) => spot(position.guards, k, "guard")),
    };
  }

  // What may be moved --------------------------------------------------------------------------

  /**
   * Let the pieces of these actions of `position` be picked.
   *
   * `moves` maps an action to what it does, in words; `choose(action)` is called once.
   */
  offer(position, moves, choose) {
    this.withdraw();
    this.#position = position; // the die is another
    this.#offer = { moves, choose };
    for (const [action, words] of moves) {
      for (const element of this.#piecesOf(action)) {
        element.classList.add("legal");
        const reach = s("rect", { class: "reach", x: -20, y: -40, width: 40, height: 46, rx: 10 });
        const aim = () => this.aim(action, words);
        reach.addEventListener("pointerenter", aim);
        reach.addEventListener("pointerleave", () => this.aim(null));
        reach.addEventListener("click", () => choose(action));
        element.prepend(s("ellipse", { class: "halo", rx: 25, ry: 11 }));
        element.append(reach);
      }
    }
  }

  /** Nothing may be picked. */
  withdraw() {
    this.#offer = { moves: new Map(), choose: () => {} };
    this.aim(null);
    for (const element of this.#svg.querySelectorAll(".legal")) {
      element.classList.remove("legal");
      element.querySelector(".reach").remove();
      element.querySelector(".halo").remove();
    }
  }

  /** Show where `action` would lead; null shows nothing. */
  aim(action, words = "") {
    this.#layers.aim.replaceChildren();
    this.#hint.classList.remove("shown");
    for (const element of this.#svg.querySelectorAll(".aimed")) element.classList.remove("aimed");
    if (action === null || !this.#offer.moves.has(action)) return;
    const [element] = this.#piecesOf(action);
    if (!element) return;
    const slot = this.#slotOf(action);
    const from = { x: Number(element.dataset.x), y: Number(element.dataset.y) - 14 };
    const target = this.#place(landing(this.#position, slot), this.#position);
    const bend = { x: (from.x + target.x) / 2, y: Math.min(from.y, target.y) - 60 - Math.abs(from.x - target.x) * 0.12 };
    const d = `M${from.x},${from.y}Q${bend.x},${bend.y} ${target.x},${target.y}`;
    const edge = { x: target.x - TILE.width / 2, y: target.y - TILE.height / 2, rx: 13 };
    this.#layers.aim.append(
      s("path", { class: "arc casing", d }),
      s("path", { class: "arc", d }),
      s("rect", { class: "target casing", width: TILE.width, height: TILE.height, ...edge }),
      s("rect", { class: "target", width: TILE.width, height: TILE.height, ...edge }),
    );
    element.classList.add("aimed");
    if (words) this.#hintAt(element, words);
  }

  #hintAt(element, words) {
    this.#hint.textContent = words;
    this.#hint.classList.add("shown");
    const table = this.#element.getBoundingClientRect();
    const piece = element.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#hint;
    const middle = piece.left + piece.width / 2 - table.left;
    const left = Math.max(6, Math.min(middle - width / 2, table.width - width - 6));
    const above = piece.top - table.top - height - 10;
    const top = above > 4 ? above : piece.bottom - table.top + 10;
    styled(this.#hint, { left: `${left}px`, top: `${top}px` });
  }

  #slotOf(action) {
    const { pawns, player, guards } = this.#position;
    return action < FIRST_GUARD ? pawns[player][action] : guards[action - FIRST_GUARD];
  }

  /** The elements of the pieces that an action of phase move could mean, its own first. */
  #piecesOf(action) {
    const { pawns, player, guards } = this.#position;
    if (action >= FIRST_OPPONENT) return [];
    const [elements, slots, k] =
      action < FIRST_GUARD
        ? [this.#pawns[player], pawns[player], action]
        : [this.#guards, guards, action - FIRST_GUARD];
    return elements.filter((_, i) => slots[i] === slots[k]).reverse();
  }

  // Motion ---------------------------------------------------------------------------------------

  /**
   * Carry out what `outcome` (of rules.js) says, from the position shown.
   *
   * `tower(seat)` gives the element to which taken tiles fly; `pace` is 0 for at once, 1 for the
   * usual speed.
   */
  async carryOut(outcome, action, tower, pace) {
    const { piece, from, to, takes, turns, position } = outcome;
    const moving = pace > 0 && motion();
    const mover = this.#position.player;
    this.withdraw();
    this.#svg.classList.toggle("still", !moving);
    if (piece !== null) {
      const [elements, k] =
        piece === "pawn" ? [this.#pawns[mover], action] : [this.#guards, action - FIRST_GUARD];
      const slots = piece === "pawn" ? this.#position.pawns[mover] : this.#position.guards;
      const [element] = elements.splice(k, 1);
      elements.splice(slots.filter((slot, i) => i !== k && slot < to).length, 0, element);
      if (moving) await this.#hop(element, from, to, pace);
      if (takes !== null) {
        const [tile] = this.#tiles.splice(from, 1);
        const begin = tile.getBoundingClientRect();
        tile.remove();
        if (moving) await fly(takes, begin, tower(mover).getBoundingClientRect(), pace);
      } else if (turns !== null) {
        await this.#turn(from, outcome.position.track[from], moving ? pace : 0);
      }
    }
    if (outcome.passes !== null && moving) {
      const { tile, from: giver, to: receiver } = outcome.passes;
      const rect = (seat) => tower(seat).getBoundingClientRect();
      await fly(tile, rect(giver), rect(receiver), pace);
    }
    this.#arrange(position);
    if (moving && takes !== null) await pause(SETTLE * pace);
  }

  async #hop(element, from, to, pace) {
    this.#layers.pieces.append(element); // in front of all others
    const scale = 1.12;
    const frames = [element.style.transform];
    for (let slot = from + 1; slot <= to; slot++) {
      const { x, y } = this.#place(slot, this.#position);
      const before = this.#place(slot - 1, this.#position);
      const over = { x: (x + before.x) / 2, y: (y + before.y) / 2 - 20 };
      frames.push(transform({ ...over, scale }), transform({ x, y: y + 26, scale }));
    }
    const options = { duration: HOP * (to - from) * pace, easing: "ease-in-out", fill: "forwards" };
    const motions = element.animate(frames.map((value) => ({ transform: value })), options);
    await motions.finished;
    const { x, y } = this.#place(to, this.#position);
    put(element, { x, y: y + 26, scale: 1 });
    motions.cancel();
  }

  async #turn(slot, face, pace) {
    const old = this.#tiles[slot];
    const fresh = this.#drawn(face);
    fresh.className.baseVal = `${fresh.className.baseVal} ${old.matches(".occupied") ? "occupied" : ""}`;
    const place = this.#place(slot, this.#position);
    const edge = `${transform(place)} scaleX(0.02)`;
    const half = { duration: 200 * pace, easing: "ease-in" };
    if (pace > 0) await old.animate([{ transform: transform(place) }, { transform: edge }], half).finished;
    put(fresh, place);
    old.replaceWith(fresh);
    this.#tiles[slot] = fresh;
    if (pace > 0) await fresh.animate([{ transform: edge }, { transform: transform(place) }], half).finished;
  }
}

const transform = ({ x, y, scale }) => `translate(${x}px, ${y}px) scale(${scale})`;

function put(element, place) {
  styled(element, { transform: transform(place) });
  element.dataset.x = place.x;
  element.dataset.y = place.y;
}

/** Where the i-th of n groups stands on its tile, from the centre. */
function corner(i, n) {
  if (n <= 3) return { dx: (i - (n - 1) / 2) * 27, dy: 44, scale: n === 1 ? 1 : n === 2 ? 0.92 : 0.84 };
  const perRow = Math.ceil(n / 2);
  const row = Math.floor(i / perRow);
  const inRow = row === 0 ? perRow : n - perRow;
  const dx = ((i % perRow) - (inRow - 1) / 2) * (perRow > 3 ? 21 : 27);
  return { dx, dy: row ? 46 : 16, scale: perRow > 3 ? 0.66 : 0.72 };
}

/** A small tile flies from one place on the screen to another. */
async function fly(tile, from, to, pace) {
  const chip = h("div", { class: "flying" }, drawChip(tile));
  document.body.append(chip);
  const at = (rect, size) => {
    const [x, y] = [rect.left + rect.width / 2, rect.top + rect.height / 2];
    return { transform: `translate(${x}px, ${y}px) translate(-50%, -50%) scale(${size})` };
  };
  const frames = [at(from, 1.6), { ...at(from, 2), offset: 0.25 }, at(to, 0.9)];
  await chip.animate(frames, { duration: 620 * pace, easing: "cubic-bezier(.4,0,.2,1)" }).finished;
  chip.remove();
}
