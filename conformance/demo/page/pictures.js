// Pictures of a turn: its time and cost, its wire beside the canonical events, its state.
import { $, count, json, made } from "./dom.js";

// Prices in US dollars per million tokens. They are examples: the models are emulated.
const PRICE = { input: 1, output: 5 };
const SHORTEST = 0.4; // percent of the axis, so that each bar is visible

// ---- time and cost

export function bars(turn) {
  const rows = [];
  turn.answers.forEach((answer, number) => {
    const usage = answer.response?.usage;
    const tokens = usage ? `${usage.input_tokens} in, ${usage.output_tokens} out` : "no token counts";
    const end = answer.ended ?? answer.pieces.at(-1)?.at ?? answer.started;
    rows.push({ kind: "model", name: `answer ${number + 1}`, from: answer.started, to: end, note: tokens });
  });
  const open = new Map(); // id of a call, or number of a block -> its bar
  const latest = Math.max(...turn.events.map((event) => turn.times[event.seq]));
  for (const event of turn.events) {
    const at = turn.times[event.seq];
    if (event.type === "call_started") {
      open.set(event.call_id, { kind: "tool", name: event.name, from: at, to: latest, note: "running" });
      rows.push(open.get(event.call_id));
    } else if (event.type === "call_finished" && open.has(event.call_id)) {
      const isInterrupted = event.how === "unknown_outcome";
      const end = isInterrupted ? turn.gaps.at(-1)?.[0] ?? at : at;
      Object.assign(open.get(event.call_id), { to: end, note: isInterrupted ? "interrupted" : event.how });
    } else if (event.type === "dropped") {
      const note = event.dropped.map((ref) => ref.name).join(", ");
      rows.push({ kind: "dropped", name: `${event.dropped.length} dropped`, from: at, to: at, note });
    } else if (event.type === "block_start" && event.block_type === "text") {
      open.set(event.sequence, { kind: "text", name: "text for the user", from: at, to: at, note: "" });
    } else if (event.type === "block_stop" && event.block.block_type === "text" && open.has(event.block.sequence)) {
      rows.push({ ...open.get(event.block.sequence), to: at });
    }
  }
  for (const [from, to] of turn.gaps) rows.push({ kind: "gone", name: "no server", from, to, note: "killed" });
  return rows.sort((one, other) => one.from - other.from);
}

export const duration = (rows) => Math.max(0, ...rows.map((bar) => bar.to)) - Math.min(...rows.map((bar) => bar.from));

export function timeline(name, turn, longest) {
  const rows = bars(turn);
  const figure = made("figure", "timeline");
  if (!rows.length) return figure;
  const start = rows[0].from;
  figure.append(made("figcaption", "", `${name}: ${summary(turn, rows)}`));
  const list = made("ol");
  for (const bar of rows) {
    const item = made("li", bar.kind);
    const line = made("span", "line");
    const piece = made("span", "bar");
    piece.style.left = `${100 * (bar.from - start) / longest}%`;
    piece.style.width = `${Math.max(SHORTEST, 100 * (bar.to - bar.from) / longest)}%`;
    line.append(piece);
    const seconds = `${(bar.from - start).toFixed(1)}–${(bar.to - start).toFixed(1)} s`;
    item.title = `${bar.name}, ${seconds}${bar.note ? `: ${bar.note}` : ""}`;
    item.append(made("span", "label", bar.name), line, made("span", "detail", bar.note));
    list.append(item);
  }
  const axis = made("p", "axis quiet");
  axis.append(made("span", "", "0 s"), made("span", "", `${longest.toFixed(1)} s`));
  figure.append(list, axis);
  return figure;
}

function summary(turn, rows) {
  const answers = turn.answers;
  const sum = (member) => answers.reduce((total, answer) => total + (answer.response?.usage?.[member] ?? 0), 0);
  const [input, output] = [sum("input_tokens"), sum("output_tokens")];
  const dollars = (input * PRICE.input + output * PRICE.output) / 1e6;
  return `${count(answers.length, "model call")}, ${duration(rows).toFixed(1)} s, ${input} tokens in, ${output} out, ` +
    `$${dollars.toFixed(5)}`;
}

export const PRICE_NOTE = `Beside an answer are its tokens. Cost at an example price of $${PRICE.input} per million tokens in and $${PRICE.output} per million out.`;

// ---- the answer: wire and canonical form

const CALLS = ["tool_call", "server_tool_call"];
let shown = null;

// Show the pieces of an answer, with those marked that begin a call, and its canonical form.
export function showAnswer(exchange) {
  if (exchange === shown) return;
  shown = exchange;
  const parts = (exchange?.pieces ?? []).map((piece) => {
    const starts = piece.events.some((event) => event.type === "block_start" && CALLS.includes(event.block));
    return made(starts ? "mark" : "span", "", piece.text);
  });
  const unread = (exchange?.unread ?? []).map((text) => made("span", "unread", text));
  $("wire").replaceChildren(...parts, ...unread);
  const first = parts.find((part) => part.tagName === "MARK");
  if (parts.length > 1 && first) $("wire").scrollTop = first.offsetTop - 4;
  $("wire-note").textContent = exchange ? `${exchange.wire}, ${count(exchange.pieces.length, "piece")}` +
    `${unread.length ? ` read, ${unread.length} not read` : ""}` : "";
  const response = exchange?.response;
  $("canonical").replaceChildren(...(response ? [canonical(response, exchange.findings)] : []));
  $("canonical-note").textContent = response ? `stop: ${response.choices[0]?.stop.reason ?? "none"}` : "";
}

function canonical(response, findings) {
  const table = made("table");
  const head = made("thead");
  head.append(cells("th", ["block", "type", "content"]));
  const body = made("tbody");
  (response.choices[0]?.blocks ?? []).forEach((block, number) => {
    const row = cells("td", [number, block.type, content(block)]);
    row.className = block.type;
    body.append(row);
  });
  for (const finding of findings) {
    const row = cells("td", ["", "finding", `${finding.code}: ${finding.message}`]);
    row.className = "finding";
    body.append(row);
  }
  table.append(head, body);
  return table;
}

function content(block) {
  const status = block.status === "complete" ? "" : ` (${block.status})`;
  if (block.type === "tool_call") return `${block.name} ${block.arguments_text}${status}`;
  if (block.type === "server_tool_call") return `${block.tool} ${block.arguments_text ?? ""} (run by the provider)`;
  return block.text ?? json(block.raw ?? block);
}

function cells(tag, values) {
  const row = made("tr");
  row.append(...values.map((value) => made(tag, "", value)));
  return row;
}

// ---- the wire, piece by piece, beside the canonical events

export function pieces(exchange) {
  const table = made("table", "pieces");
  const head = made("thead");
  head.append(cells("th", ["no.", "piece on the wire", "canonical events"]));
  const body = made("tbody");
  (exchange?.pieces ?? []).forEach((piece, number) => {
    const row = cells("td", [number + 1]);
    const wire = made("td");
    wire.append(made("pre", "", piece.text.trim()));
    const events = made("td");
    events.append(...piece.events.map(chip));
    if (!piece.events.length) events.append(made("span", "quiet", "none"));
    row.append(wire, events);
    body.append(row);
  });
  table.append(head, body);
  return table;
}

function chip(event) {
  const element = made("div", `chip ${event.type}`);
  const detail = { block_start: () => [event.key, event.block, event.name], block_delta: () => [event.key, json(event.text)],
    block_reset: () => [event.key, json(event.text)], block_stop: () => [event.key],
    choice_stop: () => [event.stop.reason], usage: () => [`${event.usage.input_tokens ?? "?"} in, ${event.usage.output_tokens ?? "?"} out`],
    error: () => [event.error.message] }[event.type]?.() ?? [];
  element.append(made("b", "", event.type), ` ${detail.filter((part) => part !== null && part !== undefined).join(" ")}`);
  return element;
}

// ---- the state diagram

export async function loadStates() {
  const text = await (await fetch("states.svg")).text();
  const picture = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  $("states").replaceChildren(document.importNode(picture, true));
}

export function showState(turn) {
  $("phase").textContent = turn?.phase ?? "new";
  for (const group of $("states").querySelectorAll(".phase")) {
    group.classList.toggle("now", group.dataset.phase === (turn?.phase ?? "new"));
  }
  for (const group of $("states").querySelectorAll(".arrow")) {
    group.classList.toggle("now", Boolean(turn) && group.dataset.from === turn.before && group.dataset.to === turn.phase);
  }
}
