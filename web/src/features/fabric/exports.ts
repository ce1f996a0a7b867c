/** What is seen, as a file: the table as CSV, the picture as PNG in the light theme. */
import type { MenuEntry } from "../../components/Menu";
import { tableCsv } from "../../components/DataTable";
import { save } from "../../lib/csv";
import type { Store } from "../../lib/store";
import type { View } from "./address";
import type { Scene, Values } from "./scene";
import { routerColumns, routerRows } from "./TableView";
import type { FabricJobs } from "./useJobs";

export function exportEntries(scene: Scene, values: Store<Values | null>, _view: View, jobs: FabricJobs): MenuEntry[] {
  const shown = values.get();
  if (!shown) return [];
  return [{
    id: "csv", label: "Routers as CSV",
    onSelect: () => {
      const now = values.get();
      if (!now) return;
      const rows = routerRows(scene, now, jobs.at);
      save(`${scene.fabric.name}-routers.csv`, tableCsv(rows, routerColumns(scene, now.window.factor !== null)));
    },
  }];
}
