import { useLayoutEffect, useRef } from "react";
import { moment as momentText, type TimeWindow } from "../lib/time";
import type { Store } from "../lib/store";
import { BOTTOM, TOP } from "./brush";
import { passing, type TimelineLayout } from "./timeline";

interface PlayingProps {
  now: Store<TimeWindow | null>;
  layout: TimelineLayout;
  span: TimeWindow;
}

/**
 * The window as it plays, the time at which it ends, and the event that it passes. They lie beside the picture and are moved by hand: within it each frame
 * would lay out and paint the whole axis anew, and a component that reads the store makes React draw whatever it is at in one go.
 */
export function BrushPlaying({ now, layout, span }: PlayingProps) {
  const band = useRef<HTMLSpanElement>(null);
  const time = useRef<HTMLSpanElement>(null);
  const event = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const place = () => {
      const moving = now.get();
      const from = moving && layout.x(Math.max(span.from, moving.from));
      const to = moving && layout.x(Math.min(span.to, moving.to));
      const passed = moving && passing(layout.marks, moving);
      const before = passed && to !== null && passed.x > to - 120;
      put(band.current, from !== null && to !== null && to > from ? "" : null, `translateX(${from}px)`);
      if (band.current && from !== null && to !== null) {
        // Without a fraction its width stays while it moves.
        const width = `${Math.max(1, Math.round(to - from))}px`;
        if (band.current.style.width !== width) band.current.style.width = width;
      }
      put(
        time.current,
        moving && momentText(moving.to, span.to, span.to - span.from < 7_200_000),
        `translate(calc(${(to ?? 0) - 4}px - 100%), ${BOTTOM - 18}px)`,
      );
      put(
        event.current,
        passed && passed.text,
        before
          ? `translate(calc(${passed.x - 7}px - 100%), ${TOP - 2}px)`
          : `translate(${(passed?.x ?? 0) + 7}px, ${TOP - 2}px)`,
      );
    };
    place();
    return now.subscribe(place);
  }, [now, layout, span]);
  return (
    <>
      <span ref={band} className="playing-band" style={{ top: TOP - 4, height: BOTTOM - TOP + 6 }} hidden />
      <span ref={time} className="playing" hidden />
      <span ref={event} className="playing" hidden />
    </>
  );
}

/** Shows a text at a place, or hides it where there is none. */
function put(element: HTMLElement | null, text: string | null, transform: string) {
  if (!element) return;
  if (element.hidden !== (text === null)) element.hidden = text === null;
  if (element.textContent !== (text ?? "")) element.textContent = text;
  if (text !== null && element.style.transform !== transform) element.style.transform = transform;
}
