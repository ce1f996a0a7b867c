/** The window's figures: exact ones from the server when the window rests, from frames while it is dragged. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { startTransition, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { congestionQuery, framesQuery, type Moment, momentOf } from "../../api/queries";
import type { Congestion } from "../../api/shapes";
import { emptyColumns, panelFigures, routerWindow, sumsOf } from "../../charts/window";
import { type QueryState, useQueryState } from "../../components/Notice";
import { emptySums, PrefixSums, type Sums } from "../../lib/prefix";
import { Store } from "../../lib/store";
import type { TimeWindow } from "../../lib/time";
import type { Scene, Values } from "../../machine/scene";
import { type Clockwork, frameStepSeconds } from "./clockwork";

// A value that follows later while something plays: what hangs on it is neither asked for nor drawn in the same frame as the rest.

/** `value` at once, or, while `active`, as it was until `ms` milliseconds after it changed. */
export function useTrailing<T extends object | number | null>(value: T, ms: number, active: boolean): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => startTransition(() => setLate(value)), active ? ms : 0);
    return () => clearTimeout(timer);
  }, [value, ms, active]);
  return active ? late : value;
}

interface Inputs {
  scene: Scene | null;
  fabric: number;
  clock: Clockwork | null;
  linkClass: string | null;
  difference: boolean;
  /** While a window plays, frames are shown, and exact figures only if there is none. */
  playing: boolean;
}

export interface FabricValues {
  store: Store<Values | null>;
  congestion: Congestion | null;
  before: Congestion | null;
  moment: Moment;
  /** The window that is compared with, in difference mode. */
  earlier: Moment | null;
  /** What a picture waits for. */
  asked: QueryState[];
  /** Shows a window during a drag, within the frame. */
  preview: (window: TimeWindow, comparison: TimeWindow | null) => void;
  /** Fetches what a drag needs, before it begins. */
  prepare: () => Promise<void>;
}

export function useValues({ scene, fabric, clock, linkClass, difference, playing }: Inputs): FabricValues {
  const [store] = useState(() => new Store<Values | null>(null));
  // Without a clock there is one sample without time, or no counter at all: asked for as it is.
  const moment = useMemo<Moment>(() => (clock ? momentOf(clock.window) : { at: null, windowMs: 60_000 }), [clock]);
  const earlier = useMemo<Moment | null>(() => clock && momentOf(clock.comparison), [clock]);
  const now = useQuery(congestionQuery(fabric, moment, linkClass));
  const then = useQuery({
    ...congestionQuery(fabric, earlier ?? { at: null, windowMs: 60_000 }, linkClass),
    enabled: earlier !== null && difference,
  });
  const before = difference ? (then.data ?? null) : null;
  const [nowState, thenState] = [useQueryState(now), useQueryState(then)];
  const compared = difference && earlier !== null;
  const asked = useMemo(() => (compared ? [nowState, thenState] : [nowState]), [compared, nowState, thenState]);

  const buffers = useMemo(
    () =>
      scene && {
        now: emptySums(scene.machine.size),
        then: emptySums(scene.machine.size),
        ...emptyColumns(scene.machine.size),
      },
    [scene],
  );
  const publish = useCallback(
    (sums: Sums, other: Sums | null, moving: boolean) => {
      if (!scene) return;
      const window = routerWindow(sums, scene.machine.sampled, other, moving ? buffers : null);
      store.set({ window, figures: panelFigures(window, scene.arrangement, other), before: other, moving });
    },
    [scene, store, buffers],
  );

  const frames = useFrames(scene, fabric, clock, linkClass);
  useEffect(() => {
    if (!scene || !now.data || (playing && frames.prefix.current)) return;
    const size = scene.machine.size;
    publish(sumsOf(size, now.data.routers), before && sumsOf(size, before.routers), false);
  }, [scene, now.data, before, publish, playing, frames]);

  const preview = useCallback(
    (window: TimeWindow, comparison: TimeWindow | null) => {
      const prefix = frames.prefix.current;
      if (!prefix || !buffers || !prefix.covers(window.from, window.to)) return;
      prefix.window(...prefix.range(window.from, window.to), buffers.now);
      const compare = comparison && prefix.covers(comparison.from, comparison.to);
      if (compare) prefix.window(...prefix.range(comparison.from, comparison.to), buffers.then);
      publish(buffers.now, compare ? buffers.then : null, true);
    },
    [frames, buffers, publish],
  );

  return {
    store,
    congestion: now.data ?? null,
    before,
    moment,
    earlier: difference ? earlier : null,
    asked,
    preview,
    prepare: frames.prepare,
  };
}

function useFrames(scene: Scene | null, fabric: number, clock: Clockwork | null, linkClass: string | null) {
  const queries = useQueryClient();
  const prefix = useRef<PrefixSums | null>(null);
  const wanted = useRef("");
  const latest = useRef({ scene, clock });
  useEffect(() => {
    latest.current = { scene, clock };
  });

  const prepare = useCallback(async () => {
    const { scene: shown, clock: axis } = latest.current;
    if (!shown || !axis || shown.fabric.snapshot) return;
    const { from, to } = axis.span;
    const step = frameStepSeconds(to - from, shown.machine.size);
    // Frames of a longer axis do until it is much longer.
    const ready =
      prefix.current?.covers(from + step * 1000, to - step * 1000) &&
      prefix.current.stepMs <= 4 * step * 1000 &&
      wanted.current.startsWith(`${fabric} ${linkClass}`);
    const key = `${fabric} ${linkClass} ${from} ${to}`;
    if (ready || wanted.current === key) return;
    wanted.current = key;
    const aligned = {
      from: Math.floor(from / (step * 1000)) * step * 1000,
      to: Math.ceil(to / (step * 1000)) * step * 1000,
    };
    await queries.fetchQuery(framesQuery(fabric, aligned, step, linkClass)).then(
      (frames) => {
        if (wanted.current === key && frames.routers === shown.machine.size) prefix.current = new PrefixSums(frames);
      },
      () => {
        if (wanted.current === key) wanted.current = "";
      },
    );
  }, [queries, fabric, linkClass]);

  // The first picture comes first; the frames follow when the page is at rest.
  const ready = Boolean(scene && clock);
  useEffect(() => {
    prefix.current = null;
    wanted.current = "";
    if (!ready) return;
    const timer = setTimeout(() => void prepare(), 1500);
    return () => clearTimeout(timer);
  }, [ready, prepare]);

  return useMemo(() => ({ prefix, prepare }), [prepare]);
}
