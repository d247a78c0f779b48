// All frames, one line each; lines have one height, so those on the screen are known without measuring.
const HEIGHT = 26;
const WAYS = ["▶", "◀", "·"];

const makeFrames = (home, frames) => {
  const list = make("div", { class: "list" });
  list.style.height = `${frames.length * HEIGHT}px`;
  home.append(list);
  let hit = -1;
  const draw = () => {
    if (home.hidden) return;
    const top = list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / HEIGHT) - 20);
    const last = Math.min(frames.length, Math.ceil((window.innerHeight - top) / HEIGHT) + 20);
    const lines = [];
    for (let at = first; at < last; at += 1) {
      const [ms, side, name, text] = frames[at];
      const line = make("button", { type: "button", class: `line${at === hit ? " hit" : ""}`, onclick: () => showFrame(at) },
        make("span", { class: "time" }, clock(ms)), make("span", { class: "way" }, WAYS[side]), make("span", { class: "name" }, name), make("span", { class: "rest" }, short(text, 300)));
      line.style.top = `${at * HEIGHT}px`;
      lines.push(line);
    }
    list.replaceChildren(...lines);
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
  window.addEventListener("scroll", soon, { passive: true });
  window.addEventListener("resize", soon);
  return {
    draw,
    go(at) {
      hit = at;
      window.scrollTo(0, window.scrollY + list.getBoundingClientRect().top + at * HEIGHT - window.innerHeight / 2);
      draw();
    },
  };
};

const showFrame = (number) => {
  const [ms, side, name, text] = DATA.frames[number];
  let pretty = text;
  try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it is */ }
  document.getElementById("frame-title").textContent = `Frame ${number + 1} ${WAYS[side]} ${name} at ${clock(ms)}`;
  document.getElementById("frame-text").textContent = pretty;
  document.getElementById("frame").showModal();
};
