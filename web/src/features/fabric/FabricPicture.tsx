/** The picture of a machine with the matrix of its groups, or why there is none yet. */
import type { ReactNode } from "react";
import type { Moment } from "../../api/queries";
import type { Congestion, Fabric } from "../../api/shapes";
import { ChangeLegend, HeatLegend } from "../../charts/legends";
import { refused, Unanswered, Waiting } from "../../components/Notice";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { TilesView, type ViewProps } from "../../machine/usePicture";
import type { Scene } from "../../machine/scene";
import { useSenders } from "../../machine/senders";
import { capital, wordsOf } from "../../machine/words";
import { GroupMatrix } from "./GroupMatrix";
import { GroupView } from "./GroupView";
import { HotLinksView } from "./HotLinksView";
import { RingView } from "./RingView";
import { TableView } from "./TableView";
import { TreeView } from "./TreeView";
import type { FabricSearch, View } from "./address";
import { againstText } from "./clockwork";
import type { Actions } from "./useActions";
import type { FabricJobs } from "./useJobs";
import type { FabricValues } from "./useValues";

// Which views a fabric has: from its kind alone.

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
  /** Of tiles without a matrix next to them. */
  legend: ReactNode;
}

function PictureView({
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
  if (view === "table")
    return (
      <TableView {...props} moment={moment} compared={earlier !== null} congestion={congestion} linkClass={linkClass} />
    );
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

/** Views without a matrix of groups next to them. */
const ALONE: View[] = ["table", "links", "tree"];

interface Props {
  fabric: Fabric;
  scene: Scene | null;
  search: FabricSearch;
  view: View;
  values: FabricValues;
  jobs: FabricJobs;
  selected: number | null;
  /** That of the selected router's figures: who sends is asked for it. */
  moment: Moment;
  /** The window in words. */
  window: string;
  difference: boolean;
  playing: boolean;
  actions: Actions;
}

export function FabricPicture(props: Props) {
  const { fabric, scene, search, view, values, jobs, selected, difference, playing, actions } = props;
  const words = wordsOf(fabric);
  const theme = useStore(themeStore);
  const senders = useSenders(fabric.id, props.moment);
  const groupMatrix = fabric.kind === "dragonfly" && !ALONE.includes(view) && (scene?.groups.length ?? 0) > 1;
  const selectedGroup = scene && selected !== null ? (scene.machine.group[selected] ?? null) : null;
  const label = `${capital(words.routers)} of ${fabric.name} coloured by ${difference ? "change of " : ""}${words.ratio}${props.window ? `, ${props.window}` : ""}. The Table view lists the same figures.`;
  return (
    <section className="card picture" aria-label="Picture">
      {!scene ? (
        <Waiting what="the machine" />
      ) : refused(values.asked) || (view === "table" && !values.congestion) ? (
        <Unanswered what={difference ? "both windows" : "the window"} asked={values.asked} />
      ) : (
        <PictureView
          view={view}
          scene={scene}
          values={values.store}
          selected={selected}
          jobs={jobs.overlays}
          jobsAt={jobs.at}
          senders={senders}
          label={label}
          onSelect={actions.select}
          onDescend={actions.descend}
          moment={values.moment}
          earlier={values.earlier}
          congestion={values.congestion}
          before={values.before}
          linkClass={search.class ?? null}
          slice={search.slice ?? null}
          onSlice={actions.cut}
          search={search}
          change={actions.change}
          onLinks={actions.openLinks}
          legend={
            groupMatrix ? null : values.before ? (
              <ChangeLegend theme={theme} against={againstText(search)} />
            ) : (
              <HeatLegend theme={theme} what="all classes" words={words.ratio} />
            )
          }
        />
      )}
      {groupMatrix && scene && (
        <GroupMatrix
          groups={scene.groups}
          words={words}
          congestion={values.congestion}
          before={values.before}
          selectedGroup={selectedGroup}
          jobGroups={jobs.groups}
          asked={values.asked}
          what={search.class ? `${search.class} links` : "all classes"}
          against={againstText(search)}
          onOpenPair={actions.openPair}
          playing={playing}
        />
      )}
    </section>
  );
}
