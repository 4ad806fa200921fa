// The stage of an act: a column for each of its turns, the answer that they share, and their time and cost.
import { $, asked, made } from "./dom.js";
import { offerTurns, update } from "./inside.js";
import { Lane } from "./lane.js";
import { bars, duration, PRICE_NOTE, showAnswer, timeline } from "./pictures.js";
import { Turn } from "./turn.js";

let stage = null; // {act, lanes}
let streamedOnly = [];
let isScheduled = false;

export function prepare(choices) {
  streamedOnly = choices.streamed_only;
  $("again").addEventListener("click", runAll);
  $("act-surface").addEventListener("change", runAll);
  $("act-stream").addEventListener("change", runAll);
}

// Show an act and run it. `ids`: turns that run already, after the page was loaded again.
export function showAct(act, ids = []) {
  close();
  $("title").textContent = act.headline;
  $("lead").textContent = act.lead;
  $("asked").textContent = act.ask;
  const surface = $("act-surface").value;
  $("act-surface").replaceChildren(...act.surfaces.map((name) => new Option(name, name)));
  if (act.surfaces.includes(surface)) $("act-surface").value = surface;
  $("again").textContent = act.lanes.length > 1 ? "Run all" : "Run again";
  const lanes = act.lanes.map((settings, number) => {
    return { ...settings, view: new Lane(act, settings, () => run(number), refresh) };
  });
  stage = { act, lanes };
  $("plays").dataset.lanes = lanes.length;
  $("lanes").replaceChildren(...lanes.map((lane) => lane.view.root));
  offerTurns(lanes.map((lane) => [lane.view.name, lane.view]));
  refresh();
  if (ids.length) ids.forEach((id, number) => { if (id && lanes[number]) follow(lanes[number].view, id); });
  else runAll();
}

export function close() {
  for (const lane of stage?.lanes ?? []) lane.view.clear();
  stage = null;
}

function runAll() { stage.lanes.forEach((lane, number) => run(number)); }

async function run(number) {
  const { act, lanes } = stage;
  const { view, policy, limit } = lanes[number];
  view.clear();
  view.connection("starting", false);
  const surface = $("act-surface").value;
  const isStreamedOnly = streamedOnly.includes(surface);
  $("act-stream").disabled = isStreamedOnly;
  const stream = isStreamedOnly || $("act-stream").value === "stream";
  try {
    const { turn } = await asked("turns", { act: act.id, surface, policy, limit, stream });
    if (stage?.act === act) follow(view, turn);
  } catch (error) {
    view.connection(error.message, true);
  }
}

function follow(view, id) {
  view.clear();
  new Turn(id, view);
  const ids = stage.lanes.map((lane) => lane.view.turn?.id ?? "");
  history.replaceState(null, "", `#${stage.act.id}/${ids.join(",")}`); // a page that is loaded again shows them again
  refresh();
}

// Draw everything that depends on several turns, once before the next frame.
function refresh() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    if (stage) draw();
  });
}

function draw() {
  update();
  const turns = stage.lanes.filter((lane) => lane.view.turn);
  showAnswer(turns.map((lane) => lane.view.turn.answers[0]).find((answer) => answer?.response));
  const longest = Math.max(0.1, ...turns.map((lane) => bars(lane.view.turn)).filter((rows) => rows.length).map(duration));
  $("timelines").replaceChildren(
    made("h2", "", "Time and cost"),
    made("p", "quiet small", PRICE_NOTE),
    ...turns.map((lane) => timeline(lane.view.name, lane.view.turn, longest)),
  );
}
