// A small agent for Chat Completions. Replace it by your agent, which then runs the tools.

/** Ask the model, run the tools that it calls, and send their results. A tool has `name`, `parameters` and `run`. */
export async function run(baseUrl, tools) {
  const messages = [{ role: "user", content: "Hello" }];
  const { message, finish_reason } = await ask(baseUrl, messages, tools);
  if (finish_reason !== "tool_calls") return; // refused, filtered, cut, or only text
  messages.push(message);
  for (const { id, function: called } of message.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: id, content: result(called, tools) });
  }
  await ask(baseUrl, messages, tools);
}

/** Run one call if its tool exists and its arguments are an object, and return the text for the model. */
function result(called, tools) {
  const tool = tools.find(({ name }) => name === called.name);
  if (!tool) return `unknown tool: ${called.name}`;
  let args;
  try {
    args = JSON.parse(called.arguments || "{}");
  } catch (error) {
    return `the arguments are not valid JSON: ${error.message}`;
  }
  if (args === null || typeof args !== "object" || Array.isArray(args)) return "the arguments are not an object";
  return tool.run(args);
}

/** Send the messages and the declarations of the tools, and return the first choice of the response. */
async function ask(baseUrl, messages, tools) {
  const request = { model: "any", messages };
  if (tools.length) {
    request.tools = tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    }));
  }
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return (await response.json()).choices[0];
}
