// A static server for this machine alone: `node web/tools/serve.js [PORT]`.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".mjs": "text/javascript",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/**
 * Serve folders on 127.0.0.1; gives the server, listening.
 *
 * `roots` are searched in order for a file; `base` is the path under which they appear, and
 * `headers` are sent with everything.
 */
export async function serve(roots, { port = 0, base = "/", headers = {} } = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const inside = path.startsWith(base) ? path.slice(base.length) : null;
    const wanted = inside === null ? null : normalize(`/${inside}${path.endsWith("/") ? "index.html" : ""}`);
    const file = wanted && roots.map((root) => join(root, wanted)).find(isFile);
    if (!file) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "cache-control": "no-cache", ...headers });
    createReadStream(file).pipe(response);
  });
  await new Promise((listening, failed) => {
    server.once("error", failed);
    server.listen(port, "127.0.0.1", listening);
  });
  return server;
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const port = Number(process.argv[2] ?? 8000);
  const server = await serve([new URL("../", import.meta.url).pathname], { port });
  console.log(`That's Life! on http://localhost:${server.address().port}/ (Ctrl-C ends it)`);
}
