/** What is seen, as a file: the figures as CSV, the picture as SVG or PNG. Pictures leave in the light theme, whatever the screen shows. */
import { capital, type Words, wordsOf } from "../../machine/words";
import type { Congestion, LinkFigures } from "../../api/shapes";
import { hottestPairs, pairsOf, type Pair } from "../../charts/matrix";
import type { MenuEntry } from "../../components/choices";
import type { Column } from "../../components/DataTable";
import { captureEntries } from "../../lib/capture";
import type { Store } from "../../lib/store";
import { linkColumns, linkRows, linkScope, routerColumns, routerRows } from "./TableView";
import type { View } from "./address";
import type { Scene, Values } from "../../machine/scene";
import type { FabricJobs } from "./useJobs";
import { address } from "../../api/client";
import { type Moment, momentParameters } from "../../api/queries";
import { tableEntries } from "../../components/TableExport";

interface Inputs {
  scene: Scene;
  selected: number | null;
  /** Figures of counted links: of one group, or of all. */
  links: (group: number | null) => Promise<LinkFigures>;
  values: Store<Values | null>;
  view: View;
  jobs: FabricJobs;
  moment: Moment;
  linkClass: string | null;
  congestion: Congestion | null;
  subtitle: string;
}

const pairColumns = (words: Words): Column<Pair>[] => [
  { key: "src", header: "src_group", value: (p) => p.src },
  { key: "dst", header: "dst_group", value: (p) => p.dst },
  { key: "flits", header: words.flits, value: (p) => p.flits },
  { key: "stalls", header: words.stalls, value: (p) => p.stalls },
  { key: "ratio", header: words.ratio, value: (p) => p.ratio },
];

const picture = () => document.querySelector<HTMLElement>('section[aria-label="Picture"]');

export function exportEntries({
  scene,
  selected,
  links,
  values,
  view,
  jobs,
  moment,
  linkClass,
  congestion,
  subtitle,
}: Inputs): MenuEntry[] {
  const { name } = scene.fabric;
  const words = wordsOf(scene.fabric);
  const group = linkScope(scene, selected);
  const asked = { ...momentParameters(moment), class: linkClass };
  const path = `/fabrics/${scene.fabric.id}`;
  return [
    ...tableEntries({
      name: `${name}-${words.routers}`,
      what: capital(words.routers),
      rows: () => {
        const now = values.get();
        return now ? routerRows(scene, now, jobs.at) : [];
      },
      columns: routerColumns(scene, values.get()?.window.factor != null),
      source: address(`${path}/stalls`, asked),
    }),
    ...tableEntries({
      name: `${name}${group === null ? "" : `-g${group}`}-links`,
      what: group === null ? "Links" : `Links of g${group}`,
      rows: async () => linkRows(scene, await links(group)),
      columns: linkColumns(words),
      source: address(`${path}/stalls/links`, { ...asked, group }),
    }),
    ...(scene.groups.length > 1
      ? tableEntries({
          name: `${name}-groups`,
          what: "Pairs of groups",
          rows: () => (congestion ? hottestPairs(pairsOf(scene.groups, congestion.groups)) : []),
          columns: pairColumns(words),
          source: address(`${path}/stalls`, asked),
        })
      : []),
    ...(view === "table"
      ? []
      : captureEntries(picture, `${name}-${view}`, () => ({
          title: `${name}${scene.fabric.simulated ? " (simulated)" : ""}`,
          subtitle,
        }))),
  ];
}
