/** Which views a fabric has: from its kind alone. */
import type { Moment } from "../../api/queries";
import type { Congestion, Fabric } from "../../api/shapes";
import type { ReactNode } from "react";
import type { FabricSearch, View } from "./address";
import { GroupView } from "./GroupView";
import { HotLinksView } from "./HotLinksView";
import { RingView } from "./RingView";
import { TableView } from "./TableView";
import { TilesView } from "../../machine/TilesView";
import { TreeView } from "./TreeView";
import type { ViewProps } from "../../machine/usePicture";

const VIEWS_OF: Record<string, View[]> = {
  dragonfly: ["tiles", "ring", "group", "table", "links"],
  fat_tree: ["tree", "tiles", "table", "links"],
};

export const viewsOf = (fabric: Pick<Fabric, "kind">): View[] => VIEWS_OF[fabric.kind] ?? ["tiles", "table", "links"];

/** Up to here the ring says more than tiles do. */
const RING_GROUPS = 16;

export function defaultView(fabric: Pick<Fabric, "kind" | "groups">): View {
  if (fabric.kind === "dragonfly") return fabric.groups.length <= RING_GROUPS ? "ring" : "tiles";
  return fabric.kind === "fat_tree" ? "tree" : "tiles";
}

export interface PictureProps extends ViewProps {
  view: View;
  moment: Moment;
  /** The window that this one is compared with, in difference mode. */
  earlier: Moment | null;
  congestion: Congestion | null;
  before: Congestion | null;
  linkClass: string | null;
  slice: number | null;
  onSlice: (group: number | null) => void;
  search: FabricSearch;
  change: (patch: Partial<FabricSearch>, push?: boolean) => void;
  /** Opens one link, or those of a pair of groups; stable, as the ring is laid out anew with it. */
  onLinks: (what: { link: number } | { pair: string }) => void;
  /** Of tiles that no matrix stands beside. */
  legend: ReactNode;
}

export function PictureView({
  view,
  moment,
  earlier,
  congestion,
  before,
  linkClass,
  slice,
  onSlice,
  search,
  change,
  onLinks,
  legend,
  ...props
}: PictureProps) {
  if (view === "table") return <TableView {...props} moment={moment} congestion={congestion} linkClass={linkClass} />;
  if (view === "links")
    return (
      <HotLinksView
        scene={props.scene}
        moment={moment}
        search={search}
        selected={props.selected}
        onSelect={props.onSelect}
        change={change}
      />
    );
  if (view === "ring")
    return (
      <RingView
        {...props}
        congestion={congestion}
        before={before}
        moment={moment}
        earlier={earlier}
        onLinks={onLinks}
      />
    );
  if (view === "group") return <GroupView {...props} moment={moment} earlier={earlier} linkClass={linkClass} />;
  if (view === "tree") return <TreeView {...props} moment={moment} earlier={earlier} slice={slice} onSlice={onSlice} />;
  return (
    <div className="tiles-view">
      <TilesView {...props} />
      {legend}
    </div>
  );
}
