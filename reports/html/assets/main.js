"use strict";
// One direction: the address holds the filters and the open case; controls and links change it; the page is redrawn.

const PAGE = { grid: null, drawn: null, open: "" };

function draw(state) {
  const filters = hashOf({ ...state, case: null });
  if (PAGE.drawn !== filters) {
    PAGE.drawn = filters;
    PAGE.grid = gridOf(state);
    drawGrid(PAGE.grid);
    const { matches, cases, subjects } = PAGE.grid;
    const whom = subjects.length === 1 ? DATA.subjects[subjects[0]] : counted(subjects.length, "subject");
    document.getElementById("filter-count").replaceChildren(
      `${counted(PAGE.grid.rows.length, "scenario")}, ${matches.toLocaleString("en")} of ${counted(cases, "case")} of `,
      shown(whom),
    );
    drawReasons(PAGE.grid);
    fillForm(state);
  }
  const unknown = document.getElementById("unknown");
  unknown.hidden = !state.unknown.length;
  unknown.replaceChildren(...state.unknown.flatMap(([kind, name]) => [`This page has no ${kind} “`, shown(name), "”. "]));
  const panel = document.getElementById("evidence");
  if (state.case) {
    drawEvidence(state);
    PAGE.open = state.case.join();
    if (!panel.open) panel.showModal();
    document.getElementById("evidence-title").focus();
  } else if (panel.open) panel.close();
}

function fillForm(state) {
  const form = document.getElementById("filters");
  for (const name of [...Object.keys(FILTERS), "q"]) {
    const control = form.elements[name];
    if (control.value !== state[name]) control.value = state[name];
  }
  const names = [...Object.keys(FILTERS), "q"].filter((name) => state[name]);
  const words = names.map((name) => `${name === "by" ? "columns" : name === "q" ? "text" : name} ${state[name]}`);
  document.getElementById("filter-names").replaceChildren(shown(words.join(", ") || "none"));
  if (!state.subject) form.elements.subject.value = subjectsOf(state).length > 1 ? ALL : wellFormed(DATA.subjects[DATA.order[0]] || "");
}

function makeForm() {
  const form = document.getElementById("filters");
  document.getElementById("filter-box").open = !matchMedia("(max-width: 40rem)").matches;
  for (const [name, values] of Object.entries(FILTERS)) {
    const select = form.elements[name];
    const words = name === "verdict" ? (value) => DATA.marks[value]?.[1] || "any failure" : (value) => value;
    if (name === "subject") select.append(h("option", { value: ALL }, "all subjects"));
    else if (name !== "by") select.append(h("option", { value: "" }, "any"));
    const listed = name === "subject" ? DATA.order.map((number) => values[number]) : values;
    for (const value of listed) {
      const option = h("option", {}, plain(words(value)));
      option.value = name === "by" && value === "wire" ? "" : wellFormed(value);
      select.append(option);
    }
  }
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => go(formState(form)), 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    go({});
  });
}

function formState(form) {
  const state = { case: null };
  for (const name of [...Object.keys(FILTERS), "q"]) state[name] = form.elements[name].value;
  // The default subject is left out of the address.
  if (subjectsOf({ ...state, subject: "" }).join() === subjectsOf(state).join()) state.subject = "";
  return state;
}

/** Go to a state without adding it to the browser's history. */
function go(state) {
  history.replaceState(null, "", hashOf(state));
  draw(readState());
}

/** At the start, after a link, or after a step in the browser's history: draw, and scroll to what the address names. */
function follow() {
  const state = readState();
  draw(state);
  if (state.case) return;
  if (state.unknown.length) document.getElementById("unknown").scrollIntoView({ block: "center" });
  else if (state.section) showSection(document.getElementById(state.section));
  else if (hashOf(state) !== "#") document.getElementById("scenarios").scrollIntoView();
}

function showSection(section) {
  section.scrollIntoView();
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
}

/** A link to a section keeps the filters: its address gets them as well. */
function toSection(event) {
  const link = event.target.closest?.('a[href^="#"]');
  const id = link && !link.hash.includes("=") && link.hash.slice(1);
  const section = id && document.getElementById(id);
  if (!section || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const filters = hashOf({ ...readState(), case: null }).slice(1);
  history.pushState(null, "", `#${[id, filters].filter(Boolean).join("&")}`);
  showSection(section);
}

function start() {
  makeForm();
  makeHeatMaps();
  follow();
  addEventListener("hashchange", follow);
  addEventListener("click", toSection);
  document.getElementById("grid").addEventListener("keydown", walkGrid);
  const panel = document.getElementById("evidence");
  panel.addEventListener("close", () => {
    const state = readState();
    // The event comes late: by now the address may name another case, or the panel of this one may be open.
    if (panel.open || state.case?.join() !== PAGE.open) return;
    go({ ...state, case: null });
    const focus = document.activeElement;
    if (focus === document.body || panel.contains(focus)) focusOn(state.case);
  });
  panel.addEventListener("click", (event) => {
    if (event.target === panel) panel.close();
  });
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", () => download(button.dataset.download));
  }
}

/** Move the focus to the cell of the case if its panel was opened by the address. */
function focusOn([subject, place]) {
  const column = columnOf(PAGE.grid, subject, place);
  const row = [...document.querySelectorAll("#grid tbody tr")].find(
    (one) => one.querySelector("th b").textContent === shown(DATA.scenarios[SCENARIO[place]]).textContent,
  );
  const link = row?.cells[column + 1]?.querySelector("a");
  if (link) focusCell(link);
}

start();
document.documentElement.dataset.ready = "";
