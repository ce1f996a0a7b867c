import { useMemo } from "react";
import { useStore } from "../lib/store";
import { themeStore } from "../lib/theme";
import { readPalette, type Palette } from "./palette";

/** The canvas colours of the theme in force. */
export function usePalette(): Palette {
  const theme = useStore(themeStore);
  return useMemo(() => readPalette(theme), [theme]);
}
