// Helpers for the document and for requests to the server.

export const $ = (id) => document.getElementById(id);

export const json = (value) => JSON.stringify(value, null, 1);

export function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

export function button(text, className, act) {
  const element = made("button", className, text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

// The body that cancels a turn.
export const CANCELLED = { reason: "the user cancelled" };

export async function asked(path, body) {
  const options = body === undefined ? {} :
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const content = answer.headers.get("content-type") === "application/json" ? await answer.json() : {};
  if (!answer.ok) throw new Error(content.error || `the server returned status ${answer.status}`);
  return content;
}

export const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
