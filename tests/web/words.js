// What the page says of events, to compare with what the terminal says: from standard input
// [[language, position, event, names], ...], to standard output the sentences; and the messages.

import { readFileSync } from "node:fs";

globalThis.document = { documentElement: {} }; // where the page notes its language
const { LANGUAGES, setLanguage } = await import("../../web/text.js");
const { happened } = await import("../../web/words.js");

const said = JSON.parse(readFileSync(0, "utf8")).map(([language, ...event]) => {
  setLanguage(language);
  return happened(...event);
});
const messages = Object.entries(LANGUAGES).map(([tag, language]) => [tag, language.messages]);
console.log(JSON.stringify({ said, messages: Object.fromEntries(messages) }));
