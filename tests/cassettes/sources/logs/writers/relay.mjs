// A reverse proxy that records with nock or Polly.js: node relay.mjs RECORDER UPSTREAM PORT TARGET
import fs from "node:fs";
import http from "node:http";

const [recorder, upstream, port, target] = process.argv.slice(2);
let finish;
if (recorder === "nock") {
  const { default: nock } = await import("nock");
  nock.recorder.rec({ output_objects: true, dont_print: true, enable_reqheaders_recording: true });
  finish = () => fs.writeFileSync(target, JSON.stringify(nock.recorder.play(), null, 2));
} else {
  const { Polly } = await import("@pollyjs/core");
  Polly.register((await import("@pollyjs/adapter-node-http")).default);
  Polly.register((await import("@pollyjs/persister-fs")).default);
  const options = { persister: "fs", persisterOptions: { fs: { recordingsDir: "polly" } } };
  const polly = new Polly("sample", { adapters: ["node-http"], ...options });
  finish = async () => {
    await polly.stop();
    fs.copyFileSync(`polly/${fs.readdirSync("polly")[0]}/recording.har`, target);
  };
}
http
  .createServer((asked, answer) => {
    const headers = { ...asked.headers, host: new URL(upstream).host };
    const sent = http.request(upstream + asked.url, { method: asked.method, headers }, (got) => {
      answer.writeHead(got.statusCode, { "content-type": got.headers["content-type"] });
      got.pipe(answer);
    });
    asked.pipe(sent);
  })
  .listen(Number(port), "127.0.0.1");
process.on("SIGTERM", async () => process.exit(await finish()));
