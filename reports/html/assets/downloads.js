"use strict";
// Downloads of the data of the page, assembled on request.

function download(kind) {
  if (kind === "json") save("results.json", "application/json", [JSON.stringify(results()), "\n"]);
  else save("verdicts.csv", "text/csv", csv(kind === "csv" ? everything() : matching(PAGE.grid)));
}

function* everything() {
  for (let subject = 0; subject < DATA.cases.length; subject++) {
    for (let place = 0; place < PLACES; place++) {
      if (DATA.cases[subject][place]) yield [subject, place, DATA.cases[subject][place] - 1];
    }
  }
}

/** The run in the results format, without the duration of each case. */
function results() {
  const rows = [];
  for (const [subject, place, bundle] of everything()) {
    const [own, scenario, surface, mode, policy] = partsOf(subject, place);
    const verdicts = verdictsOf(bundle).map(({ law, outcome, reason, round, expected, got, effect }) => ({
      check: DATA.laws[law],
      outcome: OUTCOMES[outcome],
      ...filled({ reason, round: round < 0 ? "" : round, expected, got, effect }),
    }));
    const rounds = reportsOf(bundle).map(filled);
    rows.push({ subject: own, scenario, surface, mode, policy, verdicts, rounds, called: DATA.called[subject] });
  }
  const traffic = DATA.traffic.map((row) => {
    const rounds = [];
    for (let at = 4; at < row.length; at += 3) {
      rounds.push({ excerpt: TEXTS[row[at]], size: row[at + 1], blocks: TEXTS[row[at + 2]] });
    }
    const source = row[3] ? sourceOf(row[3] - 1).path : "";
    return { scenario: DATA.scenarios[row[0]], surface: DATA.surfaces[row[1]], mode: DATA.modes[row[2]], rounds, source };
  });
  return {
    toolparity: DATA.toolparity,
    date: DATA.date,
    environment: DATA.environment,
    subjects: Object.values(DATA.about.subjects),
    laws: Object.values(DATA.about.laws),
    scenarios: Object.values(DATA.about.scenarios),
    results: rows,
    traffic,
    sources: DATA.sources.map((_, number) => sourceOf(number)),
    kills: DATA.kills,
    seconds: DATA.seconds,
    format: DATA.format,
  };
}

/** The members that are not empty. */
function filled(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== "" && value.length !== 0));
}

function csv(cases) {
  const lines = ["subject,scenario,surface,mode,policy,law,outcome,effect,reason,expected,got\r\n"];
  for (const [subject, place, bundle] of cases) {
    const start = partsOf(subject, place);
    for (const one of verdictsOf(bundle)) {
      const row = [...start, DATA.laws[one.law], OUTCOMES[one.outcome], one.effect, one.reason, one.expected, one.got];
      lines.push(row.map(field).join(",") + "\r\n");
    }
  }
  return lines;
}

/** A CSV field; one that a spreadsheet would evaluate as a formula is marked as text. */
function field(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

function save(name, type, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type: `${type};charset=utf-8` }));
  const link = h("a", { download: name });
  link.href = address;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
