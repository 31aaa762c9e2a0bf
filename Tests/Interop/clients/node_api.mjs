// An event stream, an upload and a request through node:http, as applications on Node.js make them.
//
//     node node_api.mjs
//
// The API is at OPENAI_BASE_URL, the key is OPENAI_API_KEY. Prints `ok` when every answer was what it should be.

import assert from "node:assert/strict";
import http from "node:http";

const base = process.env.OPENAI_BASE_URL;
const headers = { Authorization: `Bearer ${process.env.OPENAI_API_KEY}` };

const models = async () => (await (await fetch(`${base}/models`, { headers })).json()).data;
const streamed = await fetch(`${base}/chat/completions`, {
  method: "POST",
  headers: { ...headers, "Content-Type": "application/json" },
  body: JSON.stringify({ model: "gpt-test", stream: true }),
});
assert.equal(streamed.headers.get("content-type"), "text/event-stream");
let text = "";
for await (const piece of streamed.body.pipeThrough(new TextDecoderStream())) {
  // The API ends its stream only after this.
  if (!text) assert.equal((await models())[0].id, "gpt-test");
  text += piece;
}
assert.ok(text.includes("hello") && text.endsWith("data: [DONE]\n\n"), text);

const form = new FormData();
form.set("purpose", "assistants");
form.set("file", new Blob([new Uint8Array(200_000)]), "notes.bin");
const stored = await fetch(`${base}/files`, { method: "POST", headers, body: form });
assert.equal((await stored.json()).bytes, 200_000);

const asked = await new Promise((resolve, reject) => {
  const request = http.request(`${base}/chat/completions`, { method: "POST", headers },
    (response) => response.setEncoding("utf8").toArray().then((all) => resolve(all.join(""))));
  request.on("error", reject);
  // Two writes without a length: chunked.
  request.write('{"model":');
  request.end('"gpt-test"}');
});
assert.equal(JSON.parse(asked).choices[0].message.content, "hello world");
console.log("ok");
