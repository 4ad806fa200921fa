"use strict";
// The page shows only what the events of a turn contain, in their order.

const $ = (id) => document.getElementById(id);
const TYPES = ["turn_started", "round_started", "block_start", "block_delta", "block_reset", "block_stop",
  "block_settled", "calls_known", "dropped", "loop_suspected", "noted", "acknowledged", "approval_needed",
  "approval_decided", "result_needed", "call_started", "call_progress", "call_finished", "round_finished",
  "turn_waiting", "turn_complete", "turn_failed"];
let now = null; // the turn that is shown

function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const json = (value) => JSON.stringify(value, null, 1);

async function asked(path, body) {
  const options = body === undefined ? {} :
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = answer.headers.get("content-type") === "application/json" ? await answer.json() : {};
  if (!answer.ok) throw new Error(said.error || `the server returned status ${answer.status}`);
  return said;
}

// ---- following a turn

class Shown {
  constructor(id, words) {
    this.id = id;
    this.seq = -1;
    this.count = 0;
    this.over = false;
    this.blocks = new Map(); // sequence -> {type, element, row}
    this.calls = new Map(); // id -> card
    this.root = made("article", "turn");
    this.root.dataset.turn = id;
    if (words) this.root.append(made("p", "asked", words));
    $("turns").append(this.root);
    for (const pane of ["blocks", "wire", "events"]) $(pane).replaceChildren();
  }

  follow() {
    this.source = new EventSource(`turns/${this.id}/events`);
    this.source.onopen = () => { if (now === this) connection("connected"); };
    this.source.onerror = () => { if (now === this && !this.over) connection("connection lost, reconnecting"); };
    for (const type of TYPES) {
      this.source.addEventListener(type, (event) => this.take(type, JSON.parse(event.data)));
    }
  }

  take(type, event) {
    const expected = this.seq + 1;
    this.count += 1;
    if (event.seq !== expected) this.broken = `event ${event.seq} arrived instead of ${expected}`;
    this.seq = event.seq;
    const line = made("li", "", `${event.seq} ${type}`);
    line.dataset.seq = event.seq;
    if (now === this) {
      $("events").append(line);
      $("integrity").textContent = this.broken || `${this.count} events, none missing`;
    }
    const take = this[type];
    if (take) take.call(this, event);
    $("turns").scrollTop = $("turns").scrollHeight;
  }

  say(className, text) {
    const line = made("p", className, text);
    this.root.append(line);
    return line;
  }

  turn_started(event) {
    if (event.resumed) this.say("quiet", "The turn resumes.");
  }

  round_started(event) {
    if (event.last) this.say("quiet", "The model is asked for its final answer; it may not call tools.");
    if (event.attempt === 1) return;
    for (const [sequence, block] of [...this.blocks]) { // a new attempt replaces the blocks of the previous one
      if (sequence < event.first_block) continue;
      block.element.remove();
      if (block.row) block.row.remove();
      this.blocks.delete(sequence);
    }
  }

  block_start(event) {
    let element = null;
    if (event.block_type === "tool_use") {
      element = this.card(event.tool_use_id || `block-${event.sequence}`, event.tool_name);
    } else if (event.block_type === "tool_result") {
      const card = this.calls.get(event.tool_use_id) || this.card(event.tool_use_id, event.tool_name);
      element = made("p", "result");
      card.append(element);
    } else {
      const kinds = { text: "said", refusal: "said failed", thinking: "thought" };
      element = this.say(kinds[event.block_type] || "quiet", "");
    }
    element.dataset.sequence = event.sequence;
    this.blocks.set(event.sequence, { type: event.block_type, element });
  }

  block_delta(event) {
    const block = this.blocks.get(event.sequence);
    if (block.type === "tool_use") block.element.querySelector(".arguments").textContent += event.text;
    else block.element.textContent += event.text;
  }

  block_reset(event) {
    const block = this.blocks.get(event.sequence);
    const shown = block.type === "tool_use" ? block.element.querySelector(".arguments") : block.element;
    shown.textContent = event.text;
  }

  block_stop(event) { this.kept(event.block); }

  block_settled(event) { this.kept(event.block); }

  kept(row) {
    const block = this.blocks.get(row.sequence);
    if (block && block.type === "tool_use" && row.content) {
      this.named(block.element, row.content.tool_use_id, row.content.tool_name);
    }
    if (block && block.type !== "tool_use" && !block.element.textContent && !row.text_content) block.element.hidden = true;
    const line = made("tr");
    line.append(made("td", "", row.sequence), made("td", "", row.block_type), made("td", "", row.text_content || ""),
      made("td", "", row.content === null ? "" : json(row.content)));
    if (block && block.row) block.row.replaceWith(line);
    else if (now === this) $("blocks").append(line);
    if (block) block.row = line;
  }

  card(id, name) {
    const card = made("div", "call");
    card.append(made("p", "name", name || "…"), made("p", "arguments", ""), made("p", "state", "requested"));
    this.root.append(card);
    this.named(card, id, name);
    return card;
  }

  named(card, id, name) {
    card.dataset.call = id;
    if (name) card.querySelector(".name").textContent = name;
    this.calls.set(id, card);
  }

  state(id, status, text) {
    const card = this.calls.get(id);
    if (!card) return;
    card.dataset.status = status;
    card.querySelector(".state").textContent = text;
  }

  calls_known(event) {
    for (const ref of event.kept) this.state(ref.id, "known", "will run");
    for (const ref of event.dropped) this.state(ref.id, "dropped", "dropped");
    for (const ref of event.rejected) this.state(ref.id, "failed", `not run: ${ref.reason}`);
    wire(this);
  }

  dropped(event) {
    const names = (refs) => refs.map((ref) => `${ref.name} (${ref.id})`).join(", ") || "none";
    const text = `${event.total} calls were requested; processing ${names(event.processing)}; ` +
      `dropped ${names(event.dropped)}`;
    this.say("warning", text).setAttribute("role", "alert");
  }

  loop_suspected(event) {
    this.say("warning", `${event.name} is called with the same arguments for the ${event.times}th time`);
  }

  noted(event) {
    if (event.note === "recovery") this.say("quiet", `Recovered (${event.data.level}): ${event.data.why}`);
    if (event.note === "retry") this.say("quiet", `Retry in ${event.data.seconds.toFixed(1)} s: ${event.data.why}`);
  }

  acknowledged(event) {
    const said = event.spoken ? [...this.root.querySelectorAll(".said")].pop() : null;
    if (said) said.classList.add("ack"); // the model wrote the acknowledgement itself, and it is shown already
    else this.say("ack", event.text);
  }

  approval_needed(event) {
    const card = this.calls.get(event.call_id) || this.card(event.call_id, event.name);
    this.state(event.call_id, "waiting", "waits for approval");
    card.querySelector(".choice")?.remove(); // a resumed turn requests the approval again
    const choice = made("p", "choice");
    for (const [label, approved] of [["Allow", true], ["Deny", false]]) {
      const button = made("button", "", label);
      button.type = "button";
      button.addEventListener("click", () => {
        choice.querySelectorAll("button").forEach((one) => { one.disabled = true; });
        asked(`turns/${this.id}/decide`, { call_id: event.call_id, approved }).catch(failed);
      });
      choice.append(button);
    }
    card.append(choice);
  }

  approval_decided(event) {
    const card = this.calls.get(event.call_id);
    card?.querySelector(".choice")?.remove();
    this.state(event.call_id, event.approved ? "known" : "failed", event.approved ? "allowed" : "denied");
  }

  call_started(event) {
    this.state(event.call_id, "running", "running");
    const card = this.calls.get(event.call_id);
    if (!card || card.querySelector("progress")) return;
    const bar = made("progress");
    bar.max = 1;
    bar.setAttribute("aria-label", `progress of ${event.name}`);
    card.append(bar);
  }

  call_progress(event) {
    const bar = this.calls.get(event.call_id)?.querySelector("progress");
    if (bar && event.data && event.data.of) bar.value = event.data.done / event.data.of;
  }

  call_finished(event) {
    this.calls.get(event.call_id)?.querySelector("progress")?.remove();
    this.state(event.call_id, event.is_error ? "failed" : "done", event.how);
  }

  turn_waiting(event) { this.say("quiet", `The turn waits for ${event.waiting.length} decisions.`); }

  turn_complete(event) {
    if (!event.written) this.say("said", event.text);
    this.ended(event, "ended");
  }

  turn_failed(event) {
    this.say("said failed", event.text);
    this.ended(event, "ended failed");
  }

  ended(event, className) {
    this.over = true;
    this.source.close();
    const usage = event.usage ? `, ${event.usage.input_tokens} tokens in, ${event.usage.output_tokens} out` : "";
    this.say(`quiet ${className}`, `${event.termination_reason}${usage}`);
    connection("the turn has ended");
    $("cancel").disabled = true;
    $("send").disabled = false;
    wire(this);
  }
}

function connection(text) { $("connection").textContent = text; }

function failed(error) {
  const line = made("p", "said failed", error.message);
  line.setAttribute("role", "alert");
  $("turns").append(line);
}

async function wire(shown) {
  const { exchanges } = await asked(`turns/${shown.id}/wire`).catch(() => ({ exchanges: [] }));
  if (now !== shown) return;
  $("wire").replaceChildren(...exchanges.flatMap((one, number) => {
    const request = made("details");
    request.append(made("summary", "", "request"), made("pre", "request", json(one.request)));
    return [
      made("h3", "", `${number + 1}. ${one.provider}, ${one.wire}`),
      request,
      made("pre", "answer", one.pieces.join("") + (one.cut ? "\n… (the rest is not stored)" : "")),
    ];
  }));
}

// ---- asking

$("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const message = $("message").value.trim();
  if (!message) return;
  const limit = $("limit").value;
  const body = { message, surface: $("surface").value, policy: $("policy").value, approval: $("approval").checked,
    narrator: $("narrator").checked, limit: limit === "" ? null : Number(limit),
    after: $("goon").checked && now ? now.id : null };
  $("send").disabled = true;
  try {
    const { turn } = await asked("turns", body);
    show(turn, message);
  } catch (error) {
    failed(error);
    $("send").disabled = false;
  }
});

function show(id, message) {
  now = new Shown(id, message);
  $("cancel").disabled = false;
  location.hash = id; // a page that is loaded again shows the turn again
  now.follow();
}

$("cancel").addEventListener("click", () => asked(`turns/${now.id}/cancel`, {}).catch(failed));

$("scripts").addEventListener("change", () => {
  if ($("scripts").value) $("message").value = $("scripts").value;
});

function offer(choices) {
  const surface = $("surface").value;
  $("scripts").replaceChildren($("scripts").options[0], ...choices.asks
    .filter((one) => one.surfaces.includes(surface))
    .map((one) => {
      const option = made("option", "", `${one.title}: ${one.ask.slice(0, 80)}`);
      option.value = one.ask;
      return option;
    }));
}

async function begin() {
  const choices = await asked("choices");
  for (const [id, names] of [["surface", choices.surfaces], ["policy", choices.policies]]) {
    $(id).append(...names.map((name) => new Option(name, name)));
  }
  $("policy").value = "all";
  $("surface").addEventListener("change", () => offer(choices));
  offer(choices);
  const before = location.hash.slice(1);
  const left = await lookForLeft();
  if (before && !left.includes(before)) show(before);
  setTimeout(() => lookForLeft().catch(failed), 7000); // a killed process holds its turns for some seconds
}

async function lookForLeft() {
  const { left } = await asked("turns");
  for (const id of left) {
    if (document.querySelector(`[data-left="${id}"]`)) continue;
    const line = made("p", "quiet", "A turn was interrupted. ");
    line.dataset.left = id;
    const button = made("button", "", "Resume it");
    button.type = "button";
    button.addEventListener("click", async () => {
      line.remove();
      await asked(`turns/${id}/resume`, {}).then(() => show(id), failed);
    });
    line.append(button);
    $("turns").append(line);
  }
  return left;
}

begin().catch(failed);
