"use strict";
// The filters and the open case, as the fragment of the address holds them.

const FILTERS = {
  subject: DATA.subjects,
  provider: PROVIDERS,
  mode: DATA.modes,
  policy: DATA.policies,
  law: DATA.laws,
  verdict: OUTCOMES,
  by: ["wire", "subject"],
};

/** The first subject is the default: several together show little. */
const ALL = "*";

function readState() {
  const state = { q: "", case: null };
  for (const name of Object.keys(FILTERS)) state[name] = "";
  for (const pair of location.hash.slice(1).split("&")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    if (at < 1 || !Object.hasOwn(state, name)) continue;
    const value = pair.slice(at + 1);
    if (name === "case") state.case = caseOf(value.split("/").map(decoded));
    else if (name === "q" || known(name, decoded(value))) state[name] = decoded(value);
  }
  return state;
}

function known(name, value) {
  return (name === "subject" && value === ALL) || FILTERS[name].some((one) => wellFormed(one) === value);
}

function decoded(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

function encoded(text) {
  return encodeURIComponent(wellFormed(text));
}

/** The address of a state. */
function hashOf(state) {
  const pairs = [];
  for (const name of [...Object.keys(FILTERS), "q"]) if (state[name]) pairs.push(`${name}=${encoded(state[name])}`);
  if (state.case) pairs.push(`case=${partsOf(...state.case).map(encoded).join("/")}`);
  return "#" + pairs.join("&");
}

/** The address of a case under the filters of a state. */
function linkTo(state, subject, place) {
  if (LINKS.state !== state) Object.assign(LINKS, { state, start: hashOf({ ...state, case: null }) });
  const parts = partsOf(subject, place).map((part) => {
    if (!LINKS.names.has(part)) LINKS.names.set(part, encoded(part));
    return LINKS.names.get(part);
  });
  return `${LINKS.start}${LINKS.start === "#" ? "" : "&"}case=${parts.join("/")}`;
}

const LINKS = { state: null, start: "", names: new Map() };

function hasState() {
  return location.hash.includes("=");
}

/** Numbers of the subjects that are shown. */
function subjectsOf(state) {
  const all = DATA.subjects.map((_, number) => number);
  if (state.subject === ALL || (state.by === "subject" && !state.subject)) return all;
  return state.subject ? all.filter((number) => wellFormed(DATA.subjects[number]) === state.subject) : all.slice(0, 1);
}

/** The number of what is chosen by a filter, or -1 for anything. */
function chosen(state, name) {
  return state[name] ? FILTERS[name].findIndex((one) => wellFormed(one) === state[name]) : -1;
}
