/** Colours for canvases, read from the page's tokens once for each theme. */
import type { Theme } from "./scale";

export interface Palette {
  theme: Theme;
  surface: string;
  surface2: string;
  line: string;
  lineStrong: string;
  ink: string;
  ink2: string;
  ink3: string;
  accent: string;
  /** Switches where links alone are known. */
  node: string;
}

const read = new Map<Theme, Palette>();

/** The colours of the theme that the page is in; a new object each time. */
export function readPalette(theme: Theme): Palette {
  const known = read.get(theme) ?? fromPage(theme);
  read.set(theme, known);
  return { ...known };
}

/** Of the page's own style: it works out all styles on the spot. */
function fromPage(theme: Theme): Palette {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    theme,
    surface: token("surface"),
    surface2: token("surface-2"),
    line: token("line"),
    lineStrong: token("line-strong"),
    ink: token("ink"),
    ink2: token("ink-2"),
    ink3: token("ink-3"),
    accent: token("accent"),
    node: token("switch"),
  };
}

export const font = (size: number, weight = 400) => `${weight} ${size}px Inter, "DejaVu Sans", sans-serif`;
