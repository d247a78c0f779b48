/**
 * Draws what is large in steps: one step a frame, so that no frame has to lay out thousands of rows. An element whose
 * content is still to come has the class `drawing`; whoever needs all of it now calls `finishDrawing`.
 */

let channel: MessageChannel | null = null;
const tasks: (() => void)[] = [];

/** Within a frame: acts when that is on the screen, in a task of its own. */
export function afterFrame(act: () => void): void {
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => tasks.shift()?.();
  }
  tasks.push(act);
  channel.port2.postMessage(null);
}

interface DrawingStep {
  target: HTMLElement;
  draw: () => void;
}

const queue = new Set<DrawingStep>();
let frame = 0;

export function drawLater(target: HTMLElement, draw: () => void): void {
  target.classList.add("drawing");
  queue.add({ target, draw });
  frame ||= requestAnimationFrame(onFrame);
}

function onFrame(): void {
  frame = 0;
  for (const step of queue) {
    queue.delete(step);
    run(step);
    break;
  }
  if (queue.size) frame = requestAnimationFrame(onFrame);
}

export function isDrawing(): boolean {
  return queue.size > 0;
}

export function finishDrawing(root: HTMLElement): void {
  for (const step of queue) {
    if (!root.contains(step.target)) continue;
    queue.delete(step);
    run(step);
  }
}

function run({ target, draw }: DrawingStep): void {
  draw();
  target.classList.remove("drawing");
}
