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

const NOTHING = "No case matches these filters.";

function drawGrid(grid) {
  const { columns, by } = grid;
  const names = { wire: DATA.surfaces, subject: DATA.subjects, law: DATA.laws }[by];
  const head = h("tr", {}, h("th", { scope: "col" }, "scenario"));
  for (const number of columns) head.append(h("th", { scope: "col" }, shown(names[number])));
  const body = h("tbody");
  let rows = 0;
  DATA.scenarios.forEach((_, scenario) => {
    const row = rowOf(grid, scenario, names);
    if (!row) return;
    body.append(row);
    rows += 1;
  });
  const table = h("table", { class: columns.length > 6 ? "many" : "" }, h("thead", {}, head), body);
  const host = document.getElementById("grid");
  host.replaceChildren(rows ? table : h("p", { class: "quiet" }, NOTHING));
  const first = host.querySelector("td a");
  if (first) first.tabIndex = 0;
  return rows;
}

/** Null if no case of the row matches the filters. */
function rowOf(grid, scenario, names) {
  const { columns, cells } = grid;
  const from = scenario * columns.length;
  if (!cells.matches.subarray(from, from + columns.length).some(Boolean)) return null;
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
  const some = cells.cases[cell] > 0;
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
  if (cells.broken[cell]) made.append(h("span", { class: "of" }, someOf(cells.broken[cell], cells.cases[cell])));
  return made;
}

function someOf(broken, cases) {
  return broken < cases ? `${broken}/${cases}` : `${cases}`;
}

function tipOf(cells, cell) {
  const cases = counted(cells.cases[cell], "case");
  return cells.broken[cell] ? `${cells.broken[cell]} of ${cases} break a law` : cases;
}

/** Make the cells of a heat map, which are links of the file, one stop of the tab key. */
function makeHeatMaps() {
  for (const table of document.querySelectorAll("table.heat")) {
    table.querySelectorAll("td a").forEach((link, at) => (link.tabIndex = at ? -1 : 0));
    table.addEventListener("keydown", walkGrid);
  }
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
