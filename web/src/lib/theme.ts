/** Light, dark or as the system says; kept by the browser, applied before anything is drawn. */
import { Store } from "./store";

export type ThemeName = "light" | "dark";

const KEY = "flitwatch-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): ThemeName | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // storage is refused in some private windows
  }
}

let printing = false;

/** Paper is white. */
const effective = (): ThemeName => (printing ? "light" : (chosen() ?? (dark.matches ? "dark" : "light")));

export const themeStore = new Store<ThemeName>(effective());

function apply(): void {
  const theme = effective();
  document.documentElement.dataset.theme = theme;
  themeStore.set(theme);
}

export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
  for (const [event, on] of [
    ["beforeprint", true],
    ["afterprint", false],
  ] as const) {
    window.addEventListener(event, () => {
      printing = on;
      apply();
    });
  }
}

export function toggleTheme(): void {
  const next: ThemeName = themeStore.get() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, next);
  } catch {
    document.documentElement.dataset.theme = next;
    themeStore.set(next);
    return;
  }
  apply();
}
