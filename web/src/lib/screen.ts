import { useCallback, useSyncExternalStore } from "react";

/** Whether a media query holds, as it changes. */
export function useMedia(query: string): boolean {
  const follow = useCallback(
    (changed: () => void) => {
      const list = matchMedia(query);
      list.addEventListener("change", changed);
      return () => list.removeEventListener("change", changed);
    },
    [query],
  );
  return useSyncExternalStore(follow, () => matchMedia(query).matches);
}

let known: { wall: string | undefined; zoom: number } | null = null;
globalThis.addEventListener?.("resize", () => {
  known = null;
});

/**
 * Wall displays show everything larger: tokens.css says by how much. Positions of the pointer and of boxes are the screen's, lengths within are the page's.
 * It changes with the window's size and with the wall's mode alone: to ask the browser each time makes it work out all styles on the spot.
 */
export function zoomOf(): number {
  const { wall } = document.documentElement.dataset;
  if (known?.wall !== wall || !known)
    known = {
      wall,
      zoom: Number(getComputedStyle(document.documentElement).getPropertyValue("--zoom")) || 1,
    };
  return known.zoom;
}
