/** A drag on a time axis: with Shift it sets the window that is compared with. */
import { useState, type PointerEvent, type RefObject } from "react";
import type { TimeWindow } from "../lib/time";
import { zoomOf } from "../lib/zoom";
import { dragged, gripAt, type Grip, type TimelineLayout } from "./timeline";

interface Given {
  svg: RefObject<SVGSVGElement | null>;
  layout: TimelineLayout | null;
  span: TimeWindow;
  stepMs: number;
  window: TimeWindow;
  comparison: TimeWindow | null;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
}

interface Drag {
  grip: Grip;
  comparing: boolean;
  original: TimeWindow | null;
  start: number;
  window: TimeWindow;
}

/** Both windows as they are while the drag goes on, and what the axis listens with. */
export function useBrushDrag({ svg, layout, span, stepMs, window, comparison, onDrag, onCommit }: Given) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const timeAt = (event: PointerEvent) =>
    layout?.invert((event.clientX - (svg.current?.getBoundingClientRect().left ?? 0)) / zoomOf()) ?? 0;
  const slack = layout ? layout.invert(6) - layout.invert(0) : 0;

  const onPointerDown = (event: PointerEvent<SVGSVGElement>) => {
    if (event.button !== 0 || !layout) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    const start = timeAt(event);
    const comparing = event.shiftKey;
    const original = comparing ? comparison : window;
    const grip = gripAt(original, start, slack);
    setDrag({
      grip,
      comparing,
      original,
      start,
      window: original && grip !== "new" ? original : dragged("new", null, start, start, span, stepMs),
    });
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!drag) return;
    const next = dragged(drag.grip, drag.original, drag.start, timeAt(event), span, stepMs);
    if (next.from === drag.window.from && next.to === drag.window.to) return;
    setDrag({ ...drag, window: next });
    onDrag(next, drag.comparing);
  };
  const onPointerUp = () => {
    if (!drag) return;
    const moved = !drag.original || drag.window.from !== drag.original.from || drag.window.to !== drag.original.to;
    setDrag(null);
    if (moved) onCommit(drag.window, drag.comparing);
  };
  return {
    shown: drag && !drag.comparing ? drag.window : window,
    compared: drag?.comparing ? drag.window : comparison,
    handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: () => setDrag(null) },
  };
}
