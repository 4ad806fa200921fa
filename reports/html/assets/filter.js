"use strict";
// Which cases a filter leaves, and what each cell of the grid is then. Worked out once a bundle, then counted by case.

/** Whether a verdict with this outcome is one that the filter wants. */
function wants(state, outcome) {
  if (!state.verdict) return true;
  return state.verdict === BREAKING ? BROKEN[outcome] : OUTCOMES[outcome] === state.verdict;
}

/** The effect under which a bundle counts: the first of all effects of its failures under the law, or "". */
function effectOf(bundle, law) {
  const effects = DATA.bundles[bundle].slice(2).map((number) => DATA.verdicts[number]);
  const own = new Set(effects.filter((row) => law < 0 || row[0] === law).map((row) => TEXTS[row[6]]));
  return DATA.effects.find((effect) => own.has(effect)) || "";
}

/** For each bundle: its worst outcome under the law that is chosen, and whether the verdict and the words match. */
function judged(state) {
  const law = chosen(state, "law");
  const words = state.q.toLowerCase();
  const rank = new Uint8Array(PAIRS.length);
  const broken = new Uint8Array(PAIRS.length);
  const matches = new Uint8Array(PAIRS.length);
  PAIRS.forEach((pairs, bundle) => {
    let worst = IDLE;
    let found = !state.verdict;
    for (let at = 0; at < pairs.length; at += 2) {
      if (law >= 0 && pairs[at] !== law) continue;
      const outcome = pairs[at + 1];
      worst = Math.min(worst, RANK[outcome]);
      if (wants(state, outcome)) found = true;
      if (BROKEN[outcome]) broken[bundle] = 1;
    }
    rank[bundle] = worst;
    if (state.effect && found) found = effectOf(bundle, law) === state.effect;
    matches[bundle] = found && (law < 0 || worst !== IDLE) ? 1 : 0;
  });
  return { rank, broken, matches, said: words ? saying(words) : null, named: words ? naming(words) : null };
}

/** For each bundle, whether anything in it says these words. */
function saying(words) {
  const texts = TEXTS.map((text) => text.toLowerCase().includes(words));
  const reports = DATA.rounds.map((rounds) => rounds.some((row) => row.flat().some((number) => texts[number])));
  const verdicts = DATA.verdicts.map(([, , ...numbers]) => numbers.some((number, at) => at !== 1 && texts[number]));
  return DATA.bundles.map(([own, , ...worded]) => reports[own] || worded.some((number) => verdicts[number]));
}

/** For each scenario, whether its name, title or one of the failures it guards against says these words. */
function naming(words) {
  return DATA.scenarios.map((id, number) => {
    const { title = "", guards = [] } = about("scenarios", number);
    return [id, title, ...guards].some((text) => text.toLowerCase().includes(words));
  });
}

/** The grid: a cell for each scenario and column, counted over the subjects, modes and policies that are chosen. */
function gridOf(state) {
  const subjects = subjectsOf(state);
  const provider = chosen(state, "provider");
  const mode = chosen(state, "mode");
  const policy = chosen(state, "policy");
  const judge = judged(state);
  const by = state.by || "wire";
  const columns = {
    wire: () => numbersOf(DATA.surfaces).filter((number) => provider < 0 || PROVIDER_OF[number] === provider),
    subject: () => subjects,
    law: () => (state.law ? [chosen(state, "law")] : numbersOf(DATA.laws)),
  }[by]();
  const column = new Map(columns.map((number, at) => [number, at]));
  const size = DATA.scenarios.length * columns.length;
  const cells = {
    rank: new Uint8Array(size).fill(NONE),
    cases: new Uint32Array(size), // the applicable ones: with a verdict other than "unsupported"
    broken: new Uint32Array(size),
    matches: new Uint32Array(size),
    shows: new Int32Array(size).fill(-1), // the place whose evidence a cell opens first
    whose: new Int32Array(size),
  };
  const grid = { state, subjects, columns, column, by, judge, cells, cases: 0, matches: 0 };
  for (let place = 0; place < PLACES; place++) {
    const surface = SURFACE[place];
    if (provider >= 0 && PROVIDER_OF[surface] !== provider) continue;
    if ((mode >= 0 && MODE[place] !== mode) || (policy >= 0 && POLICY[place] !== policy)) continue;
    for (const subject of subjects) count(grid, subject, place);
  }
  grid.rows = rowsOf(grid);
  return grid;
}

/** The scenarios that match, those with most broken cases first. */
function rowsOf({ cells, columns }) {
  const sum = (numbers, scenario) => {
    const from = scenario * columns.length;
    return numbers.subarray(from, from + columns.length).reduce((one, other) => one + other, 0);
  };
  const rows = numbersOf(DATA.scenarios).filter((scenario) => sum(cells.matches, scenario));
  const broken = new Map(rows.map((scenario) => [scenario, sum(cells.broken, scenario)]));
  return rows.sort((one, other) => broken.get(other) - broken.get(one));
}

function numbersOf(names) {
  return names.map((_, number) => number);
}

/** The cells that show a case: [cell, rank, broken, wanted]. By law it is one cell per verdict. */
function* cellsOf(grid, subject, place) {
  const { by, column, columns, judge, state } = grid;
  const row = SCENARIO[place] * columns.length;
  const bundle = DATA.cases[subject][place] - 1;
  if (by !== "law") {
    const cell = row + column.get(by === "subject" ? subject : SURFACE[place]);
    yield bundle < 0 ? [cell, UNRUN, 0, 0] : [cell, judge.rank[bundle], judge.broken[bundle], 1];
  } else if (bundle < 0) for (const at of columns.keys()) yield [row + at, UNRUN, 0, 0];
  else {
    const pairs = PAIRS[bundle];
    for (let at = 0; at < pairs.length; at += 2) {
      const outcome = pairs[at + 1];
      if (column.has(pairs[at])) yield [row + column.get(pairs[at]), RANK[outcome], BROKEN[outcome] ? 1 : 0, wants(state, outcome)];
    }
  }
}

function count(grid, subject, place) {
  const { cells, judge } = grid;
  const bundle = DATA.cases[subject][place] - 1;
  const matches = bundle >= 0 && judge.matches[bundle] && (!judge.said || judge.said[bundle] || judge.named[SCENARIO[place]]);
  grid.cases += bundle >= 0;
  grid.matches += matches ? 1 : 0;
  for (const [cell, rank, broken, wanted] of cellsOf(grid, subject, place)) {
    const worse = rank < cells.rank[cell];
    if (worse) cells.rank[cell] = rank;
    if (bundle < 0) continue;
    const first = matches && wanted && !cells.matches[cell];
    cells.cases[cell] += rank < UNSUPPORTED ? 1 : 0;
    cells.broken[cell] += broken;
    cells.matches[cell] += matches && wanted ? 1 : 0;
    if (first || cells.shows[cell] < 0 || (worse && ((matches && wanted) || !cells.matches[cell]))) {
      cells.shows[cell] = place;
      cells.whose[cell] = subject;
    }
  }
}

/** The column of the grid that shows a case; by law it is that of its worst verdict. */
function columnOf(grid, subject, place) {
  const { by, columns } = grid;
  if (by !== "law") return columns.indexOf(by === "subject" ? subject : SURFACE[place]);
  let worst = [Infinity, -1];
  for (const [cell, rank] of cellsOf(grid, subject, place)) if (rank < worst[0]) worst = [rank, cell % columns.length];
  return worst[1];
}

/** Every case that a grid's filter leaves: with its bundle. */
function* matching(grid) {
  const { state, judge, subjects } = grid;
  const provider = chosen(state, "provider");
  const mode = chosen(state, "mode");
  const policy = chosen(state, "policy");
  for (const subject of subjects) {
    const cases = DATA.cases[subject];
    for (let place = 0; place < PLACES; place++) {
      const bundle = cases[place] - 1;
      if (bundle < 0 || !judge.matches[bundle]) continue;
      if (provider >= 0 && PROVIDER_OF[SURFACE[place]] !== provider) continue;
      if ((mode >= 0 && MODE[place] !== mode) || (policy >= 0 && POLICY[place] !== policy)) continue;
      if (judge.said && !judge.said[bundle] && !judge.named[SCENARIO[place]]) continue;
      yield [subject, place, bundle];
    }
  }
}
