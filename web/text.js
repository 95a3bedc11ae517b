// What the page says, in the language chosen. Messages are in i18n/*.js under the same keys; {name}
// in them is filled in, and a message that depends on a number has one form per plural category.

import de from "./i18n/de.js";
import en from "./i18n/en.js";
import fr from "./i18n/fr.js";
import it from "./i18n/it.js";
import pl from "./i18n/pl.js";
import { digits } from "./figures.js";

export const LANGUAGES = { en, de, fr, it, pl };

let language = "en";
let plural = new Intl.PluralRules("en");
let list = new Intl.ListFormat("en");

/** The first language of the browser's list that there is. */
export function preferred(wanted = navigator.languages) {
  const known = wanted.map((tag) => tag.slice(0, 2).toLowerCase());
  return known.find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

export function setLanguage(tag) {
  language = Object.hasOwn(LANGUAGES, tag) ? tag : "en";
  plural = new Intl.PluralRules(language);
  list = new Intl.ListFormat(language, { type: "conjunction" });
  document.documentElement.lang = language;
  document.title = t("title");
}

export const currentLanguage = () => language;

/** The message of `key`; `values.n` chooses the plural form. */
export function t(key, values = {}) {
  const message = LANGUAGES[language].messages[key];
  if (message === undefined) throw new Error(`no message ${key} in ${language}`);
  const form =
    typeof message === "string"
      ? message
      : (message[plural.select(values.n)] ?? message.other);
  return form.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export const rulesText = () => LANGUAGES[language].rules;

/** A tile in words: "−3", or its name. */
export const tileName = (tile) => (typeof tile === "number" ? digits(tile) : t(`tile.${tile}`));

/** "a, b and c". */
export const listed = (words) => list.format(words);

/** Points with their sign: "−4", "0", "12". */
export const signed = (points) => (points < 0 ? `−${-points}` : `${points}`);

export const percent = (share, places = 0) =>
  new Intl.NumberFormat(language, { style: "percent", minimumFractionDigits: places, maximumFractionDigits: places }).format(share);

/** A trained player: those that the page ships with have names, others are called as their folder. */
export const trainedName = (name) => (Object.hasOwn(LANGUAGES.en.messages, `trained.${name}`) ? t(`trained.${name}`) : name);
