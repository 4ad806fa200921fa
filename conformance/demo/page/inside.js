// The lower part of the page: one turn in detail.
import { $, json, made } from "./dom.js";
import { pieces, showState } from "./pictures.js";

let turns = []; // [name, view]: the turns that can be chosen
let shownAnswers = "";

export function offerTurns(named) {
  turns = named;
  $("inside-turn").replaceChildren(...named.map(([name], number) => new Option(name, number)));
  $("inside-turn").parentElement.hidden = named.length < 2;
  update();
}

export function update() {
  const turn = turns[Number($("inside-turn").value)]?.[1].turn ?? null;
  showState(turn);
  showEvents(turn);
  const answers = turn?.answers ?? [];
  const key = turn ? `${turn.id} ${answers.map((answer) => answer.pieces.length)}` : "";
  if (key === shownAnswers) return;
  shownAnswers = key;
  const chosen = Number($("inside-answer").value);
  $("inside-answer").replaceChildren(...answers.map((answer, number) => new Option(`${number + 1} of ${answers.length}`, number)));
  $("inside-answer").value = String(chosen < answers.length ? chosen : 0);
  showAnswer(answers);
}

function showAnswer(answers) {
  const exchange = answers[Number($("inside-answer").value)];
  $("pieces").replaceChildren(pieces(exchange));
  $("request").textContent = exchange ? json(exchange.request) : "";
  $("request-note").textContent = exchange ? `to ${exchange.provider}, ${exchange.wire}` : "";
}

function showEvents(turn) {
  const list = $("events");
  if (!turn || list.dataset.turn !== turn.id) list.replaceChildren();
  if (!turn) return;
  list.dataset.turn = turn.id;
  for (const event of turn.events.slice(list.children.length)) {
    const line = made("li", "", `${event.seq} ${event.type}`);
    line.dataset.seq = event.seq;
    list.append(line);
  }
}

$("inside-turn").addEventListener("change", update);
$("inside-answer").addEventListener("change", () => showAnswer(turns[Number($("inside-turn").value)]?.[1].turn?.answers ?? []));
