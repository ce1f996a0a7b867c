/** Colours for canvases, read from the page's tokens once for each theme. */
import { useMemo } from "react";
import { redraws } from "../lib/recording";
import { useStore } from "../lib/store";
import { themeStore } from "../lib/theme";
import type { Theme } from "./scale";

/** The canvas colours of the theme in force; a new object when pictures are to be drawn once more. */
export function usePalette(): Palette {
  const theme = useStore(themeStore);
  const turn = useStore(redraws);
  // The turn is no input of the colours; it is what asks for them again.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => readPalette(theme), [theme, turn]);
}

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
function readPalette(theme: Theme): Palette {
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

/** The light theme's colours, read while the page shows another. */
export function lightPalette(): Palette {
  const root = document.documentElement;
  const shown = root.dataset.theme;
  root.dataset.theme = "light";
  const palette = readPalette("light");
  if (shown === undefined) delete root.dataset.theme;
  else root.dataset.theme = shown;
  return palette;
}
