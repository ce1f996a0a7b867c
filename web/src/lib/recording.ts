import { flushSync } from "react-dom";
import { Store } from "./store";

// Makes every picture draw itself once more: palettes are read again, and what depends on them follows within the call.

export const redraws = new Store(0);

export const redraw = (): void => flushSync(() => redraws.set(redraws.get() + 1));

/** While a recording lasts, pictures draw into other contexts than their canvases', such as one that writes SVG. */
export interface RecordedSize {
  width: number;
  height: number;
}

type Make = (size: RecordedSize) => CanvasRenderingContext2D;

let make: Make | null = null;
let made = new Map<HTMLCanvasElement, CanvasRenderingContext2D>();

/** The recording's context for a canvas, or null while nothing is recorded. */
export function recorded(canvas: HTMLCanvasElement, size: RecordedSize): CanvasRenderingContext2D | null {
  if (!make) return null;
  const context = make(size);
  made.set(canvas, context);
  return context;
}

/** What each canvas that draws during `act` drew: the last context it asked for. */
export function record(contexts: Make, act: () => void): ReadonlyMap<HTMLCanvasElement, CanvasRenderingContext2D> {
  made = new Map();
  make = contexts;
  try {
    act();
    return made;
  } finally {
    make = null;
  }
}
