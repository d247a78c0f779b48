// What a benchmark program measures about itself: wall time, its own CPU time, its own peak memory (Linux only).
import { readFileSync } from "node:fs";

export function memoryKb(field) {
  const line = readFileSync("/proc/self/status", "utf8").split("\n").find((l) => l.startsWith(field + ":"));
  return Number(line.split(/\s+/)[1]);
}

export class Meter {
  constructor() {
    this.baseline();
    this.start();
  }

  start() {
    this.wall = performance.now();
    this.cpu = process.cpuUsage();
  }

  // Count the memory peak from here on.
  baseline() {
    this.baseKb = memoryKb("VmRSS");
  }

  read() {
    const used = process.cpuUsage(this.cpu);
    return {
      wall: (performance.now() - this.wall) / 1e3,
      cpu: (used.user + used.system) / 1e6,
      peak_kb: memoryKb("VmHWM") - this.baseKb,
    };
  }
}

// The median and the 99th percentile of milliseconds, in microseconds.
export function percentiles(milliseconds) {
  const ordered = Float64Array.from(milliseconds).sort();
  const at = (part) => ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * part))] * 1e3;
  return { p50_us: at(0.5), p99_us: at(0.99) };
}

export function loadMix() {
  return JSON.parse(readFileSync(new URL("../../data/mix.json", import.meta.url), "utf8"));
}

// What agents say in a stream, in the order in which it repeats. Each text has `size` characters.
export function loadTexts(size) {
  return JSON.parse(readFileSync(new URL("../../data/texts.json", import.meta.url), "utf8"))[size];
}
