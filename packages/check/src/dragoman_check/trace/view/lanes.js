// Time from left to right: turns, tool calls and questions as bars, and how dense the frames were below.
const LANES = [["prompt", "--blue"], ["tool", "--green"], ["permission", "--amber"]];

const makeLanes = (canvas, rows, frames, go) => {
  const end = Math.max(1, frames.length ? frames[frames.length - 1][0] : 1);
  const draw = () => {
    const width = canvas.clientWidth;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = 64 * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    LANES.forEach(([kind, colour], lane) => {
      pen.fillStyle = style.getPropertyValue(colour);
      for (const row of rows) {
        if (row.kind !== kind) continue;
        const stop = kind === "tool" ? row.end ?? row.at : row.at + (row.took ?? end - row.at);
        pen.fillRect((row.at / end) * width, lane * 13, Math.max(1.5, ((stop - row.at) / end) * width), 10);
      }
    });
    const counts = new Array(Math.max(1, Math.floor(width / 2))).fill(0);
    for (const [ms] of frames) counts[Math.min(counts.length - 1, Math.floor((ms / end) * counts.length))] += 1;
    const most = Math.max(...counts, 1);
    pen.fillStyle = style.getPropertyValue("--faint");
    counts.forEach((count, at) => { const height = Math.ceil((count / most) * 22); pen.fillRect(at * 2, 64 - height, 1.5, height); });
  };
  canvas.addEventListener("click", (event) => {
    const ms = (event.offsetX / canvas.clientWidth) * end;
    let best = 0;
    rows.forEach((row, at) => { if (row.at <= ms) best = at; });
    go(best);
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
};
