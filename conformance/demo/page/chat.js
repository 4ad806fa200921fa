// The chat: any message of a script to any emulated provider, through the provider's official SDK.
import { $, CANCELLED, asked, button, made } from "./dom.js";
import { offerTurns, update } from "./inside.js";
import { Lane } from "./lane.js";
import { Turn } from "./turn.js";

const PLAIN = { id: "chat", action: null };
let now = null; // the view of the turn that is shown

class ChatTurn extends Lane {
  constructor(message) {
    super(PLAIN, { policy: "chat", limit: null, lead: "" }, () => {}, update);
    this.run.replaceWith(...(message ? [made("p", "asked", message)] : []));
  }

  connection(text, isGone) {
    super.connection(text, isGone);
    if (now === this) $("connection").textContent = text;
  }

  refresh() {
    if (now !== this) return;
    const { broken, events } = this.turn;
    $("integrity").textContent = broken || `${events.length} events, none missing`;
    super.refresh();
  }

  end(event) {
    super.end(event);
    if (now !== this) return;
    $("cancel").disabled = true;
    $("send").disabled = false;
  }
}

export function prepare(choices) {
  for (const [id, names] of [["surface", choices.surfaces], ["policy", choices.policies]]) {
    $(id).append(...names.map((name) => new Option(name, name)));
  }
  $("policy").value = "all";
  $("surface").addEventListener("change", () => offer(choices));
  offer(choices);
  $("ask").addEventListener("submit", send);
  $("cancel").addEventListener("click", () => asked(`turns/${now.turn.id}/cancel`, CANCELLED).catch(failed));
  $("scripts").addEventListener("change", () => {
    if ($("scripts").value) $("message").value = $("scripts").value;
  });
}

// `id`: a turn that the page showed before it was loaded again.
export async function showChat(id = "") {
  history.replaceState(null, "", `#chat${id ? `/${id}` : ""}`);
  offerTurns(now ? [["chat", now]] : []);
  if (id) show(id, "");
  await lookForLeft();
  setTimeout(() => lookForLeft().catch(failed), 7000); // a killed process holds its turns for some seconds
}

async function send(event) {
  event.preventDefault();
  const message = $("message").value.trim();
  if (!message) return;
  const limit = $("limit").value;
  const body = { message, surface: $("surface").value, policy: $("policy").value, approval: $("approval").checked,
    narrator: $("narrator").checked, limit: limit === "" ? null : Number(limit),
    after: $("continues").checked && now ? now.turn.id : null };
  $("send").disabled = true;
  try {
    const { turn } = await asked("turns", body);
    show(turn, message);
  } catch (error) {
    failed(error);
    $("send").disabled = false;
  }
}

function show(id, message) {
  now = new ChatTurn(message);
  $("turns").append(now.root);
  $("cancel").disabled = false;
  history.replaceState(null, "", `#chat/${id}`); // a page that is loaded again shows the turn again
  new Turn(id, now);
  now.root.dataset.turn = id;
  offerTurns([["chat", now]]);
}

function failed(error) {
  const line = made("p", "failed", error.message);
  line.setAttribute("role", "alert");
  $("turns").append(line);
}

function offer(choices) {
  const surface = $("surface").value;
  $("scripts").replaceChildren($("scripts").options[0], ...choices.asks
    .filter((script) => script.surfaces.includes(surface))
    .map((script) => new Option(`${script.title}: ${script.ask.slice(0, 80)}`, script.ask)));
}

// Offer to resume the turns of the chat that a crash interrupted.
async function lookForLeft() {
  const { turns } = await asked("turns?status=open");
  const left = turns.filter((turn) => !turn.held && turn.id.startsWith("chat.") && turn.id !== now?.turn?.id);
  for (const { id } of left.reverse()) { // the oldest first
    if (document.querySelector(`[data-left="${id}"]`)) continue;
    const line = made("p", "quiet", "A turn was interrupted. ");
    line.dataset.left = id;
    line.append(button("Resume it", "", async () => {
      line.remove();
      await asked(`turns/${id}/resume`, {}).then(() => show(id, ""), failed);
    }));
    $("turns").append(line);
  }
}
