/** What is seen, as a file: the figures as CSV, the picture as SVG or PNG. Pictures leave in the light theme, whatever the screen shows. */
import type { Congestion, LinkFigures } from "../../api/shapes";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import type { MenuEntry } from "../../components/Menu";
import { tableCsv } from "../../components/DataTable";
import { captureEntries } from "../../lib/capture";
import { csv, save } from "../../lib/csv";
import type { Store } from "../../lib/store";
import { linkColumns, linkRows, linkScope } from "./LinkTables";
import type { View } from "./address";
import type { Scene, Values } from "../../machine/scene";
import { routerColumns, routerRows } from "./TableView";
import type { FabricJobs } from "./useJobs";

interface Inputs {
  scene: Scene;
  selected: number | null;
  /** Figures of counted links: of one group, or of all. */
  links: (group: number | null) => Promise<LinkFigures>;
  values: Store<Values | null>;
  view: View;
  jobs: FabricJobs;
  congestion: Congestion | null;
  subtitle: string;
}

const picture = () => document.querySelector<HTMLElement>('section[aria-label="Picture"]');

export function exportEntries({
  scene,
  selected,
  links,
  values,
  view,
  jobs,
  congestion,
  subtitle,
}: Inputs): MenuEntry[] {
  const { name } = scene.fabric;
  const rows = (): void => {
    const now = values.get();
    if (now)
      save(
        `${name}-routers.csv`,
        tableCsv(routerRows(scene, now, jobs.at), routerColumns(scene, now.window.factor !== null)),
      );
  };
  const pairs = (): void => {
    if (!congestion) return;
    const all = hottestPairs(pairsOf(scene.groups, congestion.groups));
    save(
      `${name}-groups.csv`,
      csv(
        ["src_group", "dst_group", "flits", "stall_cycles", "stall_per_flit"],
        all.map((p) => [p.src, p.dst, p.flits, p.stalls, p.ratio]),
      ),
    );
  };
  const group = linkScope(scene, selected);
  const part = group === null ? "" : `-g${group}`;
  const linked = (): void =>
    void links(group).then((figures) =>
      save(`${name}${part}-links.csv`, tableCsv(linkRows(scene, figures), linkColumns)),
    );
  return [
    { id: "routers", label: "Routers as CSV", onSelect: rows },
    { id: "links", label: group === null ? "Links as CSV" : `Links of g${group} as CSV`, onSelect: linked },
    ...(scene.groups.length > 1 ? [{ id: "groups", label: "Pairs of groups as CSV", onSelect: pairs }] : []),
    ...(view === "table"
      ? []
      : captureEntries(picture, `${name}-${view}`, () => ({
          title: `${name}${scene.fabric.simulated ? " (simulated)" : ""}`,
          subtitle,
        }))),
  ];
}
