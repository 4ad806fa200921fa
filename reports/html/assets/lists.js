"use strict";
// The list under the grid: why laws were broken, the most severe effect first, then the most frequent reason.

const LISTED = 12;

function drawReasons(grid) {
  const { state } = grid;
  const law = chosen(state, "law");
  const found = new Map();
  const known = new Map();
  for (const [subject, place, bundle] of matching(grid)) {
    let numbers = known.get(bundle);
    if (!numbers) {
      numbers = DATA.bundles[bundle].slice(2).filter((number) => {
        const row = DATA.verdicts[number];
        return (state.verdict ? wants(state, row[1]) : NOTABLE[row[1]]) && (law < 0 || row[0] === law);
      });
      known.set(bundle, numbers);
    }
    for (const number of numbers) {
      const [own, outcome, reason, , , , effect] = DATA.verdicts[number];
      const key = `${own} ${outcome} ${reason} ${effect}`;
      const row = found.get(key);
      if (row) row.cases += 1;
      else found.set(key, { law: own, outcome, reason, effect, cases: 1, first: [subject, place] });
    }
  }
  const severity = (row) => (DATA.effects.indexOf(TEXTS[row.effect]) + 1) || DATA.effects.length + 1;
  const rows = [...found.values()].sort((one, other) => severity(one) - severity(other) || other.cases - one.cases);
  drawList("reasons", rows, ["", "law", "effect", "reason", "cases"], unbrokenOf(grid), (row) => [
    h("td", {}, mark(OUTCOMES[row.outcome])),
    h("th", { scope: "row" }, shown(DATA.laws[row.law])),
    h("td", {}, shown(TEXTS[row.effect])),
    h("td", { class: "words" }, opener(grid.state, row.first, TEXTS[row.reason] || "no reason given")),
    h("td", { class: "number" }, row.cases.toLocaleString("en")),
  ]);
}

/** Why there is no reason to list: nothing matches, nothing was judged, or nothing is broken. */
function unbrokenOf(grid) {
  const { state, matches } = grid;
  if (!matches) return NOTHING;
  const cases = `${counted(matches, "case")} that ${matches === 1 ? "matches" : "match"}`;
  if (state.verdict && state.verdict !== BREAKING) return `These verdicts have no reason, in the ${cases}.`;
  const law = chosen(state, "law");
  for (const [, , bundle] of matching(grid)) {
    const pairs = PAIRS[bundle];
    for (let at = 0; at < pairs.length; at += 2) {
      if ((law < 0 || pairs[at] === law) && OUTCOMES[pairs[at + 1]] !== "unsupported") return `No law is broken in the ${cases}.`;
    }
  }
  return `No law was judged in the ${cases}.`;
}

function opener(state, found, words) {
  return h("a", { href: linkTo(state, ...found) }, shown(words));
}

/** The first rows, and a button for as many again. */
function drawList(id, rows, heads, nothing, make) {
  const host = document.getElementById(id);
  if (!rows.length) {
    host.replaceChildren(h("p", { class: "quiet" }, nothing));
    return;
  }
  const body = h("tbody");
  const more = h("button", { type: "button" });
  let at = 0;
  const grow = (by) => {
    body.append(...rows.slice(at, at + by).map((row) => h("tr", {}, make(row))));
    at = Math.min(rows.length, at + by);
    more.hidden = at === rows.length;
    more.textContent = `Show more (${(rows.length - at).toLocaleString("en")} left)`;
  };
  more.addEventListener("click", () => grow(100));
  grow(LISTED);
  const head = h("tr", {}, heads.map((name) => h(name ? "th" : "td", name ? { scope: "col" } : {}, name)));
  const table = h("table", { class: "list" }, h("thead", {}, head), body);
  host.replaceChildren(h("div", { class: "wide", role: "region", tabindex: "0", "aria-labelledby": `${id}-title` }, table), more);
}
