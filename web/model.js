// Trained players: finds the bundles that `python -m agents.export` made, and runs them by
// onnxruntime-web. Everything else of the page knows only what is exported here.

const RUNTIME = new URL("vendor/ort.wasm.bundle.min.mjs", import.meta.url);
const WASM = new URL("vendor/ort-wasm-simd-threaded.wasm", import.meta.url);
const MODELS = new URL("models/", import.meta.url);
const LIST = new URL("models.json", MODELS);
const FORMAT = 1; // of manifest.json
const LIMIT = 20; // seconds to make a session ready
const POLICY = "policy.onnx";
const VALUE = "value.onnx";
const N_ACTIONS = 16;
const MAX_PLAYERS = 6;
const WAYS = { value: VALUE, policy: POLICY }; // how a bundle may play, and by which model

/** Why a trained player cannot be had: `code` and `values` make the message error.model.CODE. */
export class ModelError extends Error {
  constructor(code, values) {
    super(`${code}: ${Object.values(values).join(", ")}`);
    this.code = code;
    this.values = values;
  }
}

/**
 * The bundles that are installed, each {name, folder, manifest}; `make web` lists them.
 *
 * One that cannot be read is left out, and `tell` gets its ModelError.
 */
export async function installed(tell) {
  const response = await fetch(LIST);
  if (!response.ok) return [];
  const names = await response.json();
  const found = await Promise.all(
    names.map(async (name) => {
      const folder = new URL(`${name}/`, MODELS);
      try {
        return [{ name, folder, manifest: await readManifest(name, folder) }];
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        tell(error);
        return [];
      }
    }),
  );
  return found.flat();
}

async function readManifest(name, folder) {
  const file = `${name}/manifest.json`;
  const bytes = await fetched(new URL("manifest.json", folder), file);
  try {
    const manifest = JSON.parse(new TextDecoder().decode(bytes));
    const known = Object.keys(manifest.models).filter((file) => Object.values(WAYS).includes(file));
    if (manifest.format === FORMAT && known.length > 0) return manifest;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new ModelError("manifest", { file });
}

/**
 * The trained players for a game by `rules`, each {kind, name, way, entry, knows}, the best first.
 *
 * `way` is "value", by win chance, or "policy"; `knows` is 2 if it was trained for this very game, 1
 * if for so many players, else 0. Of several the one that was trained for fewer games comes first.
 */
export function trainedFor(bundles, rules) {
  const found = bundles.flatMap((entry) =>
    Object.entries(WAYS)
      .filter(([, file]) => file in entry.manifest.models)
      .map(([way, file]) => ({ entry, way, model: entry.manifest.models[file] }))
      .filter(({ model }) => rules.players <= (model.max_players ?? MAX_PLAYERS)),
  );
  const ways = Object.keys(WAYS);
  return found
    .map(({ entry, way, model }) => {
      const { rulesets = [] } = model.trained ?? entry.manifest.trained;
      return { kind: `${way}:${entry.name}`, name: entry.name, way, entry, knows: knowledge(rulesets, rules), games: rulesets.length };
    })
    .sort((a, b) => b.knows - a.knows || ways.indexOf(a.way) - ways.indexOf(b.way) || a.games - b.games);
}

function knowledge(rulesets, rules) {
  const isThis = (ruleset) => Object.keys(rules).every((key) => JSON.stringify(ruleset[key]) === JSON.stringify(rules[key]));
  if (rulesets.some(isThis)) return 2;
  return rulesets.some(({ players }) => players === rules.players) ? 1 : 0;
}

const opened = new Map(); // name of a bundle -> promise of it, ready

/** The bundle, ready to judge positions. Throws ModelError. */
export function open(entry) {
  if (!opened.has(entry.name)) {
    const bundle = make(entry);
    opened.set(entry.name, bundle);
    bundle.catch(() => opened.delete(entry.name)); // to be tried again
  }
  return opened.get(entry.name);
}

async function make({ name, folder, manifest }) {
  const begun = runtime(); // while the files come
  begun.catch(() => {}); // told below
  const encoder = import(new URL("encode.js", folder)).catch(() => {
    throw new ModelError("missing", { file: `${name}/encode.js` });
  });
  encoder.catch(() => {});
  const load = (file) => checked(name, folder, file, manifest.models[file]);
  const files = Object.keys(manifest.models).filter((file) => Object.values(WAYS).includes(file));
  const bytes = await Promise.all(files.map(load));
  const ort = await begun;
  const { encode } = await encoder;
  const sessions = {};
  for (const [i, file] of files.entries()) {
    sessions[file] = await session(ort, `${name}/${file}`, bytes[i]);
  }
  const size = manifest.vector.size;
  const run = async (file, positions) => {
    const vectors = new Int32Array(positions.length * size);
    positions.forEach((position, row) => vectors.set(encode(position), row * size));
    const tensor = new ort.Tensor("int32", vectors, [positions.length, size]);
    return sessions[file].run({ position: tensor });
  };
  return {
    name,
    /** {probabilities, value}: of the 16 actions, and the win chance of the seat to act or null. */
    async judge(position) {
      const { policy, value } = await run(POLICY, [position]);
      if (policy?.data.length !== N_ACTIONS || !policy.data.some((share) => share > 0)) {
        throw new ModelError("output", { file: `${name}/${POLICY}` });
      }
      return { probabilities: [...policy.data], value: value ? value.data[0] : null };
    },
    /** The win chance of every seat in each of the positions. */
    async winShares(positions) {
      const { win_shares: shares } = await run(VALUE, positions);
      if (shares?.data.length !== positions.length * MAX_PLAYERS) {
        throw new ModelError("output", { file: `${name}/${VALUE}` });
      }
      return positions.map((_, row) => wholeOf(shares.data.slice(row * MAX_PLAYERS, (row + 1) * MAX_PLAYERS)));
    },
    hasPolicy: POLICY in sessions,
    hasValue: VALUE in sessions,
  };
}

/**
 * Win shares with sum 1.
 *
 * By that one near 1 becomes as exact as the others' near 0 are: float32 has no more than 1 for it.
 */
function wholeOf(shares) {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return Array.from(shares, (share) => share / total);
}

async function fetched(url, file) {
  let response;
  try {
    response = await fetch(url);
  } catch {
    throw new ModelError("missing", { file });
  }
  if (!response.ok) throw new ModelError("missing", { file });
  return response.arrayBuffer();
}

/** The bytes of a model, if they are those of the manifest. */
async function checked(name, folder, file, { bytes: expected, sha256 }) {
  const label = `${name}/${file}`;
  const bytes = await fetched(new URL(file, folder), label);
  const found = bytes.byteLength;
  if (found < expected) throw new ModelError("truncated", { file: label, found, expected });
  if (found > expected) throw new ModelError("wrong", { file: label });
  if (crypto.subtle) {
    // only where the page came safely: by https, or from this machine
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (hex !== sha256) throw new ModelError("wrong", { file: label });
  }
  return bytes;
}

let loading = null;

function runtime() {
  loading ??= import(RUNTIME).then(
    (ort) => {
      ort.env.wasm.wasmPaths = { wasm: WASM.href }; // the script around it is in the bundle
      ort.env.wasm.numThreads = self.crossOriginIsolated ? Math.min(4, navigator.hardwareConcurrency) : 1;
      return ort;
    },
    () => {
      loading = null;
      throw new ModelError("runtime", { file: "vendor/ort.wasm.bundle.min.mjs" });
    },
  );
  return loading;
}

async function session(ort, file, bytes) {
  let timer;
  const late = new Promise((_, refuse) => {
    timer = setTimeout(() => refuse(new ModelError("slow", { file, seconds: LIMIT })), LIMIT * 1000);
  });
  try {
    const made = ort.InferenceSession.create(new Uint8Array(bytes), { executionProviders: ["wasm"] });
    return await Promise.race([made, late]);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError("session", { file, reason: String(error.message ?? error).slice(0, 200) });
  } finally {
    clearTimeout(timer);
  }
}
