// The drawings: tiles, pawns, guards, the die. All are SVG elements about the origin they name.

import { s } from "./dom.js";
import palette from "./palette.js";
import { MAX_VALUE, MIN_VALUE } from "./rules.js";

export const TILE = { width: 88, height: 104 };

/** Fill and ink of a tile's face; the larger the number, the deeper. */
export function tileColours(tile) {
  const { tiles } = palette;
  if (typeof tile !== "number") return tiles[tile] ?? tiles.end;
  const { light, deep, ink } = tile < 0 ? tiles.minus : tiles.plus;
  const depth = (Math.abs(tile) - 1) / ((tile < 0 ? -MIN_VALUE : MAX_VALUE) - 1);
  return { fill: mixed(light, deep, depth), ink };
}

function mixed(from, to, share) {
  const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  const mix = a.map((part, i) => Math.round(part + (b[i] - part) * share));
  return `#${mix.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** What a tile shows: "−3", "+5"; words stay empty. */
export const digits = (tile) => (tile < 0 ? `−${-tile}` : `+${tile}`);

/** A tile about its centre; `label` is written on start and finish. */
export function drawTile(tile, label = "") {
  const { fill, ink } = tileColours(tile);
  const { width, height } = TILE;
  const face = s("g", { class: "face", fill: ink }, symbol(tile, ink, label));
  return s(
    "g",
    { class: `tile ${typeof tile === "number" ? "number" : tile}` },
    s("rect", { class: "shadow", x: -width / 2, y: -height / 2 + 4, width, height, rx: 13 }),
    s("rect", { class: "card", x: -width / 2, y: -height / 2, width, height, rx: 13, fill }),
    face,
  );
}

function symbol(tile, ink, label) {
  if (typeof tile === "number") {
    const size = Math.abs(tile) > 9 ? 34 : 42;
    const text = { class: "digits", "text-anchor": "middle", y: size * 0.36, "font-size": size };
    return s("text", text, digits(tile));
  }
  if (tile === "lucky") return clover();
  if (tile === "gift") return parcel(ink);
  if (tile === "steal") return mask();
  const word = { class: "word", "text-anchor": "middle", y: 22, "font-size": label.length > 7 ? 17 : 20 };
  return [tile === "start" ? arrow() : flag(ink), s("text", word, label)];
}

function clover() {
  const leaf = "M0,0 C-4,-8 -17,-9 -15,-19 C-13,-27 -3,-26 0,-18 C3,-26 13,-27 15,-19 C17,-9 4,-8 0,0Z";
  const leaves = [45, 135, 225, 315].map((turn) => s("path", { d: leaf, transform: `rotate(${turn})` }));
  const stem = s("path", { d: "M1,3 q3,16 11,24", fill: "none", stroke: "currentColor", "stroke-width": 4, "stroke-linecap": "round" });
  return s("g", { class: "clover", transform: "scale(0.95)" }, stem, leaves);
}

function parcel(ink) {
  const line = { fill: "none", stroke: ink, "stroke-width": 4.5, "stroke-linejoin": "round", "stroke-linecap": "round" };
  return s(
    "g",
    { transform: "translate(0,2)" },
    s("rect", { x: -20, y: -4, width: 40, height: 26, rx: 3, ...line }),
    s("path", { d: "M-24,-12 H24 V-4 H-24Z M0,-12 V22", ...line }),
    s("path", { d: "M0,-12 C-4,-26 -20,-26 -15,-15 C-13,-12 -6,-12 0,-12 C6,-12 13,-12 15,-15 C20,-26 4,-26 0,-12", ...line }),
  );
}

function mask() {
  const d =
    "M-28,-12 C-16,-19 -8,-10 0,-10 C8,-10 16,-19 28,-12 C30,6 22,16 11,14 C4,13 3,6 0,6 C-3,6 -4,13 -11,14 C-22,16 -30,6 -28,-12Z" +
    "M-18,-3 C-13,-8 -8,-5 -6,0 C-10,5 -16,4 -18,-3Z M18,-3 C13,-8 8,-5 6,0 C10,5 16,4 18,-3Z";
  return s("path", { d, "fill-rule": "evenodd" });
}

const arrow = () => s("path", { d: "M-16,-20 h18 v-9 l18,15 l-18,15 v-9 h-18Z", transform: "translate(-2,-2)" });

function flag(ink) {
  const cells = [0, 1, 2, 3, 4, 5].map((i) => {
    const [column, row] = [i % 3, Math.floor(i / 3)];
    if ((column + row) % 2) return null;
    return s("rect", { x: -12 + column * 11, y: -33 + row * 11, width: 11, height: 11 });
  });
  const edge = { x: -12, y: -33, width: 33, height: 22, fill: "none", stroke: ink, "stroke-width": 2 };
  return s("g", {}, s("path", { d: "M-16,-36 h4 v38 h-4Z" }), s("rect", edge), cells);
}

/** A pawn of `seat`, standing on the origin; 30 wide, 36 high. */
export function drawPawn(seat) {
  const { fill, ink, mark } = palette.seats[seat];
  return s(
    "g",
    { class: "pawn" },
    s("path", { class: "body", fill, d: "M-15,0 V-5 C-15,-14 -8,-19 0,-19 C8,-19 15,-14 15,-5 V0 Q0,4 -15,0Z" }),
    s("circle", { class: "body", fill, cy: -25, r: 9 }),
    s("g", { transform: "translate(0,-8) scale(0.72)", fill: ink }, drawMark(mark)),
  );
}

/** A guard, standing on the origin. */
export function drawGuard() {
  const { fill, ink } = palette.guard;
  return s(
    "g",
    { class: "guard" },
    s("path", { class: "body", fill, d: "M-15,0 V-5 C-15,-14 -8,-19 0,-19 C8,-19 15,-14 15,-5 V0 Q0,4 -15,0Z" }),
    s("circle", { class: "body", fill, cy: -24, r: 8 }),
    s("path", { class: "body", fill, d: "M-13,-26 H13 C11,-30 9,-31 8,-36 H-8 C-9,-31 -11,-30 -13,-26Z" }),
    s("path", { fill: ink, d: "M-6,-14 Q0,-12 6,-14 C7,-6 4,-2 0,0 C-4,-2 -7,-6 -6,-14Z" }),
  );
}

/** A seat's mark about the origin, 16 high; filled with what surrounds it. */
export function drawMark(mark) {
  const star = Array.from({ length: 10 }, (_, i) => {
    const radius = i % 2 ? 4.2 : 10;
    const angle = (Math.PI * i) / 5;
    return `${(radius * Math.sin(angle)).toFixed(1)},${(-radius * Math.cos(angle)).toFixed(1)}`;
  });
  const d = {
    triangle: "M0,-8 L9,7 H-9Z",
    square: "M-7,-7 H7 V7 H-7Z",
    diamond: "M0,-10 L9,0 L0,10 L-9,0Z",
    cross: "M-3,-8 H3 V-3 H8 V3 H3 V8 H-3 V3 H-8 V-3 H-3Z",
    star: `M${star.join("L")}Z`,
  };
  return mark === "disc" ? s("circle", { r: 7.5 }) : s("path", { d: d[mark] });
}

/** The seat's mark on its colour, as a picture of its own. */
export function seatBadge(seat) {
  const { fill, ink, mark } = palette.seats[seat];
  return s(
    "svg",
    { class: "badge", viewBox: "-16 -16 32 32", "aria-hidden": "true" },
    s("circle", { class: "body", r: 14.5, fill }),
    s("g", { fill: ink }, drawMark(mark)),
  );
}

const PIPS = {
  0: [],
  1: [[0, 0]],
  2: [[-1, -1], [1, 1]],
  3: [[-1, -1], [0, 0], [1, 1]],
  4: [[-1, -1], [1, -1], [-1, 1], [1, 1]],
  5: [[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]],
  6: [[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
};

/** The die, showing `face`, or nothing for 0. */
export function drawDie(face) {
  return s(
    "svg",
    { class: `die${face ? "" : " blank"}`, viewBox: "-32 -32 64 64", "aria-hidden": "true" },
    s("rect", { class: "cube", x: -28, y: -28, width: 56, height: 56, rx: 13 }),
    PIPS[face].map(([x, y]) => s("circle", { class: "pip", cx: x * 15, cy: y * 15, r: 5.4 })),
  );
}

/** A small tile for towers and score sheets. */
export function drawChip(tile, title = "") {
  const { fill, ink } = tileColours(tile);
  const inner =
    typeof tile === "number"
      ? s("text", { "text-anchor": "middle", y: 6, "font-size": Math.abs(tile) > 9 ? 14 : 18, class: "digits" }, digits(tile))
      : s("g", { transform: "scale(0.5)" }, symbol(tile, ink, ""));
  return s(
    "svg",
    { class: "chip", viewBox: "-17 -19 34 38", "aria-hidden": "true" },
    title ? s("title", {}, title) : null,
    s("rect", { class: "card", x: -16, y: -18, width: 32, height: 36, rx: 6, fill }),
    s("g", { fill: ink, color: ink }, inner),
  );
}

const ICONS = {
  first: "M-1,-8 V8 L-11,0Z M10,-8 V8 L0,0Z",
  back: "M6,-8 h3 v16 h-3Z M3,-8 V8 L-9,0Z",
  play: "M-6,-9 V9 L9,0Z",
  pause: "M-7,-8 h5 v16 h-5Z M2,-8 h5 v16 h-5Z",
  forward: "M-6,-8 h-3 v16 h3Z M-3,-8 V8 L9,0Z",
  last: "M1,-8 V8 L11,0Z M-10,-8 V8 L0,0Z",
};

/** A sign of the replay's buttons. */
export function drawIcon(name) {
  return s("svg", { class: "icon", viewBox: "-12 -12 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name], fill: "currentColor" }));
}
