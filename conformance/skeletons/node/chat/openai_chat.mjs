// A small reader of Chat Completions. Replace it by your library, which then reads the responses.

/** The calls of a response, and whether it is complete. `body` is a Buffer. */
export function read(body, stream) {
  const calls = new Map();
  let complete = false;
  for (const payload of stream ? payloads(body) : [body.toString()]) {
    const message = JSON.parse(payload);
    if (message.error) return { error: JSON.stringify(message.error) };
    for (const choice of message.choices ?? []) {
      complete ||= Boolean(choice.finish_reason);
      const part = choice.delta ?? choice.message ?? {};
      for (const [place, piece] of (part.tool_calls ?? []).entries()) {
        const key = `${choice.index ?? 0}/${piece.index ?? place}`;
        if (!calls.has(key)) calls.set(key, { id: null, name: "", arguments: "" });
        const call = calls.get(key);
        call.id ||= piece.id ?? null;
        call.name ||= piece.function?.name ?? "";
        call.arguments += piece.function?.arguments ?? "";
      }
    }
  }
  return { calls: [...calls.values()], complete };
}

/** The JSON texts of server-sent events. */
function* payloads(body) {
  let data = [];
  for (const line of [...body.toString().split(/\r\n|\n|\r/), ""]) {
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    else if (line === "" && data.length) {
      const payload = data.join("\n");
      data = [];
      if (payload !== "[DONE]") yield payload;
    }
  }
}
