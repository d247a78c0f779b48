// Builds the page into packages/hub/src/dragoman_hub/web/static, or with --tests its tests into one file that `node --test` runs, or with
// --demo FOLDER the same page with a recording in the place of a hub, for a static site.
// The build holds a hash of the sources, so that a test without node can tell whether it is fresh.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname;
const OUT = join(HERE, "../src/dragoman_hub/web/static");
const SHARED = { bundle: true, format: "esm", target: ["es2022", "chrome111", "firefox113", "safari16.4"], logLevel: "warning" };

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

async function buildPage() {
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  const made = await build({
    ...SHARED, entryPoints: [join(HERE, "src/main.ts")], outdir: join(OUT, "assets"), absWorkingDir: HERE, splitting: true, minify: true,
    metafile: true, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", legalComments: "linked",
  });
  const outputs = Object.keys(made.metafile.outputs).map((path) => `/assets/${path.split("/assets/")[1]}`).sort();
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
