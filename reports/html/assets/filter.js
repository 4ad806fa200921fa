"use strict";
// Which cases a filter leaves, and what each cell of the grid is then. Worked out once a bundle, then counted by case.

/** For each bundle: its worst outcome under the law that is chosen, and whether the verdict and the words match. */
function judged(state) {
  const law = chosen(state, "law");
  const verdict = chosen(state, "verdict");
  const words = state.q.toLowerCase();
  const rank = new Uint8Array(PAIRS.length);
  const broken = new Uint8Array(PAIRS.length);
  const matches = new Uint8Array(PAIRS.length);
  PAIRS.forEach((pairs, bundle) => {
    let worst = IDLE;
    let found = verdict < 0;
    for (let at = 0; at < pairs.length; at += 2) {
      if (law >= 0 && pairs[at] !== law) continue;
      const outcome = pairs[at + 1];
      worst = Math.min(worst, RANK[outcome]);
      if (outcome === verdict) found = true;
      if (BROKEN[outcome]) broken[bundle] = 1;
    }
    rank[bundle] = worst;
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
  const bySubject = state.by === "subject";
  const columns = bySubject
    ? subjects
    : DATA.surfaces.map((_, number) => number).filter((number) => provider < 0 || PROVIDER_OF[number] === provider);
  const column = new Map(columns.map((number, at) => [number, at]));
  const size = DATA.scenarios.length * columns.length;
  const cells = {
    rank: new Uint8Array(size).fill(NONE),
    cases: new Uint32Array(size),
    broken: new Uint32Array(size),
    matches: new Uint32Array(size),
    shows: new Int32Array(size).fill(-1), // the place whose evidence a cell opens first
    whose: new Int32Array(size),
  };
  const grid = { state, subjects, columns, bySubject, judge, cells, cases: 0, matches: 0 };
  for (let place = 0; place < PLACES; place++) {
    const surface = SURFACE[place];
    if (provider >= 0 && PROVIDER_OF[surface] !== provider) continue;
    if ((mode >= 0 && MODE[place] !== mode) || (policy >= 0 && POLICY[place] !== policy)) continue;
    const row = SCENARIO[place] * columns.length;
    for (const subject of subjects) count(grid, row + column.get(bySubject ? subject : surface), subject, place);
  }
  return grid;
}

function count(grid, cell, subject, place) {
  const { cells, judge } = grid;
  const bundle = DATA.cases[subject][place] - 1;
  if (bundle < 0) {
    cells.rank[cell] = Math.min(cells.rank[cell], UNRUN);
    return;
  }
  grid.cases += 1;
  cells.cases[cell] += 1;
  cells.broken[cell] += judge.broken[bundle];
  const matches = judge.matches[bundle] && (!judge.said || judge.said[bundle] || judge.named[SCENARIO[place]]);
  const first = matches && !cells.matches[cell];
  if (matches) {
    cells.matches[cell] += 1;
    grid.matches += 1;
  }
  const worse = judge.rank[bundle] < cells.rank[cell];
  if (worse) cells.rank[cell] = judge.rank[bundle];
  if (first || cells.shows[cell] < 0 || (worse && (matches || !cells.matches[cell]))) {
    cells.shows[cell] = place;
    cells.whose[cell] = subject;
  }
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
