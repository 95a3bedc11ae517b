// Who may sit at the table besides people. A player is `async (position, key) => action`; the key is
// the one random number, a BigInt, of that decision, so that a game can be repeated from its seed.

import { draw, draw64, legalActions, play, scores } from "./rules.js";

const LUCKY_WORTH = 4; // points that greedy sees in a lucky tile
const DECISIONS = 0xc401ce5c401ce5c4n; // a stream apart from deals and dice

/** The key of the decision after `n` others in the game dealt from `seed`, as in Python. */
export const decisionKey = (seed, n) => draw64(seed ^ DECISIONS, n);

const anyOf = (list, key) => list[draw(key, 0, list.length)];

/** A legal action, each as likely as the others. */
export async function random(position, key) {
  return anyOf(legalActions(position), key);
}

/** One of the actions after which `greedyValue` is highest. */
export async function greedy(position, key) {
  return anyOf(greedyActions(position), key);
}

/** The legal actions after which `greedyValue` is highest. */
export function greedyActions(position) {
  const rate = (action) => greedyValue(play(position, action), position.player);
  const rated = legalActions(position).map((action) => [action, rate(action)]);
  const highest = Math.max(...rated.map(([, worth]) => worth));
  return rated.filter(([, worth]) => worth === highest).map(([action]) => action);
}

/** Own points and 4 times own lucky tiles, less the mean of the opponents'. */
function greedyValue(position, seat) {
  const lucky = position.towers.map((tower) => tower.filter((tile) => tile === "lucky").length);
  const worth = scores(position).map((points, other) => points + LUCKY_WORTH * lucky[other]);
  const others = worth.filter((_, other) => other !== seat);
  // times the number of opponents, so that it is whole and equals are found equal
  return worth[seat] * others.length - others.reduce((sum, each) => sum + each, 0);
}

/** Plays the action that the bundle's policy finds most likely. */
export const byPolicy = (bundle) => async (position) => {
  const { probabilities } = await bundle.judge(position);
  return probabilities.indexOf(Math.max(...probabilities));
};

/** Plays the action after which the bundle sees the highest win chance, as the agent `td` in Python. */
export const byValue = (bundle) => async (position) => {
  const actions = legalActions(position);
  if (actions.length === 1) return actions[0];
  const own = (await sharesAfter(bundle, position, actions)).map((shares) => shares[position.player]);
  return actions[own.indexOf(Math.max(...own))];
};

/** The win shares of all seats after each action; where it opens a choice, after the best one. */
export async function sharesAfter(bundle, position, actions) {
  const ends = actions.map((action) => turnEnds(position, action));
  const shares = await bundle.winShares(ends.flat());
  const better = (best, row) => (row[position.player] > best[position.player] ? row : best);
  return ends.map(({ length }) => shares.splice(0, length).reduce(better));
}

/** Where the turn may end after an action: one position, or one for each choice that it opens. */
function turnEnds(position, action) {
  const after = play(position, action);
  const isOpen = after.phase === "give" || after.phase === "steal";
  return isOpen ? legalActions(after).map((choice) => play(after, choice)) : [after];
}
