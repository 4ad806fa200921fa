"use strict";
// The table of scenarios by wires, or by subjects: one stop of the tab key, and the arrows inside.

const SIGNS = new Map(
  Object.entries(DATA.marks).map(([name, [sign, word]]) => [
    name,
    h("span", { class: `mark ${name}` }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "unseen" }, word)),
  ]),
);

/** The sign of an outcome, with its name for screen readers. Cloned, because the grid has thousands. */
function mark(name) {
  return SIGNS.get(name).cloneNode(true);
}

const NOTHING = PLACES ? "No case matches these filters." : "No case was run.";

function drawGrid(grid) {
  const { columns, by } = grid;
  const names = { wire: DATA.surfaces, subject: DATA.subjects, law: DATA.laws }[by];
  const head = h("tr", {}, h("th", { scope: "col" }, "scenario"));
  for (const number of columns) head.append(h("th", { scope: "col" }, shown(names[number])));
  const body = h("tbody");
  body.append(...grid.rows.map((scenario) => rowOf(grid, scenario, names)));
  const table = h("table", { class: columns.length > 6 ? "many" : "" }, h("thead", {}, head), body);
  const host = document.getElementById("grid");
  if (grid.rows.length) host.replaceChildren(table);
  else {
    const clear = h("button", { type: "reset", form: "filters" }, "Clear the filters");
    host.replaceChildren(h("p", { class: "quiet" }, NOTHING), PLACES ? clear : "");
  }
  const first = host.querySelector("td a");
  if (first) first.tabIndex = 0;
}

function rowOf(grid, scenario, names) {
  const { columns } = grid;
  const from = scenario * columns.length;
  const { title, level } = about("scenarios", scenario);
  const id = DATA.scenarios[scenario];
  const row = h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("b", {}, shown(id)),
      level === "should" ? h("span", { class: "level" }, " should") : null,
      title ? h("span", { class: "law" }, shown(title)) : null,
    ),
  );
  columns.forEach((number, at) => row.append(cellOf(grid, from + at, id, names[number])));
  return row;
}

function cellOf(grid, cell, scenario, column) {
  const { cells, state } = grid;
  const name = NAME_OF_RANK[cells.rank[cell]];
  const label = DATA.marks[name][1];
  const where = `${scenario}, ${column}`;
  const made = document.createElement("td");
  const some = cells.shows[cell] >= 0;
  const inside = document.createElement(some ? "a" : "span");
  inside.className = `mark ${name}${some && !cells.matches[cell] ? " dim" : ""}`;
  inside.textContent = DATA.marks[name][0];
  inside.title = plain(some ? `${where}: ${label}, ${tipOf(cells, cell)}` : `${where}: ${label}`);
  inside.setAttribute("aria-label", inside.title);
  if (some) {
    inside.href = linkTo(state, cells.whose[cell], cells.shows[cell]);
    inside.tabIndex = -1;
  } else inside.setAttribute("role", "img");
  made.append(inside);
  if (cells.broken[cell]) made.append(h("span", { class: "of" }, `${cells.broken[cell]}/${cells.cases[cell]}`));
  return made;
}

function tipOf({ broken, cases }, cell) {
  if (!cases[cell]) return "no applicable case";
  const applicable = counted(cases[cell], "applicable case");
  return broken[cell] ? `${broken[cell]} of ${applicable} ${broken[cell] === 1 ? "breaks" : "break"} a law` : applicable;
}

/** Make the cells of a heat map, which are links of the file, one stop of the tab key. */
function makeHeatMaps() {
  for (const table of document.querySelectorAll("table.heat")) {
    table.querySelectorAll("td a").forEach((link, at) => (link.tabIndex = at ? -1 : 0));
    table.addEventListener("keydown", walkGrid);
  }
  const table = document.querySelector("#subjects table.heat");
  for (const name of ["pointerover", "focusin"]) table?.addEventListener(name, showHint);
}

/** The line over the first heat map shows the full text of the law or cell under the pointer or the focus. */
function showHint(event) {
  const link = event.target.closest("a[title]");
  if (link) document.getElementById("hint").replaceChildren(shown(link.title));
}

/** Arrow keys, Home and End go from cell to cell; only the one with the focus is a stop of the tab key. */
function walkGrid(event) {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -99], End: [0, 99] };
  const step = steps[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const link = step[1] ? along(cell, step[1]) : across(cell, step[0]);
  if (link) focusCell(link);
}

function along(cell, step) {
  const links = [...cell.parentElement.querySelectorAll("td a")];
  const at = links.indexOf(cell.querySelector("a")) + step;
  return links[Math.max(0, Math.min(links.length - 1, at))];
}

function across(cell, step) {
  let row = cell.parentElement;
  const sibling = step < 0 ? "previousElementSibling" : "nextElementSibling";
  while ((row = row[sibling])) {
    const link = row.cells[cell.cellIndex]?.querySelector("a");
    if (link) return link;
  }
  return null;
}

function focusCell(link) {
  for (const other of link.closest("tbody").querySelectorAll('td a[tabindex="0"]')) other.tabIndex = -1;
  link.tabIndex = 0;
  link.focus();
}
