/** What a reader does on a fabric page: each changes the address, and a drag draws at once. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { isoTime, type TimeWindow } from "../../lib/time";
import type { FabricSearch, View } from "./address";
import { aroundMark, comparisonOf, type Clockwork } from "./clockwork";

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
      void navigate({ to: ".", search: (old) => ({ ...old, ...patch }), replace: !push });
    },
    [navigate],
  );
  const select = useCallback((router: number) => change({ router }), [change]);
  const openLinks = useCallback(
    (what: { link: number } | { pair: string }) =>
      change({ view: "links", pair: undefined, link: undefined, ...what }, true),
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
      if (comparing) change({ diff: "on", cfrom: isoTime(window.from), cto: isoTime(window.to) });
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
