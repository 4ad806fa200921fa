"use strict";
// How a reader repeats a failure without the suite: the marked response, the script, and downloads of both.

const REPRODUCTIONS = DATA.reproductions.map((one) => ({ ...one, law: DATA.laws.indexOf(one.law) }));

/** The reproduction of a law in this case, or else that of the shortest case of the subject, or undefined. */
function reproductionOf(subject, place, law) {
  const found = REPRODUCTIONS.filter((one) => one.law === law && one.case[0] === DATA.subjects[subject]);
  const here = partsOf(subject, place).join("\n");
  return found.find((one) => one.case.join("\n") === here) || found[0];
}

/** The section of a broken law about its reproduction: here, or a link to the shortest case. */
function reproductionSection(state, subject, place, law) {
  const found = reproductionOf(subject, place, law);
  if (!found) return null;
  if (found.case.join("\n") !== partsOf(subject, place).join("\n")) {
    const other = caseOf(found.case);
    if (!other) return null;
    const link = h("a", { href: linkTo(state, ...other) }, shown(found.case.slice(1).join(" ")));
    return h("p", { class: "shortest" }, "The shortest case of this law, with a script that repeats it: ", link);
  }
  return h("div", { class: "reproduction" }, markedWire(found), programOf(found));
}

const MARKED = {
  lost: "Marked: the calls that are expected and not in the output.",
  unexpected: "Marked: the calls in the output that are not expected there.",
};

function markedWire(found) {
  const label = "The whole response";
  const text = found.parts.map((part, at) => (at % 2 ? h("mark", {}, shown(part, "\n\t")) : shown(part, "\n\t")));
  return h(
    "div",
    {},
    h("h4", {}, label, h("span", { class: "quiet" }, `, ${counted(bodyOf(found).size, "byte")}`)),
    found.kind ? h("p", { class: "quiet" }, MARKED[found.kind]) : null,
    h("pre", { class: "response", tabindex: "0", role: "region", "aria-label": label }, text),
    saver(`Download ${found.file}`, () => save(found.file, "application/octet-stream", [bodyOf(found)])),
  );
}

/** Scrolls a response to its first mark. */
function showMark(whole) {
  const first = whole.querySelector("mark");
  if (first) whole.scrollTop = first.offsetTop - whole.offsetTop - whole.clientHeight / 3;
}

function programOf(found) {
  const copy = h("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => copied(copy, found.script));
  return h(
    "div",
    {},
    h("h4", {}, "Repeat it without Toolparity"),
    h("p", { class: "quiet" }, "This script needs the library and the response, in one folder:"),
    block(found.install, "Installation"),
    h("div", { class: "command" }, block(found.script.trimEnd(), "Script"), copy),
    saver(`Download ${found.name}`, () => save(found.name, "text/plain", [found.script])),
  );
}

function saver(words, act) {
  const button = h("button", { type: "button" }, plain(words));
  button.addEventListener("click", act);
  return h("p", {}, button);
}

/** The bytes of the response: those of its text, unless the text is not the bytes. */
function bodyOf(found) {
  if (!found.body) return new Blob([found.parts.join("")]);
  return new Blob([Uint8Array.from(atob(found.body), (character) => character.charCodeAt(0))]);
}
