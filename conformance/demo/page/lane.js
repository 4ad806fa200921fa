// A turn in a column: its calls with the decision on each, what the user sees, and what goes back to the provider.
import { CANCELLED, asked, button, made } from "./dom.js";
import { keyOf, summary } from "./summary.js";

const SIGNS = { kept: "✓ kept", dropped: "✕ dropped", rejected: "✕ rejected", server: "◆ server",
  unread: "✕ not read", pending: "… pending" };
const OUTCOMES = { returned: "returned", failed: "failed", raised: "raised an error", denied: "denied",
  cancelled: "cancelled", skipped: "not started", timeout: "timed out", unknown_outcome: "outcome unknown, not repeated" };

export class Lane {
  // `lane`: its policy and limit. `start()` begins the turn again. `changed()` is called after each change.
  constructor(act, lane, start, changed) {
    this.act = act;
    this.changed = changed;
    this.name = lane.limit === null ? lane.policy : `${lane.policy}, limit ${lane.limit}`;
    this.root = made("article", "lane");
    this.root.dataset.policy = lane.policy;
    this.run = button(this.name, "policy", start);
    this.run.setAttribute("aria-label", `Run with policy ${this.name}`);
    this.state = made("p", "state quiet", "not started");
    this.state.setAttribute("role", "status");
    this.head = made("header");
    const texts = made("div");
    texts.append(made("p", "lead", lane.lead), this.state);
    this.head.append(this.run, texts);
    this.summary = made("p", "summary");
    this.root.append(this.head, this.summary);
    this.calls = this.part("calls", "Calls", "ol");
    this.seen = this.part("seen", "The user sees", "div");
    this.back = this.part("back", "Goes back to the provider", "div");
    this.clear();
  }

  part(className, title, tag) {
    const part = made("section", className);
    const content = made(tag, "content");
    content.setAttribute("role", tag === "ol" ? "list" : "group");
    content.setAttribute("aria-label", title);
    part.append(made("h2", "", title), content);
    this.root.append(part);
    return content;
  }

  clear() {
    this.turn?.close();
    this.turn = null;
    delete this.root.dataset.ended;
    this.action?.remove();
    this.action = null;
    this.blocks = new Map(); // sequence -> {type, element}
    this.rows = new Map(); // id of a call -> row
    for (const part of [this.summary, this.calls, this.seen, this.back]) part.replaceChildren();
  }

  connection(text, isGone) {
    this.state.textContent = text;
    this.state.classList.toggle("gone", isGone);
  }

  traced() {
    const requests = this.turn.answers.map((answer, number) => [number, answer]).filter(([, answer]) => answer.results.length);
    this.back.replaceChildren(...requests.flatMap(([number, answer]) => [
      made("h3", "", `request ${number + 1}`), made("pre", "", answer.results.map((item) => JSON.stringify(item)).join("\n")),
    ]));
    for (const answer of this.turn.answers) this.showUnread(answer);
    this.refresh();
  }

  // The call at which the reader closed the stream: the turn has no event for it, the rest of the traffic has its text.
  showUnread({ unread, unread_text: text, findings, started }) {
    const id = `unread-${started}`;
    const limit = findings.find((finding) => finding.code === "dropped-call");
    if (!unread.length || !limit || this.rows.has(id)) return;
    const rounds = this.calls.querySelectorAll(".round > ul");
    this.round = rounds[this.turn.answers.findIndex((answer) => answer.started === started)];
    const row = this.row(id, "", "unread");
    row.querySelector(".name").textContent = "";
    row.querySelector(".arguments").textContent = text.trim();
    this.outcome(id, limit.message);
  }

  refresh() {
    this.summary.textContent = summary(this.turn.events, this.turn.answers.map((answer) => answer.unread.length));
    this.changed();
  }

  // ---- events

  turn_started(event) {
    if (event.resumed) this.say("quiet resumed", "The turn resumes.");
  }

  round_started(event) {
    this.connection(`the model writes answer ${event.round}`, false);
    if (event.attempt > 1) this.removeFrom(event.first_block);
    this.round = null;
    this.number = event.round;
  }

  removeFrom(first) { // a new attempt replaces the blocks of the previous one
    for (const [sequence, block] of [...this.blocks]) {
      if (sequence < first) continue;
      block.element.remove();
      this.blocks.delete(sequence);
    }
  }

  block_start(event) {
    const type = event.block_type;
    if (type === "tool_use") {
      this.blocks.set(event.sequence, { type, element: this.row(event.tool_use_id || `block-${event.sequence}`, event.tool_name, "pending") });
    } else if (type === "server_tool_use") {
      this.blocks.set(event.sequence, { type, element: this.row(`block-${event.sequence}`, "", "server") });
    } else if (type === "tool_result") {
      const row = this.rows.get(event.tool_use_id);
      if (row) this.blocks.set(event.sequence, { type, element: row, text: row.querySelector(".result") });
    } else if (type === "text" || type === "refusal") {
      this.blocks.set(event.sequence, { type, element: this.say("said", "") });
    }
  }

  block_delta(event) { this.write(event, (element) => element.textContent + event.text); }

  block_reset(event) { this.write(event, () => event.text); }

  write(event, text) {
    const block = this.blocks.get(event.sequence);
    if (!block) return;
    const element = block.text || block.element.querySelector(".arguments") || block.element;
    element.textContent = text(element);
  }

  block_stop(event) { this.complete(event.block); }

  block_settled(event) { this.complete(event.block); }

  complete({ sequence, content, text_content: text }) {
    const block = this.blocks.get(sequence);
    if (!block) return;
    if (block.type === "tool_use") {
      this.rows.set(content.tool_use_id, block.element);
      block.element.dataset.call = content.tool_use_id;
      block.element.querySelector(".name").textContent = content.tool_name;
      this.requestedAgain(block.element, keyOf(content));
    } else if (block.type === "server_tool_use") {
      block.element.querySelector(".name").textContent = content.tool || content.name;
      block.element.querySelector(".arguments").textContent = content.arguments_text || "";
      block.element.querySelector(".outcome").textContent = "executed by the provider";
    } else if (block.type !== "tool_result" && !text) block.element.remove();
  }

  // Note on a dropped call in which answer the model requests it again.
  requestedAgain(row, key) {
    for (const earlier of this.calls.querySelectorAll(".call[data-sign=dropped]:not([data-again])")) {
      if (earlier.dataset.key !== key) continue;
      earlier.dataset.again = this.number;
      earlier.querySelector(".outcome").textContent += `; requested again in answer ${this.number}`;
    }
    row.dataset.key = key;
  }

  row(id, name, sign) {
    if (!this.round) {
      const item = made("li", "round");
      item.append(made("h3", "", `answer ${this.number}`));
      this.round = made("ul");
      item.append(this.round);
      this.calls.append(item);
    }
    const row = made("li", "call");
    row.dataset.call = id;
    row.append(made("span", "sign"), made("span", "name", name || "…"), made("code", "arguments"),
      made("span", "outcome"), made("span", "result"));
    this.decide(row, sign);
    this.round.append(row);
    this.rows.set(id, row);
    return row;
  }

  decide(row, sign) {
    row.dataset.sign = sign;
    row.querySelector(".sign").textContent = SIGNS[sign];
  }

  outcome(id, text) {
    const row = this.rows.get(id);
    if (row) row.querySelector(".outcome").textContent = text;
    return row;
  }

  say(className, text) {
    const line = made("p", className, text);
    this.seen.append(line);
    return line;
  }

  calls_known(event) {
    this.connection("calls selected", false);
    for (const sign of ["kept", "dropped", "rejected"]) {
      for (const ref of event[sign]) {
        this.decide(this.rows.get(ref.id), sign);
        if (ref.reason) this.outcome(ref.id, ref.reason);
      }
    }
  }

  dropped(event) {
    const names = (refs) => refs.map((ref) => `${ref.name} (${ref.id})`).join(", ") || "none";
    const text = `${event.total} calls requested; processing ${names(event.processing)}; dropped ${names(event.dropped)}`;
    const line = made("p", "note", text);
    line.setAttribute("role", "alert");
    this.round.parentElement.append(line);
  }

  acknowledged(event) {
    const last = [...this.seen.querySelectorAll(".said")].pop();
    if (event.spoken && last) last.classList.add("ack"); // the model wrote the acknowledgement itself
    else this.say("said ack", event.text);
  }

  approval_needed(event) {
    this.connection("waiting for your decision", false);
    const row = this.outcome(event.call_id, "");
    row.querySelector(".buttons")?.remove(); // a resumed turn requests the approval again
    const buttons = made("span", "buttons");
    for (const [label, approved] of [["Allow", true], ["Deny", false]]) {
      const choice = button(label, "", () => {
        for (const one of buttons.children) one.disabled = true;
        asked(`turns/${this.turn.id}/decide`, { call_id: event.call_id, approved }).catch(this.failed);
      });
      choice.setAttribute("aria-label", `${label} ${event.name}`);
      buttons.append(choice);
    }
    row.append(buttons);
  }

  approval_decided(event) {
    this.outcome(event.call_id, event.approved ? "allowed" : "denied")?.querySelector(".buttons")?.remove();
  }

  call_started(event) {
    this.connection("calls run", false);
    const row = this.outcome(event.call_id, "running");
    if (row.querySelector("progress")) return;
    const bar = made("progress");
    bar.max = 1;
    bar.setAttribute("aria-label", `progress of ${event.name}`);
    row.append(bar);
    this.offerAction(row);
  }

  call_progress(event) {
    const bar = this.rows.get(event.call_id)?.querySelector("progress");
    if (bar && event.data?.of) bar.value = event.data.done / event.data.of;
  }

  call_finished(event) {
    const row = this.outcome(event.call_id, OUTCOMES[event.how] || event.how.replaceAll("_", " "));
    if (!row) return;
    row.dataset.outcome = event.how;
    row.querySelector("progress")?.remove();
  }

  turn_waiting(event) { this.connection(`waiting for ${event.waiting.length} of your decisions`, false); }

  turn_complete(event) {
    if (!event.written) this.say("said", event.text);
    this.end(event);
  }

  turn_failed(event) {
    this.say("said failed", event.error ? `${event.text} ${event.error.message}` : event.text);
    this.end(event);
  }

  end(event) {
    this.root.dataset.ended = event.termination_reason;
    this.action?.remove();
    this.action = null;
    this.connection(`ended: ${event.termination_reason.replaceAll("_", " ")}`, false);
  }

  // ---- the action of an act: cancel the turn, or kill the server

  offerAction() {
    if (!this.act.action || this.action) return;
    const [label, act] = this.act.action === "cancel" ?
      ["Cancel the turn", () => asked(`turns/${this.turn.id}/cancel`, CANCELLED)] :
      ["Kill the server", () => asked("choices").then(({ process }) => asked("kill", { process }))];
    this.action = button(label, "main action", () => {
      this.action.disabled = true;
      act().catch(() => {}); // the server may be gone before its response arrives
    });
    this.head.append(this.action);
  }

  failed(error) { this.connection(error.message, true); }
}
