"use strict";
// Elements are made here, and only here; words only ever become text, never markup.

// What reports/escape.py escapes: control characters, direction marks, unusual spaces, lone surrogates and noncharacters.
const HIDDEN = /[^\P{C}]|[^\P{Z} ]/gu;
const NAMED = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function spelled(character) {
  const number = character.codePointAt(0);
  const [letter, digits] = number < 0x100 ? ["x", 2] : number < 0x10000 ? ["u", 4] : ["U", 8];
  return NAMED[character] || `\\${letter}${number.toString(16).padStart(digits, "0")}`;
}

/** For attributes: nothing hidden. */
function plain(text) {
  return text.replace(HIDDEN, spelled);
}

/** For display: invisible characters as styled escapes, isolated from the surrounding text direction. */
function shown(text, keep = "") {
  const made = document.createElement("bdi");
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (keep.includes(found[0])) continue;
    made.append(text.slice(at, found.index), h("span", { class: "hidden" }, spelled(found[0])));
    at = found.index + found[0].length;
  }
  made.append(text.slice(at));
  return made;
}

/** An element; children are elements, or texts that this page wrote itself (others go through `shown`). */
function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, plain(String(value)));
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

/** JSON on several lines. Works on the text itself: a number keeps its spelling, and what is cut stays cut. */
function indented(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  let made = "";
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/gsu)) {
    if (token === "{" || token === "[") {
      depth += 1;
      made += token + line();
    } else if (token === "}" || token === "]") {
      depth = Math.max(0, depth - 1);
      made = /[{[]\s*$/.test(made) ? made.trimEnd() + token : made + line() + token;
    } else if (token === ",") made += token + line();
    else made += token === ":" ? ": " : token;
  }
  return made;
}

function counted(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many || one + "s"}`;
}
