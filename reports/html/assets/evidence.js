"use strict";
// The evidence of one case, in a panel: the wire, the canonical blocks, the output of the subject, and the rule.

function drawEvidence(state) {
  const [subject, place] = state.case;
  const bundle = DATA.cases[subject][place] - 1;
  const verdicts = verdictsOf(bundle);
  const law = chosen(state, "law");
  const broken = verdicts.filter((one) => NOTABLE[one.outcome]);
  broken.sort((one, other) => (other.law === law) - (one.law === law) || RANK[one.outcome] - RANK[other.outcome]);
  const kept = verdicts.filter((one) => !NOTABLE[one.outcome]);
  const body = document.getElementById("evidence-body");
  body.replaceChildren(
    headOf(state, subject, place, verdicts),
    ...broken.map((one) => brokenOf(state, subject, place, one)),
    broken.length ? "" : h("p", { class: "quiet" }, wellOf(kept)),
    keptOf(kept),
    ...roundsOf(bundle, place, new Set(broken.map((one) => one.round))),
    siblingsOf(state, subject, place),
    factsOf(subject, place),
  );
  body.scrollTop = 0;
  requestAnimationFrame(() => body.querySelectorAll(".response").forEach(showMark)); // the panel is open by then
}

/** Distinguishes a case without a broken law from a case in which no law was judged. */
function wellOf(verdicts) {
  const judged = verdicts.some((one) => OUTCOMES[one.outcome] !== "unsupported");
  return judged ? "No law is broken in this case." : "No law was judged in this case: the subject claims none that applies.";
}

function headOf(state, subject, place, verdicts) {
  const { title, level } = about("scenarios", SCENARIO[place]);
  const worst = verdicts.reduce((rank, one) => Math.min(rank, RANK[one.outcome]), IDLE);
  const close = h("button", { type: "button", class: "close", "aria-label": "Close the evidence" }, "Close");
  close.addEventListener("click", () => document.getElementById("evidence").close());
  const { version } = about("subjects", subject);
  return h(
    "header",
    {},
    h("div", { class: "bar" }, stepsOf(state, subject, place), close),
    h(
      "h2",
      { id: "evidence-title", tabindex: "-1" },
      mark(NAME_OF_RANK[worst]),
      " ",
      shown(DATA.scenarios[SCENARIO[place]]),
      level === "should" ? h("span", { class: "level" }, " should") : null,
    ),
    title ? h("p", { class: "lead" }, shown(title)) : null,
    h(
      "p",
      { class: "where" },
      h("b", {}, shown(DATA.subjects[subject])),
      " ",
      shown(version || ""),
      " · ",
      shown(DATA.surfaces[SURFACE[place]]),
      " · ",
      shown(DATA.modes[MODE[place]]),
      " · policy ",
      shown(DATA.policies[POLICY[place]]),
    ),
  );
}

/** Links to the previous and the next cell that match the filters. */
function stepsOf(state, subject, place) {
  const { cells, columns, rows } = PAGE.grid;
  const order = rows.flatMap((row) => columns.map((_, at) => row * columns.length + at)).filter((cell) => cells.matches[cell]);
  const here = order.indexOf(SCENARIO[place] * columns.length + columnOf(PAGE.grid, subject, place));
  const before = order[here - 1];
  const after = order[here + 1];
  const step = (cell, words) =>
    cell === undefined
      ? h("span", { class: "quiet" }, words)
      : h("a", { href: linkTo(state, cells.whose[cell], cells.shows[cell]) }, words);
  return h("span", { class: "steps" }, step(before, "← before"), step(after, "next →"));
}

/** The same scenario on other surfaces, in other modes and under other policies. */
function siblingsOf(state, subject, place) {
  const judge = PAGE.grid.judge;
  const rows = new Map();
  const columns = new Map();
  for (let other = 0; other < PLACES; other++) {
    if (SCENARIO[other] !== SCENARIO[place]) continue;
    columns.set(`${MODE[other]} ${POLICY[other]}`, [MODE[other], POLICY[other]]);
    if (!rows.has(SURFACE[other])) rows.set(SURFACE[other], new Map());
    rows.get(SURFACE[other]).set(`${MODE[other]} ${POLICY[other]}`, other);
  }
  const order = [...columns.entries()].sort(([, one], [, other]) => one[0] - other[0] || one[1] - other[1]);
  const head = order.map(([, [mode, policy]]) =>
    h("th", { scope: "col" }, shown(DATA.modes[mode]), " ", shown(DATA.policies[policy])),
  );
  const cell = (surface, key) => {
    const other = rows.get(surface).get(key);
    if (other === undefined) return h("td", {}, mark("none"));
    const bundle = DATA.cases[subject][other] - 1;
    if (bundle < 0) return h("td", {}, mark("unrun"));
    const current = other === place ? "true" : null;
    const href = linkTo(state, subject, other);
    const name = NAME_OF_RANK[judge.rank[bundle]];
    const title = `${partsOf(subject, other).slice(2).join(", ")}: ${DATA.marks[name][1]}`;
    return h("td", {}, h("a", { class: "cell", href, title, "aria-current": current }, mark(name)));
  };
  const body = [...rows.keys()].sort((one, other) => one - other).map((surface) =>
    h("tr", {}, h("th", { scope: "row" }, shown(DATA.surfaces[surface])), order.map(([key]) => cell(surface, key))),
  );
  return h(
    "details",
    { class: "siblings", open: order.length * rows.size > 1 },
    h("summary", {}, "This scenario on other surfaces"),
    h("div", { class: "wide", role: "region", tabindex: "0", "aria-label": "This scenario on other surfaces" },
      h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "surface"), head)), h("tbody", {}, body))),
  );
}

function brokenOf(state, subject, place, one) {
  const { sentence, level, consequences = {} } = about("laws", one.law);
  const name = OUTCOMES[one.outcome];
  return h(
    "section",
    { class: `broken ${name}` },
    h("h3", {}, mark(name), " ", shown(DATA.laws[one.law]), h("span", { class: "level" }, ` ${DATA.marks[name][1]}`)),
    sentence ? h("p", { class: "rule" }, h("span", {}, level === "should" ? "The rule (should): " : "The rule: "), shown(sentence)) : null,
    h("p", { class: "reason" }, one.effect ? h("b", {}, shown(`${one.effect}: `)) : null, shown(one.reason || "no reason given"), one.round > 0 ? ` (round ${one.round + 1})` : ""),
    consequences[one.effect] ? h("p", { class: "meaning" }, h("b", {}, "For an application: "), shown(consequences[one.effect])) : null,
    one.expected || one.got ? differenceOf(one.expected, one.got) : null,
    BROKEN[one.outcome] ? reproductionSection(state, subject, place, one.law) : null,
  );
}

function keptOf(kept) {
  if (!kept.length) return "";
  const rows = kept.map((one) =>
    h("li", {}, mark(OUTCOMES[one.outcome]), " ", h("b", {}, shown(DATA.laws[one.law])), " ",
      shown(one.reason || about("laws", one.law).sentence || "")),
  );
  const passed = kept.filter((one) => OUTCOMES[one.outcome] === "pass").length;
  const rest = kept.length - passed ? `, ${kept.length - passed} unsupported` : "";
  return h("details", {}, h("summary", {}, `The other laws: ${passed} kept${rest}`), h("ul", { class: "kept" }, rows));
}

function roundsOf(bundle, place, broken) {
  const reports = reportsOf(bundle);
  const { rounds } = trafficOf(place);
  const most = Math.max(reports.length, rounds.length);
  const made = [];
  for (let at = 0; at < most; at++) {
    const seen = rounds[at];
    made.push(
      h(
        "section",
        { class: "round" },
        h("h3", {}, most > 1 ? `Round ${at + 1} of ${most}` : "The answer", broken.has(at) ? h("span", { class: "level" }, " a law was broken here") : null),
        h(
          "div",
          { class: "two" },
          h("div", {}, h("h4", {}, "On the wire", seen ? sizeOf(seen) : ""), seen?.excerpt ? block(seen.excerpt, "On the wire") : missing()),
          h("div", {}, h("h4", {}, "Canonical blocks"), seen?.blocks ? block(indented(seen.blocks), "Canonical blocks") : missing()),
        ),
        reports[at] ? reportRows(reports[at]) : null,
      ),
    );
  }
  return made;
}

function sizeOf(seen) {
  const whole = new TextEncoder().encode(seen.excerpt).length;
  return h("span", { class: "quiet" }, seen.size > whole ? `, the beginning of ${counted(seen.size, "byte")}` : `, ${counted(seen.size, "byte")}`);
}

function missing() {
  return h("p", { class: "quiet" }, "Left out of this page.");
}

function reportRows(report) {
  const rows = [
    ["calls", report.calls],
    ["dropped", report.dropped],
    ["rejected", report.rejected],
    ["warnings", report.warnings],
    ["findings", report.findings],
    ["stop", report.stop ? [report.stop] : []],
    ["refused to read", report.error ? [report.error] : []],
  ].filter(([name, texts]) => texts.length || name === "calls");
  return h(
    "div",
    {},
    h("h4", {}, "Output of the subject"),
    h(
      "dl",
      { class: "said" },
      rows.map(([name, texts]) =>
        h("div", { class: name }, h("dt", {}, name), texts.length ? texts.map((text) => h("dd", {}, shown(text))) : h("dd", { class: "quiet" }, "none")),
      ),
    ),
  );
}

function factsOf(subject, place) {
  const { source } = trafficOf(place);
  const { guards = [] } = about("scenarios", SCENARIO[place]);
  const command = commandOf(subject, place);
  const copy = h("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => copied(copy, command));
  return h(
    "section",
    { class: "facts" },
    h("h3", {}, "Repeat this case"),
    h("div", { class: "command" }, block(command, "The command"), copy),
    source ? h("h3", {}, "Origin") : null,
    source
      ? h("p", {}, h("b", {}, shown(source.origin)), ": ", h("code", {}, shown(source.path)),
          ...[source.date.slice(0, 10), source.model, source.sdk].filter(Boolean).map((text) => [", ", shown(text)]).flat())
      : null,
    guards.length ? h("h3", {}, "Known failures that it guards against") : null,
    guards.length
      ? h("ul", { class: "guards" }, guards.map((id) => h("li", {}, h("a", { href: `#q=${encoded(id)}`, title: "All scenarios that guard against it" }, shown(id)))))
      : null,
  );
}

async function copied(button, command) {
  try {
    await navigator.clipboard.writeText(command);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Selected";
  }
}

/** Preformatted text that scrolls if it is wide; the keyboard reaches it. */
function block(text, label) {
  return h("pre", { tabindex: "0", role: "group", "aria-label": label }, shown(text, "\n\t"));
}
