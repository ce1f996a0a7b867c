/** What a reader does on a fabric page: changes of the address, the player's stage, the selected router, and keys. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { neighbour } from "../../charts/arrange";
import { useKeys } from "../../lib/keys";
import type { Store } from "../../lib/store";
import { isoTime, type TimeWindow } from "../../lib/time";
import { hottestRouter, type Scene, type Values } from "../../machine/scene";
import { type FabricSearch, OF_VIEW, type View } from "./address";
import { aroundMark, type Clockwork, comparisonOf, neighbouring } from "./clockwork";
import type { Playback, Stage } from "./playback";

interface Given {
  search: FabricSearch;
  clock: Clockwork | null;
  edge: number | null;
  views: View[];
  view: View;
  /** Draws a window before it is chosen. */
  preview: (window: TimeWindow, comparison: TimeWindow | null) => void;
}

export type Actions = ReturnType<typeof useActions>;

export function useActions({ search, clock, edge, views, view, preview }: Given) {
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const change = useCallback(
    (patch: Partial<FabricSearch>, push = false) => {
      // A table without a column of change has no order by it.
      const gone = "view" in patch ? OF_VIEW : "diff" in patch && !patch.diff ? { sort: undefined } : {};
      void navigate({ to: ".", search: (old) => ({ ...old, ...gone, ...patch }), replace: !push });
    },
    [navigate],
  );
  const select = useCallback((router: number) => change({ router }), [change]);
  const openLinks = useCallback(
    (what: { link: number } | { pair: string }) => change({ view: "links", ...what }, true),
    [change],
  );
  const openPair = useCallback((src: number, dst: number) => openLinks({ pair: `${src}-${dst}` }), [openLinks]);
  const descend = useCallback(
    (router: number) => {
      const closer: View | undefined = views.includes("group") && view !== "group" ? "group" : undefined;
      change({ router, ...(closer && { view: closer }) }, true);
    },
    [change, views, view],
  );
  const cut = useCallback((slice: number | null) => change({ slice: slice ?? undefined }), [change]);
  const commit = useCallback(
    (window: TimeWindow, comparing: boolean) => {
      if (comparing) change({ diff: "on", cfrom: isoTime(window.from), cto: isoTime(window.to), against: undefined });
      else change({ from: isoTime(window.from), to: isoTime(window.to) });
    },
    [change],
  );
  const zoom = useCallback(
    (span: TimeWindow | null) =>
      change({
        afrom: span ? isoTime(span.from) : undefined,
        ato: span ? isoTime(span.to) : undefined,
        // A zoomed axis stands still, and so does its window.
        ...(span && clock && { from: isoTime(clock.window.from), to: isoTime(clock.window.to) }),
      }),
    [change, clock],
  );
  const drag = useCallback(
    (window: TimeWindow, comparing: boolean) => {
      if (!clock) return;
      if (comparing) preview(clock.window, window);
      else preview(window, search.diff === "on" ? comparisonOf(search, window) : null);
    },
    [preview, clock, search],
  );
  const around = useCallback(
    (at: number) => {
      if (!clock) return;
      const { after, before } = aroundMark(at, clock.window.to - clock.window.from, edge ?? clock.window.to);
      change(
        {
          diff: "on",
          from: isoTime(after.from),
          to: isoTime(after.to),
          cfrom: isoTime(before.from),
          cto: isoTime(before.to),
          against: undefined,
        },
        true,
      );
    },
    [clock, edge, change],
  );
  return useMemo(
    () => ({ change, select, openLinks, openPair, descend, cut, commit, zoom, drag, around }),
    [change, select, openLinks, openPair, descend, cut, commit, zoom, drag, around],
  );
}

// Tells the player what it plays on: the page's window and axis, and how a window is drawn and chosen.

interface StageInputs extends Pick<Actions, "drag" | "commit">, Pick<Stage, "prepare"> {
  fabric: number;
  play: Playback;
  clock: Clockwork | null;
}

export function useStage({ fabric, play, clock, prepare, drag, commit }: StageInputs) {
  const queries = useQueryClient();
  const { setStage } = play;
  useEffect(() => {
    setStage(
      clock && {
        window: clock.window,
        span: clock.span,
        stepMs: clock.stepMs,
        show: (window) => drag(window, false),
        busy: () => queries.isFetching({ queryKey: ["counters", fabric] }) > 0,
        prepare,
        rest: (window) => commit(window, false),
      },
    );
  }, [setStage, clock, drag, prepare, commit, queries, fabric]);
}

/** The chosen router; until one is chosen, the hottest one of the job (or machine) when the page was opened: it does not jump about. */
export function useSelection(
  values: Store<Values | null>,
  chosen: number | undefined,
  members: ReadonlySet<number> | null,
  scene: Scene | null,
): number | null {
  const [found, setFound] = useState<{ router: number; members: ReadonlySet<number> | null } | null>(null);
  useEffect(() => {
    const look = () => {
      const shown = values.get();
      if (!shown) return;
      setFound((old) => {
        if (old && old.members === members) return old;
        const router = hottestRouter(shown, members);
        return router === null ? old : { router, members };
      });
    };
    look();
    return values.subscribe(look);
  }, [values, members]);
  if (chosen !== undefined && scene && chosen < scene.machine.size) return chosen;
  return found?.router ?? (scene && scene.machine.size > 0 && !found ? fallback(values, scene) : null);
}

// Without a single counted router the first one is as good as any.
const fallback = (values: Store<Values | null>, scene: Scene) => (values.get() && scene.machine.size > 0 ? 0 : null);

// The keys of a fabric page: views, difference, windows, selection.

interface KeyInputs {
  scene: Scene | null;
  selected: number | null;
  clock: Clockwork | null;
  edge: number | null;
  views: View[];
  view: View;
  difference: boolean;
  actions: Actions;
}

export function useFabricKeys({ scene, selected, clock, edge, views, view, difference, actions }: KeyInputs) {
  const bindings = useMemo(() => {
    const { change, select, descend } = actions;
    const step = (dRow: number, dCol: number) => () => {
      if (!scene || selected === null) return;
      const next = neighbour(scene.arrangement, selected, dRow, dCol);
      if (next !== null) select(next);
    };
    const shift = (by: 1 | -1) => () => {
      if (!clock) return;
      const next = neighbouring(clock.window, by, edge ?? clock.window.to);
      if (next) change({ from: isoTime(next.from), to: isoTime(next.to) });
    };
    return [
      ...views.map((v, i) => ({ keys: String(i + 1), label: `View: ${v}`, run: () => change({ view: v }, true) })),
      { keys: "d", label: "Difference", run: () => clock && change({ diff: difference ? undefined : "on" }) },
      { keys: "l", label: "Follow live data", run: () => change({ from: undefined, to: undefined }) },
      { keys: "[", label: "Earlier window", run: shift(-1) },
      { keys: "]", label: "Later window", run: shift(1) },
      { keys: "ArrowLeft", label: "Move the selection (arrow keys)", run: step(0, -1) },
      { keys: "ArrowRight", label: "", run: step(0, 1), silent: true },
      { keys: "ArrowUp", label: "", run: step(-1, 0), silent: true },
      { keys: "ArrowDown", label: "", run: step(1, 0), silent: true },
      { keys: "Enter", label: "Closer", run: () => selected !== null && descend(selected) },
      {
        keys: "Escape",
        label: "Back",
        run: () => (view === "group" ? change({ view: undefined }, true) : change({ router: undefined })),
      },
    ];
  }, [scene, selected, clock, edge, views, view, difference, actions]);
  useKeys("Fabric", bindings);
}
