// The page: a button for each act, and the chat. What it shows comes from the events and the traces of real turns.
import * as acts from "./acts.js";
import * as chat from "./chat.js";
import { $, asked, button } from "./dom.js";
import { loadStates } from "./pictures.js";

let choices = null;

function open(name, ids = "") {
  const act = choices.acts.find((candidate) => candidate.id === name) ?? (name === "chat" ? null : choices.acts[0]);
  $("stage").hidden = !act;
  $("chat").hidden = Boolean(act);
  for (const tab of $("acts").children) tab.setAttribute("aria-pressed", String(tab.dataset.act === (act?.id ?? "chat")));
  acts.close();
  if (act) acts.showAct(act, ids ? ids.split(",") : []);
  else chat.showChat(ids);
}

async function begin() {
  choices = await asked("choices");
  const tabs = [...choices.acts, { id: "chat", title: "Chat" }].map(({ id, title }) => {
    const tab = button(title, "", () => open(id));
    tab.dataset.act = id;
    return tab;
  });
  $("acts").replaceChildren(...tabs);
  acts.prepare(choices);
  chat.prepare(choices);
  await loadStates();
  if (matchMedia("(max-width: 40rem)").matches) { // on a phone, the turns come first
    for (const details of document.querySelectorAll("#answer details")) details.open = false;
  }
  const [name, ids] = location.hash.slice(1).split("/");
  open(name, ids);
  document.documentElement.dataset.ready = "";
}

begin().catch((error) => {
  $("problem").hidden = false;
  $("problem").textContent = error.message;
});
