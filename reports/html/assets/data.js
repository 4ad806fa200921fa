"use strict";
// The columns that reports/html/columns.py wrote, and what follows from them. Nothing here depends on the filters.

/** The value of JSON that is compressed with gzip and encoded in base64. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

if (!("DecompressionStream" in window)) {
  const note = "This browser cannot decompress the details of this page. It needs a browser of 2023 or later.";
  document.getElementById("grid").append(h("p", { class: "note" }, note));
}
const DATA = await unpacked(document.getElementById("data").textContent);
const TEXTS = DATA.texts;
const OUTCOMES = DATA.outcomes;
const [SCENARIO, SURFACE, MODE, POLICY] = DATA.places;
const PLACES = SCENARIO.length;

/** Outcome number -> its place in the order of what a cell shows. */
const RANK = OUTCOMES.map((name) => DATA.worst.indexOf(name));
const NAME_OF_RANK = DATA.worst;
const UNSUPPORTED = DATA.worst.indexOf("unsupported");
const IDLE = DATA.worst.indexOf("idle");
const UNRUN = DATA.worst.indexOf("unrun");
const NONE = DATA.worst.indexOf("none");
const NOTABLE = OUTCOMES.map((name) => DATA.notable.includes(name));
const BROKEN = OUTCOMES.map((name) => DATA.broken.includes(name));

const PROVIDERS = [...new Set(DATA.surfaces.map((surface) => surface.split(".")[0]))];
const PROVIDER_OF = DATA.surfaces.map((surface) => PROVIDERS.indexOf(surface.split(".")[0]));

const about = (kind, number) => DATA.about[kind][number] || {};

/** Law and outcome of every verdict of a bundle, by turns. */
const PAIRS = DATA.bundles.map(([, bare, ...worded]) => {
  const pairs = [...DATA.bare[bare]];
  for (const number of worded) pairs.push(DATA.verdicts[number][0], DATA.verdicts[number][1]);
  return pairs;
});

/** The verdicts of a bundle, in the order of the laws. */
function verdictsOf(bundle) {
  const [, bare, ...worded] = DATA.bundles[bundle];
  const found = [];
  const pairs = DATA.bare[bare];
  for (let at = 0; at < pairs.length; at += 2) {
    found.push({ law: pairs[at], outcome: pairs[at + 1], reason: "", round: -1, expected: "", got: "", effect: "" });
  }
  for (const number of worded) {
    const [law, outcome, reason, round, expected, got, effect] = DATA.verdicts[number];
    const words = { reason: TEXTS[reason], expected: TEXTS[expected], got: TEXTS[got], effect: TEXTS[effect] };
    found.push({ law, outcome, round: round - 1, ...words });
  }
  return found.sort((one, other) => one.law - other.law);
}

/** The output of the subject by round. */
function reportsOf(bundle) {
  return DATA.rounds[DATA.bundles[bundle][0]].map((row) => {
    const lists = [0, 1, 2, 3, 4].map((at) => (row[at] || []).map((number) => TEXTS[number]));
    const [calls, dropped, rejected, warnings, findings] = lists;
    return { calls, dropped, rejected, warnings, findings, stop: TEXTS[row[5] || 0], error: TEXTS[row[6] || 0] };
  });
}

const TRAFFIC = new Map(DATA.traffic.map((row) => [row.slice(0, 3).join(), row]));

/** The answers of a place: which source, and of each round its excerpt, its size in bytes and its blocks. */
function trafficOf(place) {
  const row = TRAFFIC.get([SCENARIO[place], SURFACE[place], MODE[place]].join());
  if (!row) return { source: null, rounds: [] };
  const rounds = [];
  for (let at = 4; at < row.length; at += 3) {
    rounds.push({ excerpt: TEXTS[row[at]], size: row[at + 1], blocks: TEXTS[row[at + 2]] });
  }
  return { source: row[3] ? sourceOf(row[3] - 1) : null, rounds };
}

function sourceOf(number) {
  const [path, origin, date, provider, model, sdk] = DATA.sources[number].map((text) => TEXTS[text]);
  return { path, origin, date, provider, model, sdk };
}

/** A case by its names: [subject number, place], or null. */
const caseOf = (() => {
  const lists = [DATA.subjects, DATA.scenarios, DATA.surfaces, DATA.modes, DATA.policies];
  const numbers = lists.map((names) => new Map(names.map((name, number) => [wellFormed(name), number])));
  let places = null;
  return (parts) => {
    if (parts.length !== lists.length) return null;
    const found = parts.map((part, at) => numbers[at].get(part));
    if (found.includes(undefined)) return null;
    places ??= new Map(SCENARIO.map((_, place) => [placeKey(place), place]));
    const place = places.get(found.slice(1).join());
    return place !== undefined && DATA.cases[found[0]]?.[place] ? [found[0], place] : null;
  };
})();

function placeKey(place) {
  return [SCENARIO[place], SURFACE[place], MODE[place], POLICY[place]].join();
}

/** The names of a case, as the address of its evidence has them. */
function partsOf(subject, place) {
  return [
    DATA.subjects[subject],
    DATA.scenarios[SCENARIO[place]],
    DATA.surfaces[SURFACE[place]],
    DATA.modes[MODE[place]],
    DATA.policies[POLICY[place]],
  ];
}

function wellFormed(text) {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}

/** The command that runs a case again; names that a shell would not leave alone are quoted. */
function commandOf(subject, place) {
  const parts = partsOf(subject, place);
  parts[0] = DATA.called[subject] || parts[0];
  const keys = ["subject", "scenario", "surface", "mode", "policy"];
  return DATA.repeat.replace(/\{(\w+)\}/g, (whole, key) => {
    const part = parts[keys.indexOf(key)];
    if (part === undefined) return whole;
    return key === "subject" && part.startsWith("--") ? part : quoted(part); // options are quoted already
  });
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}
