import { startTransition, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Fabric } from "../../api/shapes";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { duration } from "../../lib/format";
import { Store } from "../../lib/store";
import { parseTime, type TimeWindow } from "../../lib/time";
import type { FabricSearch } from "./address";
import { clockwork, type Clockwork, comparisonOf, TICK_MS } from "./clockwork";

// How a window plays along the time axis, and how that axis is zoomed. Pure: times in milliseconds.

/** Seconds in which the whole axis passes, slowest first. */
export const PASSES_S = [120, 60, 30, 10] as const;
type Pass = (typeof PASSES_S)[number];

/** A window that plays is at most this share of the axis, or nothing would move. */
const MOST_SHARE = 1 / 3;
const NEAR_END = 0.005;
export const SHORTEST_AXIS_MS = 120_000;
export const LONGEST_AXIS_MS = 366 * 86_400_000;

const lengthOf = ({ from, to }: TimeWindow) => to - from;

/** Where playing begins: at the window, or at the start of the axis where the window has come to its end or lies outside. */
export function playedFrom(window: TimeWindow, span: TimeWindow): TimeWindow {
  const length = Math.min(lengthOf(window), lengthOf(span) * MOST_SHARE);
  const over = window.to >= span.to - lengthOf(span) * NEAR_END || window.from < span.from;
  const from = over ? span.from : window.from;
  return { from, to: from + length };
}

/** The window after so many milliseconds of playing, no further than the axis. */
export function playedAt(start: TimeWindow, span: TimeWindow, elapsedMs: number, pass: Pass): TimeWindow {
  const ahead = (elapsedMs / 1000 / pass) * lengthOf(span);
  const by = Math.max(0, Math.min(ahead, span.to - start.to));
  return { from: start.from + by, to: start.to + by };
}

/** A window on the grid that windows of this axis begin and end on. */
export function onGrid({ from, to }: TimeWindow, stepMs: number): TimeWindow {
  const start = Math.round(from / stepMs) * stepMs;
  return { from: start, to: start + Math.max(stepMs, Math.round((to - from) / stepMs) * stepMs) };
}

/** The axis `factor` times as long about a moment that keeps its place; never beyond the newest data by more than it was. */
export function zoomed(span: TimeWindow, at: number, factor: number, edge: number): TimeWindow {
  const length = Math.max(SHORTEST_AXIS_MS, Math.min(LONGEST_AXIS_MS, lengthOf(span) * factor));
  const share = Math.max(0, Math.min(1, (at - span.from) / lengthOf(span)));
  const to = Math.min(at + (1 - share) * length, Math.max(edge, span.to));
  const second = Math.round(to / 1000) * 1000;
  return { from: Math.round((second - length) / 1000) * 1000, to: second };
}

// A window that plays along the time axis: the picture follows with each frame, what the server sums follows twice a second.

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

// Which window and axis an address means, at the newest data; while a window plays, that one, on an axis that stays.

export function useClock(
  fabric: Fabric,
  search: FabricSearch,
  through: number | null,
  held: Playback["held"],
): { edge: number | null; clock: Clockwork | null } {
  const edge = through === null ? null : Math.floor(through / TICK_MS) * TICK_MS;
  const first = parseTime(fabric.first_ts);
  const resting = useMemo(
    () => (fabric.snapshot || edge === null ? null : clockwork(search, edge, first)),
    [fabric.snapshot, search, edge, first],
  );
  const clock = useMemo(
    () =>
      resting && held ? { ...resting, ...held, comparison: comparisonOf(search, held.window), live: false } : resting,
    [resting, held, search],
  );
  return { edge, clock };
}

// Play and pause, how fast, and how much of time the axis shows.

interface Props {
  play: Play;
  span: TimeWindow;
  /** The axis so many times as long. */
  onZoom: (factor: number) => void;
  /** Back to the whole axis; absent if it is whole. */
  onWhole?: () => void;
}

const CLOSER = 0.5;

export function PlayControls({ play, span, onZoom, onWhole }: Props) {
  const { playing, pass, setPass, toggle } = play;
  const pace = (seconds: number) => `${duration((span.to - span.from) / 1000 / seconds)} per second`;
  return (
    <div className="play-controls" role="group" aria-label="Time-lapse">
      <button className="button" onClick={toggle} title="Play the window along the axis (p)">
        <Icon name={playing ? "pause" : "play"} />
        {playing ? "Pause" : "Play"}
      </button>
      <Menu
        trigger={
          <>
            <span className="visually-hidden">Speed </span>
            {pace(pass)}
            <Icon name="down" />
          </>
        }
        heading="Speed of playback"
        entries={PASSES_S.map((one) => ({ id: String(one), label: pace(one), onSelect: () => setPass(one) }))}
      />
      <button
        className="button"
        onClick={() => onZoom(1 / CLOSER)}
        aria-label="Zoom out of the time axis"
        title="Zoom out (-)"
      >
        <Icon name="minus" />
      </button>
      <button
        className="button"
        onClick={() => onZoom(CLOSER)}
        aria-label="Zoom into the time axis"
        title="Zoom in (+), or turn the wheel over the axis"
      >
        <Icon name="plus" />
      </button>
      {onWhole && (
        <button className="button" onClick={onWhole}>
          Whole axis
        </button>
      )}
    </div>
  );
}
