// Several GETs and POSTs with one of Node's clients.
//
//     node node_clients.mjs fetch|http base|forward URL PROXY
//
// Prints `ok` when every answer was what it should be.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import http from "node:http";

const [client, mode, url, proxy] = process.argv.slice(2);
const body = Buffer.from(Array.from({ length: 40 * 1024 }, (_, i) => (i * 31) % 251));
const digest = crypto.createHash("sha256").update(body).digest("hex");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

async function viaFetch(method, query, content) {
  const answer = await fetch(url + query, { method, body: content });
  return { status: answer.status, answer: JSON.parse(await answer.text()) };
}

function viaHTTP(method, query, content, extra = {}) {
  const direct = new URL(url + query);
  const target = mode === "forward" ? new URL(proxy) : direct;
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        agent,
        method,
        host: target.hostname,
        port: target.port,
        path: mode === "forward" ? url + query : direct.pathname + direct.search,
        headers: { Host: direct.host, ...extra },
        timeout: 20000,
      },
      (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode, answer: JSON.parse(Buffer.concat(chunks)) }));
      });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("timeout")));
    if (content && extra.Expect) {
      request.on("continue", () => request.end(content));
      request.flushHeaders();
    } else if (content) {
      // One chunk per write.
      for (let offset = 0; offset < content.length; offset += 1000) {
        request.write(content.subarray(offset, offset + 1000));
      }
      request.end();
    } else {
      request.end();
    }
  });
}

const send = client === "fetch" ? viaFetch : viaHTTP;
for (let number = 0; number < 4; number += 1) {
  const { status, answer } = await send("GET", `?n=${number}`);
  assert.equal(status, 200);
  assert.ok(answer.uri.endsWith(`n=${number}`), answer.uri);
}
const posts = client === "fetch" ? [{}] : [{}, { Expect: "100-continue" },
  { "Content-Length": String(body.length) }];
for (const extra of posts) {
  const { status, answer } = await send("POST", "", body, extra);
  assert.equal(status, 200);
  assert.deepEqual([answer.length, answer.sha256], [body.length, digest]);
}
console.log("ok");
process.exit(0);
