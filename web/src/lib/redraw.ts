/** Makes every picture draw itself once more: palettes are read again, and what depends on them follows within the call. */
import { flushSync } from "react-dom";
import { Store } from "./store";

export const redraws = new Store(0);

export const redraw = (): void => flushSync(() => redraws.set(redraws.get() + 1));
