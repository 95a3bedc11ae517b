// What of the page needs no browser: its languages, its size, its habits.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { LANGUAGES, preferred } from "../../web/text.js";
import palette from "../../web/palette.js";

const WEB = new URL("../../web/", import.meta.url).pathname;
const SCRIPTS = readdirSync(WEB).filter((name) => name.endsWith(".js"));
const source = (name) => readFileSync(join(WEB, name), "utf8");
const { en, ...others } = LANGUAGES;

const forms = (message) => (typeof message === "string" ? [message] : Object.values(message));
const blanks = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("every message exists in every language, with the same blanks and plural forms", () => {
  for (const [tag, { messages }] of Object.entries(LANGUAGES)) {
    assert.deepEqual(Object.keys(messages).sort(), Object.keys(en.messages).sort(), tag);
    const categories = new Set(Array.from({ length: 200 }, (_, n) => new Intl.PluralRules(tag).select(n)));
    for (const [key, message] of Object.entries(messages)) {
      const where = `${tag}: ${key}`;
      assert.equal(typeof message, typeof en.messages[key], where);
      for (const form of forms(message)) {
        assert.ok(form.trim() === form && form.length > 0, where);
        // a plural form may leave out its number: "a guard"
        const needed = (text) => blanks(text).filter((name) => typeof message === "string" || name !== "n");
        assert.deepEqual(needed(form), needed(forms(en.messages[key])[0]), where);
      }
      if (typeof message === "object") {
        for (const category of categories) assert.ok(category in message, `${where}: ${category}`);
      }
    }
  }
});

test("no language is a copy of another", () => {
  for (const [tag, { messages }] of Object.entries(others)) {
    const same = Object.keys(messages).filter((key) => JSON.stringify(messages[key]) === JSON.stringify(en.messages[key]));
    assert.ok(same.length < 15, `${tag}: ${same}`);
  }
});

test("the rules are told in every language, sentence by sentence, with the same rulings", () => {
  const shape = (rules) => rules.map(({ items }) => items.map((item) => item.split("[ruling]").length - 1));
  const rulings = shape(en.rules).flat(2).reduce((a, b) => a + b);
  assert.ok(rulings >= 9, `${rulings} rulings`);
  for (const [tag, { rules }] of Object.entries(LANGUAGES)) assert.deepEqual(shape(rules), shape(en.rules), tag);
});

test("every message that the page asks for exists, and none is left over", () => {
  const all = SCRIPTS.map(source).join("\n");
  const literal = new Set([...all.matchAll(/\bt\(\s*"([^"]+)"/g)].map(([, key]) => key));
  for (const [, a, b] of all.matchAll(/\bt\([^()"]*\? "([^"]+)" : "([^"]+)"/g)) literal.add(a).add(b);
  const patterns = [...all.matchAll(/`([a-z.]+\$\{[^`]*)`/g)].map(
    ([, text]) => new RegExp(`^${text.replace(/\$\{[^}]*\}/g, "[\\w.]+").replaceAll(".", "\\.").replaceAll("[\\w\\.]", "[\\w.]")}$`),
  );
  for (const key of literal) assert.ok(key in en.messages, `asked for, but not there: ${key}`);
  const unused = Object.keys(en.messages).filter(
    (key) => !literal.has(key) && !patterns.some((pattern) => pattern.test(key)) && !all.includes(`"${key}"`),
  );
  assert.deepEqual(unused, []);
});

test("the browser's wish for a language", () => {
  assert.equal(preferred(["pl-PL", "de"]), "pl");
  assert.equal(preferred(["sv", "fr-CA", "en"]), "fr");
  assert.equal(preferred(["ja"]), "en");
  assert.equal(preferred([]), "en");
});

test("without models and their runtime the page is smaller than 200 kB", () => {
  const sizes = readdirSync(WEB, { recursive: true })
    .filter((name) => !/^(vendor|models|tools)(\/|$)/.test(name))
    .map((name) => statSync(join(WEB, name)))
    .filter((file) => file.isFile())
    .map(({ size }) => size);
  assert.ok(sizes.length > 15);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < 200_000, `${total} bytes`);
});

test("the content policy is strict, and nothing needs more", () => {
  const page = source("index.html");
  const [, policy] = page.match(/http-equiv="Content-Security-Policy" content="([^"]+)"/);
  const rules = Object.fromEntries(policy.split("; ").map((rule) => [rule.split(" ")[0], rule.split(" ").slice(1)]));
  assert.deepEqual(rules["default-src"], ["'none'"]);
  assert.deepEqual(rules["script-src"], ["'self'", "'wasm-unsafe-eval'"]);
  for (const [name, sources] of Object.entries(rules)) {
    if (name === "script-src") continue;
    assert.ok(sources.every((from) => ["'self'", "'none'"].includes(from)), name);
  }
  assert.doesNotMatch(page, /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/);
  for (const name of SCRIPTS) {
    assert.doesNotMatch(source(name), /innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
    assert.doesNotMatch(source(name).replace("http://www.w3.org/2000/svg", ""), /https?:\/\//, name);
  }
  assert.doesNotMatch(source("style.css"), /url\(|@import/);
});

test("the palette is JSON, and its inks can be read on their fills", () => {
  const text = source("palette.js");
  assert.deepEqual(JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)), palette);
  const light = (colour) => {
    const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  assert.equal(palette.seats.length, 6);
  assert.equal(new Set(palette.seats.map(({ mark }) => mark)).size, 6);
  for (const { fill, ink } of [...palette.seats, palette.guard]) assert.ok(contrast(fill, ink) >= 4.5, `${fill} ${contrast(fill, ink)}`);
  for (const { fill, light: pale, deep, ink } of Object.values(palette.tiles)) {
    for (const colour of [fill, pale, deep].filter(Boolean)) assert.ok(contrast(colour, ink) >= 4.5, `${colour} on ${ink}: ${contrast(colour, ink)}`);
  }
});
