/** A real hub process with a scripted agent, which can be killed and started again at its place. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PYTHON = process.env.DRAGOMAN_PYTHON ?? "python3";
const SCRIPT = process.env.DRAGOMAN_SCRIPT ?? "";

export class RunningHub {
  readonly folder = mkdtempSync(join(tmpdir(), "dragoman-vscode-"));
  readonly work = join(this.folder, "work");
  address = "";
  token = "";
  private process: ChildProcess | undefined;
  private environment: NodeJS.ProcessEnv;

  constructor() {
    mkdirSync(this.work);
    const homes = ["DATA", "CONFIG", "STATE", "CACHE"].map((name) => [`XDG_${name}_HOME`, join(this.folder, name.toLowerCase())]);
    this.environment = { ...process.env, ...Object.fromEntries(homes) };
    const agent = JSON.stringify([PYTHON, "-m", "dragoman", "agent", "script", SCRIPT]);
    const lines = [`journal = "${this.folder}/hub.db"`, 'default_agent = "guide"', "known_agents = false", "[agents.guide]", `command = ${agent}`];
    writeFileSync(join(this.folder, "hub.toml"), `${lines.join("\n")}\n`);
  }

  /** At the place that it had before, if there was one. */
  async start(): Promise<void> {
    const listen = this.address ? new URL(this.address).host : "127.0.0.1:0";
    const args = ["-m", "dragoman", "hub", "--config", join(this.folder, "hub.toml"), "--json", "--listen", listen];
    const child = spawn(PYTHON, args, { env: this.environment, stdio: ["ignore", "pipe", "ignore"] });
    this.process = child;
    process.once("exit", () => child.kill()); // tests that were ended leave nothing behind
    const [line] = await new Promise<string[]>((resolve, reject) => {
      const lines = createInterface({ input: child.stdout });
      lines.once("line", (text) => resolve([text]));
      child.once("exit", (status) => reject(new Error(`the hub ended with status ${status}`)));
    });
    const page = new URL((JSON.parse(line) as { page: string }).page);
    this.address = `${page.origin}/`;
    this.token = decodeURIComponent(page.hash.replace("#token=", "")) || this.token;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((resolve) => this.process?.once("exit", resolve));
    this.process?.kill(signal);
    await ended;
  }

  async close(): Promise<void> {
    await this.end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
