// The page: which view is shown, settings, dialogs, files, and errors.

import { $, h, pause } from "./dom.js";
import * as models from "./model.js";
import { PlayView } from "./play.js";
import { byPolicy, byValue } from "./players.js";
import { ReplayView } from "./replay.js";
import { Game, RecordError, readGames } from "./rules.js";
import { fillRules } from "./rulespage.js";
import { SetupView } from "./setup.js";
import { fillSheet } from "./sheet.js";
import { Table } from "./table.js";
import { LANGUAGES, currentLanguage, preferred, setLanguage, t } from "./text.js";

const STORE = "thatslife";

const settings = { language: null, pace: "calm", coach: false, setup: {}, ...kept() };
let bundles = [];
let view = null; // SetupView, PlayView or ReplayView

// Settings ---------------------------------------------------------------------------------------

function kept() {
  try {
    const { language, pace, coach, setup } = JSON.parse(localStorage.getItem(STORE)) ?? {};
    return { language, pace, coach: coach === true, setup: Object(setup) };
  } catch {
    return {}; // storage may be off, or hold what others wrote
  }
}

function keep(changes) {
  Object.assign(settings, changes);
  try {
    localStorage.setItem(STORE, JSON.stringify(settings));
  } catch {
    // storage may be off; the settings last as long as the page
  }
}

// Views ------------------------------------------------------------------------------------------

function show(next) {
  view?.stop?.();
  if (view instanceof PlayView) view.table.stop();
  view = next;
  $("#stage").replaceChildren(view.element);
  document.body.dataset.view = view.constructor.name;
  scrollTo(0, 0);
}

function toSetup() {
  const setup = new SetupView(structuredClone(settings.setup), {
    start: begin,
    keep: (choice) => keep({ setup: choice }),
  });
  setup.offer(bundles);
  show(setup);
}

function begin({ rules, seats, seed }) {
  const names = seats.map(({ name }) => name);
  const players = seats.map(({ kind }) => kind);
  const game = Game.deal(rules, seed, { names, players });
  const play = new PlayView(settings, {
    canCoach: () => coachFor(rules) !== null,
    coach: () => models.open(coachFor(rules)),
    set: (name, value) => keep({ [name]: value }),
    finished: (table) => openSheet(table, play, { rules, seats }),
    replay: (table) => toReplay([Game.fromText(table.game.toText())], play),
    alarm,
    say,
  });
  const withPlayers = seats.map((seat) => ({ ...seat, player: playerOf(seat.kind) }));
  for (const { player } of withPlayers) player?.catch?.(() => {}); // told when it is to act
  show(play);
  play.begin(new Table({ game, seats: withPlayers, seed, view: play }));
}

/** The function that plays for a kind of trained player, made ready at once. */
function playerOf(kind) {
  const [way, name] = kind.split(":");
  const entry = bundles.find((bundle) => bundle.name === name);
  if (!entry) return undefined;
  const make = way === "value" ? byValue : byPolicy;
  // asked again for each decision, so that a failure can be tried again
  return { then: (told, failed) => models.open(entry).then(make).then(told, failed), catch: (f) => models.open(entry).catch(f) };
}

/** The bundle that advises in a game by `rules`, or null; one that tells win chances if there is. */
function coachFor(rules) {
  const candidates = models.trainedFor(bundles, rules);
  const best = candidates.find(({ way }) => way === "value") ?? candidates[0];
  return best?.entry ?? null;
}

function toReplay(games, back = null) {
  const before = back;
  const replay = new ReplayView({
    leave: () => {
      if (!before) return toSetup();
      show(before);
      before.build();
      before.table.run();
    },
    say,
  });
  $("#score").close();
  show(replay);
  replay.begin(games);
}

// Dialogs ----------------------------------------------------------------------------------------

function openSheet(table, play, { rules, seats }) {
  const dialog = $("#score");
  const button = (words, press, kind = "tool") =>
    h("button", { type: "button", class: kind, onclick: () => (dialog.close(), press()) }, words);
  const seed = () => BigInt(crypto.getRandomValues(new Uint32Array(1))[0]);
  fillSheet(dialog, table.game.position, table.names, [
    button(t("sheet.again"), () => begin({ rules, seats, seed: seed() }), "main"),
    button(t("play.replay"), () => toReplay([Game.fromText(table.game.toText())], play)),
    button(t("close"), () => {}),
  ]);
  if (!dialog.open) dialog.showModal();
}

function openRules() {
  const dialog = $("#rules");
  fillRules(dialog, () => dialog.close());
  dialog.showModal();
}

// Files ------------------------------------------------------------------------------------------

async function openRecord(file) {
  try {
    const games = readGames(await file.text());
    if (games.length === 0) return alarmText(t("error.norecord", { file: file.name }));
    quiet();
    toReplay(games, view instanceof PlayView ? view : null);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    alarmText(t("error.record", { file: file.name, reason: error.message }));
  }
}

// Telling ----------------------------------------------------------------------------------------

let unsaid = [];

/** For screen readers; what comes at once is said at once. */
async function say(text) {
  unsaid.push(text);
  if (unsaid.length > 1) return;
  await pause(60);
  const line = h("p", {}, unsaid.join(". "));
  unsaid = [];
  $("#said").append(line);
  await pause(5000);
  line.remove();
}

function alarm(error, again = null) {
  const known = error instanceof models.ModelError;
  if (!known) console.error(error);
  const text = known ? t(`error.model.${error.code}`, error.values) : t("error.internal", { reason: error.message });
  alarmText(text, again);
}

function alarmText(text, again = null) {
  const button = (words, press) => h("button", { type: "button", class: "tool", onclick: () => (quiet(), press()) }, words);
  $("#alarm").replaceChildren(
    h("p", {}, text),
    again ? button(t("error.again"), again) : "",
    button(t("close"), () => {}),
  );
  $("#alarm").hidden = false;
}

function quiet() {
  $("#alarm").hidden = true;
  $("#alarm").replaceChildren();
}

// The frame --------------------------------------------------------------------------------------

function frame() {
  const file = h("input", { type: "file", accept: ".jsonl,.json,.txt", class: "unseen", tabindex: "-1", "aria-label": t("nav.open"), onchange: () => {
    if (file.files[0]) openRecord(file.files[0]);
    file.value = "";
  } });
  const button = (words, press) => h("button", { type: "button", class: "nav", onclick: press }, words);
  const language = h("select", { "aria-label": t("language"), onchange: (event) => {
    keep({ language: event.target.value });
    speak(event.target.value);
    $("#language").focus();
  }, id: "language" }, Object.entries(LANGUAGES).map(([tag, { name }]) => h("option", { value: tag, lang: tag, selected: tag === currentLanguage() }, name)));
  $("#top").replaceChildren(
    h("div", { class: "brand" }, h("h1", {}, t("title")), h("p", {}, t("subtitle"))),
    h("nav", {}, button(t("nav.new"), toSetup), button(t("nav.open"), () => file.click()), button(t("nav.rules"), openRules), file),
    language,
  );
}

function speak(language) {
  setLanguage(language);
  frame();
  for (const id of ["#score", "#rules"]) $(id).close();
  quiet();
  view?.build();
}

addEventListener("error", (event) => alarm(event.error ?? event));
addEventListener("unhandledrejection", (event) => alarm(event.reason));

speak(settings.language ?? preferred());
toSetup();
try {
  bundles = await models.installed((error) => alarm(error));
} catch (error) {
  alarm(error);
}
if (view instanceof SetupView) view.offer(bundles);
document.body.dataset.ready = "true";
