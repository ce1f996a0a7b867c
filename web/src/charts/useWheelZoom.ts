/** The wheel over a time axis makes it longer or shorter about the pointer. */
import { useEffect, useRef, type RefObject } from "react";
import { zoomOf } from "../lib/zoom";
import type { TimelineLayout } from "./timeline";

/** The axis is so many times as long after one notch of a wheel. */
const WHEEL = 1.25;

export function useWheelZoom(
  box: RefObject<HTMLElement | null>,
  svg: RefObject<SVGSVGElement | null>,
  layout: TimelineLayout | null,
  onZoom: (at: number, factor: number) => void,
) {
  // React listens to wheels passively, and the page would scroll along.
  const turn = useRef<(event: WheelEvent) => void>(() => {});
  useEffect(() => {
    turn.current = (event) => {
      if (!layout || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const left = svg.current?.getBoundingClientRect().left ?? 0;
      onZoom(layout.invert((event.clientX - left) / zoomOf()), WHEEL ** Math.max(-1, Math.min(1, event.deltaY / 100)));
    };
  });
  useEffect(() => {
    const element = box.current;
    const listen = (event: WheelEvent) => turn.current(event);
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, [box]);
}
