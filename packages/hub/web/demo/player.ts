/**
 * Plays a recording: play and pause, speed, and a slider for the moment. Where the guide looks, the page looks, until
 * the reader goes somewhere else; then the reader leads. Starts by itself unless the reader wants little motion.
 */

import type { RecordedHub } from "./recorded_hub";

const SPEEDS = [0.5, 1, 2, 4, 8];
const TICK_MS = 50;

export class Player {
  readonly bar = document.createElement("div");
  private slider = document.createElement("input");
  private button = document.createElement("button");
  private speed = document.createElement("select");
  private clock = document.createElement("output");
  private guide = document.createElement("input");
  private isPlaying = false;
  private playedAt = 0;
  /** What the guide has opened, so that everything else was opened by the reader. */
  private opened = location.hash;

  /** `wentBack` is called when what was told has not happened any more. */
  constructor(
    private hub: RecordedHub,
    private wentBack: () => void,
  ) {
    this.draw();
    window.setInterval(() => this.tick(), TICK_MS);
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.opened) this.guide.checked = false;
    });
  }

  begin(): void {
    this.follow();
    this.show();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  play(): void {
    if (this.hub.position >= this.hub.recording.seconds) this.seek(0);
    this.isPlaying = true;
    this.playedAt = performance.now();
    this.show();
  }

  pause(): void {
    this.isPlaying = false;
    this.show();
  }

  seek(position: number): void {
    const target = Math.max(0, Math.min(position, this.hub.recording.seconds));
    if (target < this.hub.position) {
      this.hub.rewind();
      this.hub.advance(target);
      this.follow();
      this.wentBack();
    } else {
      this.hub.advance(target);
      this.follow();
    }
    this.show();
  }

  private tick(): void {
    if (!this.isPlaying) return;
    const now = performance.now();
    const position = this.hub.position + ((now - this.playedAt) / 1000) * Number(this.speed.value);
    this.playedAt = now;
    this.seek(position);
    if (this.hub.position >= this.hub.recording.seconds) this.pause();
  }

  private follow(): void {
    if (!this.guide.checked || this.opened === this.hub.view) return;
    this.opened = this.hub.view;
    location.hash = this.hub.view;
  }

  private draw(): void {
    const { bar, slider, button, speed, clock, guide } = this;
    bar.className = "player";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Recording");
    button.type = "button";
    button.className = "player-play";
    button.addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    Object.assign(slider, { type: "range", min: "0", max: String(this.hub.recording.seconds), step: "0.1", value: "0" });
    slider.setAttribute("aria-label", "Position in the recording");
    slider.addEventListener("input", () => this.seek(Number(slider.value)));
    speed.setAttribute("aria-label", "Speed");
    speed.append(...SPEEDS.map((factor) => new Option(`${factor}×`, String(factor), factor === 1, factor === 1)));
    Object.assign(guide, { type: "checkbox", checked: true });
    guide.addEventListener("change", () => {
      this.opened = location.hash;
      this.follow();
    });
    const label = document.createElement("label");
    label.append(guide, "guided");
    const note = document.createElement("a");
    Object.assign(note, { href: "../", textContent: "This is a recording: read how it works" });
    bar.append(button, slider, clock, speed, label, note);
  }

  private show(): void {
    const { position, recording } = this.hub;
    const state = this.isPlaying ? "playing" : position >= recording.seconds ? "ended" : "paused";
    this.bar.dataset.state = state;
    this.bar.dataset.position = position.toFixed(3);
    const word = this.isPlaying ? "Pause" : state === "ended" ? "Play again" : "Play";
    if (this.button.title !== word) {
      this.button.title = word;
      this.button.setAttribute("aria-label", word);
      this.button.textContent = this.isPlaying ? "❚❚" : "▶";
    }
    this.slider.value = String(position);
    const time = `${clockText(position)} / ${clockText(recording.seconds)}`;
    this.slider.setAttribute("aria-valuetext", time);
    if (this.clock.textContent !== time) this.clock.textContent = time;
  }
}

function clockText(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
