/** The picture of a machine with the matrix of its groups, or why there is none yet. */
import { ChangeLegend, HeatLegend } from "../../charts/legends";
import type { Moment } from "../../api/queries";
import type { Fabric } from "../../api/shapes";
import { refused, Unanswered, Waiting } from "../../components/Notice";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import type { Scene } from "../../machine/scene";
import { useSenders } from "../../machine/senders";
import { capital, wordsOf } from "../../machine/words";
import type { FabricSearch, View } from "./address";
import { againstText } from "./clockwork";
import { GroupMatrix } from "./GroupMatrix";
import type { Actions } from "./useActions";
import type { FabricJobs } from "./useJobs";
import type { FabricValues } from "./useValues";
import { PictureView } from "./views";

/** Views that no matrix of groups stands beside. */
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
