/** Which views a fabric has: from its kind alone. */
import type { Congestion, Fabric } from "../../api/shapes";
import type { Moment } from "../../api/queries";
import type { View } from "./address";
import { TableView } from "./TableView";
import { TilesView, type ViewProps } from "./TilesView";

const VIEWS_OF: Record<string, View[]> = {
  dragonfly: ["tiles", "table"],
};

export const viewsOf = (fabric: Pick<Fabric, "kind">): View[] => VIEWS_OF[fabric.kind] ?? ["tiles", "table"];

export function defaultView(_fabric: Fabric): View {
  return "tiles";
}

export interface PictureProps extends ViewProps {
  view: View;
  moment: Moment | null;
  congestion: Congestion | null;
  linkClass: string | null;
}

export function PictureView({ view, moment: _moment, congestion: _congestion, linkClass: _linkClass, ...props }: PictureProps) {
  if (view === "table") return <TableView {...props} />;
  return <TilesView {...props} />;
}
