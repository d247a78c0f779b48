/** As much of node's test runner as these tests use. */
declare module "node:test" {
  export default function test(name: string, run: () => void | Promise<void>): void;
}
declare module "node:assert/strict" {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(one: unknown, other: unknown, message?: string): void;
    deepEqual(one: unknown, other: unknown, message?: string): void;
    ok(value: unknown, message?: string): asserts value;
    rejects(promise: Promise<unknown>, error?: unknown): Promise<void>;
  };
  export default assert;
}
declare module "node:process" {
  /** Microseconds, since `before` if it is given. */
  export function cpuUsage(before?: { user: number; system: number }): { user: number; system: number };
}
