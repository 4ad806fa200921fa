// Shows judgements as conversations. Texts of the traffic are only ever set as text.

const most = 200;
const conversations = new Map();  // number of the first exchange -> its element
const exchanges = new Map();      // number -> its element
const totals = { exchanges: 0, calls: 0, errors: 0, warnings: 0, unjudged: 0, sessions: 0, messages: 0 };

const byId = (id) => document.getElementById(id);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function conversationOf(judgement) {
  const number = judgement.conversation ?? judgement.number;
  let article = conversations.get(number);
  if (!article) {
    article = element("article", "conversation");
    article.id = `conversation-${number}`;
    const title = element("h3", "", `Conversation ${number}`);
    title.append(element("span", "quiet small", judgement.model ?? judgement.path));
    article.append(title, element("ol", "exchanges"));
    if (conversations.size >= most) forget();
  }
  conversations.delete(number);
  conversations.set(number, article);
  byId("conversations").prepend(article);  // the last one that changed comes first
  return article;
}

function forget() {
  const [number, article] = conversations.entries().next().value;
  for (const item of article.querySelectorAll(".exchange")) exchanges.delete(Number(item.dataset.number));
  article.remove();
  conversations.delete(number);
}

function lineOf(line) {
  const item = element("li", line.id ? "call" : "");
  if (line.id) item.dataset.id = line.id;
  item.append(element("span", "role", line.role), element("span", "text", line.text));
  return item;
}

function findingOf(finding) {
  const sign = { error: "Error", warning: "Warning", info: "Note" }[finding.severity];
  const note = element("p", `finding ${finding.severity}`, `${sign}: ${finding.code}: ${finding.message}`);
  note.dataset.code = finding.code;
  if (finding.call_id) note.dataset.call = finding.call_id;
  return note;
}

function callLine(number, id) {
  const lines = exchanges.get(number)?.querySelectorAll(".call") ?? [];
  return [...lines].findLast((line) => line.dataset.id === id);
}

function markCall(finding) {
  const line = finding.exchange && finding.call_id ? callLine(finding.exchange, finding.call_id) : undefined;
  if (!line) return;
  line.classList.add("subject");
  line.querySelector(".text").dataset.fate = finding.code;
}

function revoke(revoked) {
  const notes = exchanges.get(revoked.number)?.querySelectorAll(".finding") ?? [];
  for (const note of notes) {
    if (note.dataset.code === revoked.code && note.dataset.call === revoked.call_id) note.classList.add("revoked");
  }
  for (const line of document.querySelectorAll(".subject")) {
    if (line.dataset.id === revoked.call_id) line.classList.remove("subject");
  }
  totals.errors -= 1;
}

function add(judgement) {
  const article = conversationOf(judgement);
  const item = element("li", "exchange");
  item.dataset.number = judgement.number;
  const time = new Date(judgement.started * 1000).toLocaleTimeString();
  const ended = { "complete": "", "client-left": ", the client left", "upstream-broke": ", the upstream broke off",
    "unreached": ", no response", "proxy-stopped": ", the proxy was stopped" }[judgement.ending];
  const status = judgement.status === null ? "" : ` · ${judgement.status}`;
  const messages = judgement.sent === null ? "" : ` (${judgement.sent} messages sent, ${judgement.received} received)`;
  const judged = judgement.unjudged ? ` · not judged: ${judgement.unjudged}${messages}` : "";
  item.append(element("p", "quiet small", `#${judgement.number} · ${time}${status} · ${judgement.seconds.toFixed(2)} s${ended}${judged}`));
  const lines = element("ol", "lines");
  lines.append(...judgement.lines.map(lineOf));
  item.append(lines, ...judgement.findings.map(findingOf));
  exchanges.set(judgement.number, item);
  article.querySelector(".exchanges").append(item);
  judgement.findings.forEach(markCall);
  count(judgement);
  for (const revoked of judgement.revoked) revoke(revoked);
  const open = article.querySelector(".finding.error:not(.revoked), .finding.warning:not(.revoked)");
  article.classList.toggle("found", open !== null);
  summarize();
}

function count(judgement) {
  totals.exchanges += 1;
  totals.calls += judgement.calls.length;
  totals.unjudged += judgement.unjudged ? 1 : 0;
  totals.sessions += judgement.sent === null ? 0 : 1;
  totals.messages += judgement.sent + judgement.received;
  totals.errors += judgement.findings.filter((finding) => finding.severity === "error").length;
  totals.warnings += judgement.findings.filter((finding) => finding.severity === "warning").length;
}

function summarize() {
  const title = byId("verdict");
  const { exchanges: passed, calls, errors, warnings, unjudged, sessions, messages } = totals;
  const inSessions = sessions ? ` (${sessions} WebSocket sessions with ${messages} messages)` : "";
  title.textContent = errors ? `${errors} ${errors === 1 ? "error" : "errors"}` : warnings ? `${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "No error";
  title.className = errors ? "tone-bad" : warnings ? "tone-warning" : "";
  byId("counts").textContent = `${passed} exchanges, ${calls} calls, ${warnings} warnings, ${unjudged} not judged${inSessions}.`;
}

function reset() {
  conversations.clear();
  exchanges.clear();
  for (const name of Object.keys(totals)) totals[name] = 0;
  byId("conversations").replaceChildren();
}

const events = new EventSource("events");
events.onopen = () => { byId("connection").textContent = "connected"; };
events.onerror = () => { byId("connection").textContent = "connection lost, trying again"; };
events.addEventListener("reset", reset);
events.onmessage = (event) => add(JSON.parse(event.data));
byId("only").addEventListener("change", (event) => document.body.classList.toggle("only", event.target.checked));
