/** The tour of a demo: which step is shown, and that it never comes again by itself once left or done. */
import { Store } from "./store";

const KEY = "flitwatch-tour";

function seen(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    // Storage is refused: nothing could remember that the reader left it, so it does not come by itself.
    return true;
  }
}

/** The step shown, from 0; null: no tour. */
export const tourStore = new Store<number | null>(null);

/** By itself: on a simulated machine's first page, once. */
export function offerTour(): void {
  if (!seen()) startTour();
}

export function startTour(): void {
  tourStore.set(0);
}

export function leaveTour(): void {
  try {
    localStorage.setItem(KEY, "seen");
  } catch {
    // it stays away as long as the page
  }
  tourStore.set(null);
}
