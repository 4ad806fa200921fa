"use strict";
// Line by line, what is expected and what the subject gave.

/** The lines of one side: each call of a list, and, if both sides are JSON, each member. */
function linesOf(text, json) {
  if (json) return indented(text).split("\n");
  return (text || "nothing").split(/(?<=\)), (?=[^\s"'({[]*\()|\n/);
}

function isJson(text) {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** The lines of both sides in order: [sign, line], with "-" for expected only, "+" for got only, " " for both. */
function difference(expected, got) {
  const json = isJson(expected) && isJson(got);
  const [left, right] = [linesOf(expected, json), linesOf(got, json)];
  const shared = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let l = left.length - 1; l >= 0; l--) {
    for (let r = right.length - 1; r >= 0; r--) {
      shared[l][r] = left[l] === right[r] ? shared[l + 1][r + 1] + 1 : Math.max(shared[l + 1][r], shared[l][r + 1]);
    }
  }
  const lines = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    if (l < left.length && r < right.length && left[l] === right[r]) lines.push([" ", left[l++], r++]);
    else if (l < left.length && (r === right.length || shared[l + 1][r] >= shared[l][r + 1])) lines.push(["-", left[l++]]);
    else lines.push(["+", right[r++]]);
  }
  return lines;
}

/** Both sides as one text with signs; the signs do not depend on colour. */
function differenceOf(expected, got) {
  const kinds = { "-": "expected", "+": "got", " ": "same" };
  const lines = difference(expected, got).map(([sign, line]) =>
    h("span", { class: `line ${kinds[sign]}` }, `${sign} `, shown(line)),
  );
  return h(
    "div",
    { class: "difference" },
    h("h4", {}, "Expected ", h("span", { class: "expected" }, "(-)"), " and got ", h("span", { class: "got" }, "(+)")),
    h("pre", { tabindex: "0", role: "region", "aria-label": "Expected and got" }, lines),
  );
}
