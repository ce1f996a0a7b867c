/** The keys of a fabric page: views, difference, windows, selection. */
import { useMemo } from "react";
import { neighbour } from "../../charts/arrange";
import { useKeys } from "../../lib/keys";
import { isoTime } from "../../lib/time";
import type { Scene } from "../../machine/scene";
import type { View } from "./address";
import { neighbouring, type Clockwork } from "./clockwork";
import type { Actions } from "./useActions";

interface Given {
  scene: Scene | null;
  selected: number | null;
  clock: Clockwork | null;
  edge: number | null;
  views: View[];
  view: View;
  difference: boolean;
  actions: Actions;
}

export function useFabricKeys({ scene, selected, clock, edge, views, view, difference, actions }: Given) {
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
      { keys: "d", label: "Difference", run: () => change({ diff: difference ? undefined : "on" }) },
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
