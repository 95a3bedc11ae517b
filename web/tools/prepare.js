// Makes the folder web/ ready to be served: copies the runtime of trained players from
// node_modules/ to web/vendor/, and lists the bundles that lie in web/models/.

import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;
const RUNTIME = join(ROOT, "node_modules/onnxruntime-web");
const FILES = ["ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"];

export function prepare(web = join(ROOT, "web")) {
  const vendor = join(web, "vendor");
  const models = join(web, "models");
  mkdirSync(vendor, { recursive: true });
  mkdirSync(models, { recursive: true });
  for (const file of FILES) copyFileSync(join(RUNTIME, "dist", file), join(vendor, file));
  const isBundle = (name) => existsSync(join(models, name, "manifest.json"));
  const bundles = readdirSync(models).filter(isBundle).sort();
  writeFileSync(join(models, "models.json"), `${JSON.stringify(bundles)}\n`);
  return bundles;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { version } = JSON.parse(readFileSync(join(RUNTIME, "package.json"), "utf8"));
  const bundles = prepare();
  console.log(`onnxruntime-web ${version}; trained players: ${bundles.join(", ") || "none"}`);
}
