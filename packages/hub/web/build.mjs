// Builds the page into packages/hub/src/dragoman_hub/web/static, or with --tests its tests into one file that `node --test` runs, or with
// --demo FOLDER the same page with a recording in the place of a hub, for a static site.
// The build holds a hash of the sources, so that a test without node can tell whether it is fresh.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname;
const OUT = join(HERE, "../src/dragoman_hub/web/static");
const SHARED = { bundle: true, format: "esm", alias: { lit: "lit-html" }, target: ["es2022", "chrome111", "firefox113", "safari16.4"], logLevel: "warning" };

async function filesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

// The same in packages/hub/src/dragoman_hub/web/freshness: names and contents of everything that the build is made of.
async function sourceHash() {
  const names = [...(await filesBelow(join(HERE, "src"))), ...(await filesBelow(join(HERE, "public")))];
  for (const name of ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"]) names.push(join(HERE, name));
  const named = names.map((name) => [relative(HERE, name).replaceAll("\\", "/"), name]).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash("sha256");
  for (const [name, path] of named) hash.update(`${name}\0`).update(createHash("sha256").update(await readFile(path)).digest());
  return hash.digest("hex");
}

/**
 * The page in two passes. Splitting makes a file of whatever two files share, and a first load would ask for a dozen of them. So the
 * second pass joins all that is needed at once into one script, and what comes later takes from that what it shares. Names hold a hash
 * of the whole build: each script names the others.
 */
async function buildScripts() {
  const split = await build({
    ...SHARED, entryPoints: [join(HERE, "src/main.ts")], outdir: "/", absWorkingDir: HERE, splitting: true, metafile: true, write: false,
    entryNames: "[name]", chunkNames: "[name]-[hash]", legalComments: "inline",
  });
  const texts = new Map(split.outputFiles.map((file) => [basename(file.path), file.text]));
  const facts = new Map(Object.entries(split.metafile.outputs).map(([path, output]) => [basename(path), output]));
  const hash = createHash("sha256").update([...texts].flat().join("\0")).digest("hex").slice(0, 8).toUpperCase();
  const address = (name) => `${basename(name, ".js").replace(/^(?!chunk)(.*)-[A-Z0-9]{8}$/, "$1")}-${hash}`;
  const first = new Set(["main.js"]);
  for (const name of first) for (const { path, kind } of facts.get(name).imports) if (kind === "import-statement") first.add(basename(path));
  const inner = (name) => basename(name, ".js").replaceAll("-", "_");
  const shared = [...first].filter((name) => name !== "main.js");
  const taken = new Set(); // what is in the first script and taken by others, by the chunk that has it
  for (const [name, text] of texts) {
    if (!name.endsWith(".js") || first.has(name)) continue;
    for (const [, list, chunk] of text.matchAll(/^import \{([^}]*)\} from "\.\/([\w-]+\.js)";$/gm)) for (const item of list.split(",")) taken.add(`${chunk} ${item.trim().split(" ")[0]}`);
  }
  const names = (chunk, from, to) => `{ ${facts.get(chunk).exports.filter((name) => taken.has(`${chunk} ${name}`)).map((name) => `${from(name)} as ${to(name)}`).join(", ")} }`;
  const join_ = (chunk) => (name) => `${inner(chunk)}_${name}`;
  const plugin = {
    name: "join",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, kind, importer, namespace }) => {
        const name = basename(path);
        if (kind === "entry-point") return { path: name, namespace: name === "main.js" ? "first" : "part" };
        if (kind === "dynamic-import" || path === "main.js" || (namespace === "part" && !first.has(importer) && !first.has(name))) return { path: `./${address(name)}.js`, external: true };
        if (namespace === "first" || first.has(importer)) return { path: name, namespace: "part" };
        return { path: name, namespace: "shared" };
      });
      onLoad({ filter: /.*/, namespace: "first" }, () => ({ contents: ['import "./entry/main.js";', ...shared.map((chunk) => `export ${names(chunk, (name) => name, join_(chunk))} from "./${chunk}";`)].join("\n") }));
      onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => ({ contents: texts.get(path) }));
      onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({ contents: `export ${names(path, join_(path), (name) => name)} from "main.js";` }));
    },
  };
  const parts = [...texts.keys()].filter((name) => name.endsWith(".js") && (name === "main.js" || !first.has(name)));
  const made = await build({
    ...SHARED, plugins: [plugin], entryPoints: parts.map((name) => ({ in: name, out: address(name) })), outdir: join(OUT, "assets"), absWorkingDir: HERE,
    minify: true, metafile: true, legalComments: "linked",
  });
  await writeFile(join(OUT, `assets/${address("main.js")}.css`), (await build({ ...SHARED, stdin: { contents: texts.get("main.css"), loader: "css" }, write: false, minify: true })).outputFiles[0].contents);
  return [...Object.keys(made.metafile.outputs).map((path) => basename(path)), `${address("main.js")}.css`];
}

async function buildPage() {
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  const outputs = (await buildScripts()).map((name) => `/assets/${name}`).sort();
  const named = (start, end) => outputs.find((path) => path.startsWith(start) && path.endsWith(end));
  const style = named("/assets/main-", ".css");
  const script = named("/assets/main-", ".js");
  const page = (await readFile(join(HERE, "src/index.html"), "utf8")).replace("%STYLE%", style).replace("%SCRIPT%", script);
  await writeFile(join(OUT, "index.html"), page);
  await cp(join(HERE, "public"), OUT, { recursive: true });
  const kept = ["/", "/icon.svg", "/manifest.webmanifest", ...outputs.filter((path) => /\.(js|css)$/.test(path))];
  const version = createHash("sha256").update(page).update(kept.join()).digest("hex").slice(0, 12);
  await build({
    ...SHARED, format: "iife", entryPoints: [join(HERE, "src/sw.ts")], outfile: join(OUT, "sw.js"), minify: true,
    define: { FILES: JSON.stringify(kept), VERSION: JSON.stringify(`shell-${version}`) },
  });
  await writeFile(join(OUT, "build.json"), `${JSON.stringify({ sources: await sourceHash() })}\n`);
}

async function buildDemo(out) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const made = await build({
    ...SHARED, entryPoints: [join(HERE, "demo/main.ts")], outdir: join(out, "assets"), absWorkingDir: HERE, splitting: true, minify: true,
    metafile: true, entryNames: "demo-[hash]", chunkNames: "[name]-[hash]", legalComments: "linked",
  });
  const outputs = Object.keys(made.metafile.outputs).map((path) => `assets/${basename(path)}`);
  const entry = (end) => outputs.find((path) => path.startsWith("assets/demo-") && path.endsWith(end));
  const page = (await readFile(join(HERE, "demo/index.html"), "utf8")).replace("%STYLE%", entry(".css")).replace("%SCRIPT%", entry(".js"));
  await writeFile(join(out, "index.html"), page);
  await cp(join(HERE, "demo/recording.json"), join(out, "recording.json"));
  await cp(join(HERE, "public/icon.svg"), join(out, "icon.svg"));
}

async function buildTests() {
  const names = (await filesBelow(join(HERE, "test"))).filter((name) => name.endsWith(".test.ts")).sort();
  const contents = names.map((name) => `import ${JSON.stringify(name)};`).join("\n");
  await build({
    ...SHARED, target: "node20", stdin: { contents, resolveDir: HERE, loader: "ts" }, platform: "node", outfile: join(HERE, "node_modules/.tests/all.mjs"),
  });
}

const demo = process.argv.indexOf("--demo");
if (demo > 0) await buildDemo(resolve(process.argv[demo + 1]));
else await (process.argv.includes("--tests") ? buildTests() : buildPage());
