"use strict";
// The filters and the open case, as the fragment of the address holds them.

/** Any outcome of a broken law, expected or not. */
const BREAKING = "broken";

const FILTERS = {
  subject: DATA.subjects,
  provider: PROVIDERS,
  mode: DATA.modes,
  policy: DATA.policies,
  law: DATA.laws,
  verdict: [BREAKING, ...OUTCOMES],
  effect: DATA.effects,
  by: ["wire", "subject", "law"],
};

/** The first subject of the page is the default: several together show little. */
const ALL = "*";

/** The state of the address: "#section&filter=value&case=…". `unknown`: the parts that name nothing on this page. */
function readState() {
  const state = { q: "", case: null, section: "", unknown: [] };
  for (const name of Object.keys(FILTERS)) state[name] = "";
  for (const pair of location.hash.slice(1).split("&").filter(Boolean)) {
    const [name, ...rest] = pair.split("=");
    const value = rest.join("=");
    const words = decoded(value);
    if (!rest.length) {
      if (document.querySelector(`main > section[id="${CSS.escape(name)}"]`)) state.section = name;
      else state.unknown.push(["section", decoded(name)]);
    } else if (name === "case") {
      state.case = caseOf(value.split("/").map(decoded));
      if (!state.case) state.unknown.push(["case", words]);
    } else if (name === "q") state.q = words;
    else if (Object.hasOwn(FILTERS, name) && (!words || known(name, words))) state[name] = words;
    else state.unknown.push([Object.hasOwn(FILTERS, name) ? name : "filter", Object.hasOwn(FILTERS, name) ? words : decoded(name)]);
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

/** Numbers of the subjects that are shown. */
function subjectsOf(state) {
  const all = DATA.order;
  if (state.subject === ALL || (state.by === "subject" && !state.subject)) return all;
  return state.subject ? all.filter((number) => wellFormed(DATA.subjects[number]) === state.subject) : all.slice(0, 1);
}

/** The number of what is chosen by a filter, or -1 for anything. */
function chosen(state, name) {
  return state[name] ? FILTERS[name].findIndex((one) => wellFormed(one) === state[name]) : -1;
}
