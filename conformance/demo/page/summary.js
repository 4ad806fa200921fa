// One line about the calls of a turn: how many run, and whether the model requests the dropped ones again.
import { count } from "./dom.js";

const INTERRUPTED = ["cancelled", "unknown_outcome"];

// `events`: those of the turn so far. `unread`: for each answer the number of its pieces that were not read.
export function summary(events, unread = []) {
  const requests = new Map(); // id of a call -> {key, answer}
  const dropped = new Set(); // keys
  const ran = new Map(); // id of a call -> {key, answer}
  const interrupted = new Set(); // ids of calls
  const running = new Set();
  let unexecuted = 0; // denied or cancelled before they started, or with invalid arguments
  let known = 0;
  let rejected = 0;
  for (const { type, ...event } of events) {
    if (["block_stop", "block_settled"].includes(type) && event.block.block_type === "tool_use") {
      requests.set(event.block.content.tool_use_id, { key: keyOf(event.block.content), answer: event.round });
    } else if (type === "calls_known") {
      for (const { id } of event.dropped) dropped.add(requests.get(id).key);
      known += event.kept.length + event.dropped.length + event.rejected.length;
      rejected += event.rejected.length;
    } else if (type === "call_started") {
      ran.set(event.call_id, requests.get(event.call_id));
      running.add(event.call_id);
    } else if (type === "call_finished") {
      running.delete(event.call_id);
      if (!ran.has(event.call_id)) unexecuted += 1;
      else if (INTERRUPTED.includes(event.how)) interrupted.add(event.call_id);
    }
  }
  if (!known) return "";
  const closed = unread.findIndex((pieces) => pieces > 0);
  if (closed >= 0) return `The rest of answer ${closed + 1} is not read. ${count(known, "call")} read, ${ran.size} run.`;
  if (dropped.size) return ofDropped(dropped, [...ran.values()]);
  const others = [[rejected, "rejected"], [unexecuted, "not executed"]].filter(([number]) => number)
    .map(([number, what]) => `${number} ${number === 1 ? "is" : "are"} ${what}`).join(", ") || "none is dropped";
  const verb = interrupted.size ? `started, ${interrupted.size} interrupted` : running.size ? "started" : "executed";
  return `${ran.size} of ${known} calls ${verb}, ${others}.`;
}

// The same for a call that is requested again.
export const keyOf = ({ tool_name: name, input }) => `${name} ${JSON.stringify(input)}`;

function ofDropped(dropped, ran) {
  const again = ran.filter(({ key }) => dropped.has(key));
  if (!again.length) return `${dropped.size} dropped, not requested again.`;
  const answers = [...new Set(again.map(({ answer }) => answer))];
  const where = answers.length === 1 ? `Answer ${answers[0]}` : `Answers ${answers.slice(0, -1).join(", ")} and ${answers.at(-1)}`;
  const isOne = again.length === 1;
  const which = again.length < dropped.size ? `${again.length} of the ${dropped.size} dropped calls` :
    isOne ? "the dropped call" : `the ${dropped.size} dropped calls`;
  return `${where}: ${which} ${isOne ? "is" : "are"} requested again and ${isOne ? "runs" : "run"}.`;
}
