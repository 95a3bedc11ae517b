// Elements in one expression: h("button", { class: "x", onclick: f }, "text", child), s(...) for SVG.
// No markup is ever parsed from text, so names typed by people stay text.

const SVG = "http://www.w3.org/2000/svg";

export const h = (tag, ...rest) => fill(document.createElement(tag), ...rest);
export const s = (tag, ...rest) => fill(document.createElementNS(SVG, tag), ...rest);

function fill(element, properties = {}, ...children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set style properties, through the object model, which the content policy allows. */
export function styled(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
  return element;
}

export const $ = (selector) => document.querySelector(selector);

/** Whether motion is wanted. */
export const motion = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Offer `text` as a file. */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
