/** A window that plays along the time axis: the picture follows with each frame, what the server sums follows twice a second. */
import { startTransition, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Store } from "../../lib/store";
import type { TimeWindow } from "../../lib/time";
import { onGrid, playedAt, playedFrom, type Pass } from "./playback";

/** Panels whose figures the server sums are asked anew at this pace. */
const PACE_MS = 500;
/** A tab that was out of sight goes on where it was. */
const LONGEST_FRAME_MS = 250;

/** What plays, and on what. */
export interface Stage {
  window: TimeWindow;
  span: TimeWindow;
  stepMs: number;
  /** Draws a window from the frames that are here. */
  show: (window: TimeWindow) => void;
  /** Whether panels still wait for their figures: the next ones are asked for later. */
  busy: () => boolean;
  /** Fetches these frames. */
  prepare: () => Promise<void>;
  /** Playing ended here. */
  rest: (window: TimeWindow) => void;
}

export interface Play {
  /** The window of this frame; null while nothing plays. */
  now: Store<TimeWindow | null>;
  playing: boolean;
  pass: Pass;
  setPass: (pass: Pass) => void;
  toggle: () => void;
}

export interface Playback extends Play {
  /** The window that panels show while another one plays, and the axis that stays; null while nothing plays. */
  held: Pick<Stage, "window" | "span"> | null;
  /** The page's present stage; null if there is no time to play. */
  setStage: (stage: Stage | null) => void;
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function usePlay(): Playback {
  const [now] = useState(() => new Store<TimeWindow | null>(null));
  const [span, setSpan] = useState<TimeWindow | null>(null);
  const [window, setWindow] = useState<TimeWindow | null>(null);
  const [pass, setPass] = useState<Pass>(60);
  const stage = useRef<Stage | null>(null);
  const speed = useRef<Pass>(pass);
  useEffect(() => {
    speed.current = pass;
  }, [pass]);
  const setStage = useCallback((next: Stage | null) => {
    stage.current = next;
  }, []);

  const end = useCallback(() => {
    const at = now.get();
    if (at && stage.current) stage.current.rest(onGrid(at, stage.current.stepMs));
    setSpan(null);
    setWindow(null);
    now.set(null);
  }, [now]);

  useEffect(() => {
    if (!span) return;
    const steps = calm();
    let [frame, gone] = [0, false];
    let [asked, before] = [0, 0];
    const step = (time: number) => {
      const [shown, on] = [now.get(), stage.current];
      if (!shown || !on) return;
      const due = time - asked >= PACE_MS;
      if (due || !steps) {
        const next = playedAt(
          shown,
          span,
          before ? Math.min(steps ? 2 * PACE_MS : LONGEST_FRAME_MS, time - before) : 0,
          speed.current,
        );
        before = time;
        now.set(next);
        on.show(next);
        if (next.to >= span.to) {
          end();
          return;
        }
        if (due && !on.busy()) {
          asked = time;
          startTransition(() => setWindow(onGrid(next, on.stepMs)));
        }
      }
      frame = requestAnimationFrame(step);
    };
    void stage.current?.prepare().then(() => {
      if (!gone) frame = requestAnimationFrame(step);
    });
    return () => {
      gone = true;
      cancelAnimationFrame(frame);
    };
  }, [span, now, end]);

  const toggle = useCallback(() => {
    const on = stage.current;
    if (now.get() || !on) {
      end();
      return;
    }
    const start = playedFrom(on.window, on.span);
    now.set(start);
    setWindow(onGrid(start, on.stepMs));
    setSpan(on.span);
  }, [now, end]);
  const held = useMemo(() => (span && window ? { window, span } : null), [span, window]);
  const playing = span !== null;
  return useMemo(
    () => ({ held, setStage, now, playing, pass, setPass, toggle }),
    [held, setStage, now, playing, pass, toggle],
  );
}
