// A turn that the page follows: its events in order, its trace, and its recovery after the server was killed.
import { asked, pause } from "./dom.js";

const TYPES = ["turn_started", "round_started", "block_start", "block_delta", "block_reset", "block_stop",
  "block_settled", "calls_known", "dropped", "loop_suspected", "noted", "acknowledged", "approval_needed",
  "approval_decided", "result_needed", "call_started", "call_progress", "call_finished", "round_finished",
  "turn_waiting", "turn_complete", "turn_failed"];
const PHASES = { turn_started: "new", round_started: "asking", calls_known: "acting", turn_complete: "over",
  turn_failed: "over" };
const RECOVERY_EVERY = 500; // milliseconds

export class Turn {
  // `view` has a method for each event type that it shows, `connection(text, isGone)`, `traced()`
  // and `refresh()`.
  constructor(id, view) {
    this.id = id;
    this.view = view;
    this.events = [];
    this.broken = "";
    this.phase = "new";
    this.before = null;
    this.over = false;
    this.exchanges = new Map(); // time of its start -> exchange, from all processes that ran the turn
    this.times = []; // seconds since 1970 by number of the event
    this.gaps = []; // [from, to] in seconds since 1970: the server was gone
    view.turn = this;
    this.connect();
  }

  connect() {
    this.source = new EventSource(`turns/${this.id}/events`);
    this.source.onopen = () => this.opened();
    this.source.onerror = () => this.lost();
    for (const type of TYPES) {
      this.source.addEventListener(type, (event) => this.take(type, JSON.parse(event.data)));
    }
  }

  close() {
    this.closed = true;
    this.source.close();
  }

  take(type, event) {
    if (this.closed || event.seq < this.events.length) return; // a new connection repeats events
    if (event.seq !== this.events.length && !this.broken) {
      this.broken = `event ${event.seq} arrived instead of ${this.events.length}`;
    }
    this.events.push({ type, ...event });
    this.times[event.seq] ??= Date.now() / 1000;
    if (PHASES[type]) [this.before, this.phase] = [this.phase, PHASES[type]];
    if (this.view[type]) this.view[type](event);
    if (type === "turn_complete" || type === "turn_failed") this.ended();
    if (type === "calls_known" || type === "turn_waiting") this.loadTrace();
    this.view.refresh();
  }

  ended() {
    this.over = true;
    this.source.close();
    this.loadTrace();
  }

  async loadTrace() {
    const trace = await asked(`turns/${this.id}/trace`).catch(() => null); // a restarted server has no trace yet
    if (trace === null || this.closed) return;
    for (const exchange of trace.exchanges) this.exchanges.set(exchange.started, exchange);
    for (const [seq, at] of Object.entries(trace.times)) this.times[seq] = at;
    this.view.traced();
  }

  get answers() { return [...this.exchanges.values()].sort((one, other) => one.started - other.started); }

  opened() {
    if (this.goneSince === undefined) {
      this.view.connection("connected", false);
      return;
    }
    this.gaps.push([this.goneSince, Date.now() / 1000]);
    this.goneSince = undefined;
    this.recover();
  }

  lost() {
    if (this.over || this.closed) return;
    this.goneSince ??= Date.now() / 1000;
    this.view.connection("The server is gone. Reconnecting …", true);
    if (this.source.readyState === EventSource.CLOSED) { // the browser gave up
      setTimeout(() => { if (!this.closed) this.connect(); }, RECOVERY_EVERY);
    }
  }

  // After a reconnection: wait until the turn runs again, and resume it if no process does.
  async recover() {
    if (this.recovering) return;
    this.recovering = true;
    while (!this.over && !this.closed) {
      const turn = await asked(`turns/${this.id}`).catch(() => null); // the server may be gone again
      if (turn && (turn.running || turn.status !== "open")) break;
      if (turn && turn.held) {
        this.view.connection("The server is back. Its predecessor still holds the turn for some seconds …", true);
      } else if (turn) {
        await asked(`turns/${this.id}/resume`, {}).catch(() => null); // another page may be faster
      }
      await pause(RECOVERY_EVERY);
    }
    this.recovering = false;
    if (!this.over && !this.closed) this.view.connection("connected again, nothing was lost", false);
  }
}
