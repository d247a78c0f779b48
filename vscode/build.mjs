// Builds the extension into build/vscode, as it is packaged; with --package also dist/dragoman-VERSION.vsix; with --tests the tests
// of the host into one file that `node` runs. The page's own modules and tools (esbuild, lit) come from ../packages/hub/web.

import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const HERE = import.meta.dirname;
const ROOT = join(HERE, "..");
const WEB = join(ROOT, "packages/hub/web");
const STAGE = join(ROOT, "build", "vscode");
const TESTS = join(ROOT, "build", "vscode-tests");
const { build } = createRequire(join(WEB, "package.json"))("esbuild");

const SHARED = { bundle: true, logLevel: "warning", nodePaths: [join(WEB, "node_modules")], legalComments: "none" };
const HOST = { ...SHARED, platform: "node", target: "node22", inject: [join(HERE, "src/host/browser_globals.ts")] };
const VIEW = { ...SHARED, platform: "browser", format: "iife", target: ["chrome128"], minify: true };

async function version() {
  const text = await readFile(join(ROOT, "packages/sdk/src/dragoman/version.py"), "utf8");
  return /^VERSION = "(.+)"$/m.exec(text)[1];
}

/** What VS Code reads, without what is for us alone. */
async function manifest() {
  const { scripts: _scripts, devDependencies: _tools, ...rest } = JSON.parse(await readFile(join(HERE, "package.json"), "utf8"));
  return { ...rest, version: await version() };
}

async function stage() {
  await rm(STAGE, { recursive: true, force: true });
  await mkdir(join(STAGE, "dist"), { recursive: true });
  await build({ ...HOST, format: "cjs", minify: true, external: ["vscode"], entryPoints: [join(HERE, "src/host/extension.ts")], outfile: join(STAGE, "dist/extension.js") });
  await build({ ...VIEW, entryPoints: [join(HERE, "src/webview/main.ts")], outfile: join(STAGE, "dist/webview.js") });
  await cp(join(HERE, "media"), join(STAGE, "media"), { recursive: true });
  await cp(join(HERE, "README.md"), join(STAGE, "README.md"));
  await cp(join(ROOT, "LICENSE"), join(STAGE, "LICENSE"));
  await cp(join(ROOT, "LICENSES"), join(STAGE, "LICENSES"), { recursive: true });
  await writeFile(join(STAGE, "package.json"), `${JSON.stringify(await manifest(), null, 2)}\n`);
}

async function pack() {
  const out = join(ROOT, "dist", `dragoman-${await version()}.vsix`);
  await mkdir(join(ROOT, "dist"), { recursive: true });
  const vsce = join(HERE, "node_modules/@vscode/vsce/vsce");
  // The times in the archive are those of the commit, so that whoever builds it again gets the same bytes.
  const time = process.env.SOURCE_DATE_EPOCH ?? execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: ROOT, encoding: "utf8" }).trim();
  execFileSync(process.execPath, [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--out", out], {
    cwd: STAGE, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, SOURCE_DATE_EPOCH: time },
  });
  console.log(out);
}

async function buildTests() {
  await mkdir(TESTS, { recursive: true });
  const names = readdirSync(join(HERE, "test")).filter((name) => name.endsWith(".test.ts")).sort();
  const contents = names.map((name) => `import "./${name}";`).join("\n");
  const alias = { vscode: join(HERE, "test/fake_vscode.ts") };
  const options = { ...HOST, format: "esm", target: "node20", alias };
  await build({ ...options, stdin: { contents, resolveDir: join(HERE, "test"), loader: "ts" }, outfile: join(TESTS, "all.mjs") });
  await build({ ...options, entryPoints: [join(HERE, "test/serve_view.ts")], outfile: join(TESTS, "serve_view.mjs") });
}

if (process.argv.includes("--tests")) await buildTests();
else await stage();
if (process.argv.includes("--package")) await pack();
