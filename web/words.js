// Moves and events in words, for the list of moves, the hints, the log and screen readers.

import { FIRST_OPPONENT, outcome } from "./rules.js";
import { listed, t, tileName } from "./text.js";

/**
 * What a legal action does: `what` names the piece or choice, `parts` its effects, and `tone` is
 * "good" or "bad" where a tile is taken.
 */
export function explain(position, action, names) {
  const done = outcome(position, action);
  if (action >= FIRST_OPPONENT) {
    const { tile, from, to } = done.passes;
    const values = { tile: tileName(tile), name: names[position.phase === "give" ? to : from] };
    return { what: t(`choice.${position.phase}`, values), parts: [], tone: "" };
  }
  const what = t(`move.${done.piece}`, { from: tileName(position.track[done.from]) });
  const tone = done.takes === null ? "" : done.takes < 0 ? "bad" : "good";
  return { what, parts: [...effects(position, done, names), arrival(position, done, names)], tone };
}

/** The same in one line. */
export function sentence(position, action, names) {
  const { what, parts } = explain(position, action, names);
  return [what, ...parts].join(" · ");
}

function effects(position, done, names) {
  if (done.takes !== null) return [t("move.takes", { tile: tileName(done.takes) })];
  if (done.turns === null) return [];
  const turns = t("move.turns", { tile: tileName(done.turns) });
  const after = done.position;
  if (after.phase === "give") {
    const tile = tileName(after.towers[after.player].at(-1));
    return [turns, t("move.asks.give", { tile })];
  }
  if (after.phase === "steal") return [turns, t("move.asks.steal")];
  if (done.passes === null) return [turns, t("move.nothing")];
  const { tile, from, to } = done.passes;
  if (done.turns === "gift") return [turns, t("move.gives", { tile: tileName(tile), name: names[to] })];
  return [turns, t("move.steals", { tile: tileName(tile), name: names[from] })];
}

function arrival(position, done, names) {
  if (done.to === position.track.length - 1) return t("move.home");
  const tile = tileName(position.track[done.to]);
  if (position.guards.includes(done.to)) return t("move.with.guard", { tile });
  const there = names.filter((_, seat) => position.pawns[seat].includes(done.to));
  if (there.length > 0) return t("move.with.pawns", { names: listed(there), tile });
  return t("move.alone", { tile });
}

/** What an event of a record did, in one line. */
export function happened(position, [kind, value], names) {
  const name = names[position.player];
  if (kind === "roll") return t("log.roll", { name, die: value });
  if (value < FIRST_OPPONENT) return t("log.move", { name, what: sentence(position, value, names) });
  const { tile, from, to } = outcome(position, value).passes;
  if (position.phase === "give") return t("log.gave", { name, tile: tileName(tile), other: names[to] });
  return t("log.stole", { name, tile: tileName(tile), other: names[from] });
}

/** The track slot by slot, with the pieces on it. */
export function trackInWords(position, names) {
  return position.track.map((tile, slot) => {
    const pieces = position.pawns.flatMap((slots, seat) => {
      const n = slots.filter((other) => other === slot).length;
      return n ? [t("play.pawns", { n, name: names[seat] })] : [];
    });
    const n = position.guards.filter((other) => other === slot).length;
    if (n) pieces.push(t("play.guards", { n }));
    const values = { n: slot, tile: tileName(tile), pieces: listed(pieces) };
    return t(pieces.length ? "play.slot.with" : "play.slot", values);
  });
}
