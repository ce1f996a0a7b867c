import { useMemo } from "react";
import { redraws } from "../lib/redraw";
import { useStore } from "../lib/store";
import { themeStore } from "../lib/theme";
import { readPalette, type Palette } from "./palette";

/** The canvas colours of the theme in force; a new object when pictures are to be drawn once more. */
export function usePalette(): Palette {
  const theme = useStore(themeStore);
  const turn = useStore(redraws);
  // The turn is no input of the colours; it is what asks for them again.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => readPalette(theme), [theme, turn]);
}
