/** How the page looks, as somebody chose it in this browser: the theme and how dense things stand. */

import { recall, remember } from "./memory";

export const THEMES = ["system", "light", "dark"] as const;
export const DENSITIES = ["comfortable", "compact"] as const;
export type Theme = (typeof THEMES)[number];
export type Density = (typeof DENSITIES)[number];

export function chosenTheme(): Theme {
  return THEMES.find((theme) => theme === recall("theme")) ?? "system";
}

export function chosenDensity(): Density {
  return DENSITIES.find((density) => density === recall("density")) ?? "comfortable";
}

export function chooseTheme(theme: Theme): void {
  remember("theme", theme === "system" ? "" : theme);
  applyAppearance();
}

export function chooseDensity(density: Density): void {
  remember("density", density === "comfortable" ? "" : density);
  applyAppearance();
}

/** The style sheets read the rest from the root element. */
export function applyAppearance(): void {
  const { dataset } = document.documentElement;
  dataset.theme = chosenTheme();
  dataset.density = chosenDensity();
}
