import { cpuUsage } from "node:process";

/** Milliseconds of a processor that something takes. A clock would also count what other programs take of a busy machine. */
export function effort(run: () => void): number {
  const before = cpuUsage();
  run();
  const { user, system } = cpuUsage(before);
  return (user + system) / 1000;
}
