// The rules in words, in a dialog. Their text is in i18n/*.js; "[ruling]" after a sentence marks a
// choice made where published texts are silent or disagree.

import { h } from "./dom.js";
import { rulesText, t } from "./text.js";

const MARK = "[ruling]";

export function fillRules(dialog, close) {
  const sections = rulesText().map(({ title, items }) => [h("h3", {}, title), h("ul", {}, items.map(item))]);
  dialog.setAttribute("aria-label", t("rules.heading"));
  dialog.replaceChildren(
    h("h2", {}, t("rules.heading")),
    h("p", { class: "remark" }, t("rules.about")),
    h("div", { class: "text", tabindex: "0" }, sections.flat()),
    h("div", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: close }, t("close"))),
  );
}

function item(text) {
  const parts = text.split(MARK);
  const badge = () => h("span", { class: "ruling" }, t("rules.ruling"));
  return h("li", {}, parts.flatMap((part, i) => (i < parts.length - 1 ? [part, badge()] : [part])));
}
