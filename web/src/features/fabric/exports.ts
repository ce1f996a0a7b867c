/** What is seen, as a file: the figures as CSV, the picture as SVG or PNG. Pictures leave in the light theme, whatever the screen shows. */
import type { Congestion } from "../../api/shapes";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import type { MenuEntry } from "../../components/Menu";
import { tableCsv } from "../../components/DataTable";
import { captureEntries } from "../../lib/capture";
import { csv, save } from "../../lib/csv";
import type { Store } from "../../lib/store";
import type { View } from "./address";
import type { Scene, Values } from "./scene";
import { routerColumns, routerRows } from "./TableView";
import type { FabricJobs } from "./useJobs";

interface Inputs {
  scene: Scene;
  values: Store<Values | null>;
  view: View;
  jobs: FabricJobs;
  congestion: Congestion | null;
  subtitle: string;
}

const picture = () => document.querySelector<HTMLElement>('section[aria-label="Picture"]');

export function exportEntries({ scene, values, view, jobs, congestion, subtitle }: Inputs): MenuEntry[] {
  const { name } = scene.fabric;
  const rows = (): void => {
    const now = values.get();
    if (now) save(`${name}-routers.csv`, tableCsv(routerRows(scene, now, jobs.at), routerColumns(scene, now.window.factor !== null)));
  };
  const pairs = (): void => {
    if (!congestion) return;
    const all = hottestPairs(pairsOf(scene.groups, congestion.groups));
    save(`${name}-groups.csv`, csv(["src_group", "dst_group", "flits", "stall_cycles", "stall_per_flit"], all.map((p) => [p.src, p.dst, p.flits, p.stalls, p.ratio])));
  };
  return [
    { id: "routers", label: "Routers as CSV", onSelect: rows },
    ...(scene.groups.length > 1 ? [{ id: "groups", label: "Pairs of groups as CSV", onSelect: pairs }] : []),
    ...(view === "table" ? [] : captureEntries(picture, `${name}-${view}`, () => ({ title: `${name}${scene.fabric.simulated ? " (simulated)" : ""}`, subtitle }))),
  ];
}
