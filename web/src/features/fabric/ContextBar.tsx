/** Title, window and controls of a fabric page. */
import { memo } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { linkFiguresQuery, type Moment } from "../../api/queries";
import type { Congestion, Fabric } from "../../api/shapes";
import { JobKey } from "../../charts/legends";
import { CopyMoment } from "../../components/buttons";
import { Icon } from "../../components/Icon";
import { Menu, Segmented } from "../../components/choices";
import { answered, refused, Unanswered } from "../../components/Notice";
import { plural } from "../../lib/format";
import { useMedia } from "../../lib/screen";
import { isoTime, parseTime } from "../../lib/time";
import type { Store } from "../../lib/store";
import { AXES, CLASSES, type FabricSearch, type View } from "./address";
import { AgainstMenu, AxisMenu } from "./ContextMenus";
import { type Clockwork } from "./clockwork";
import { exportEntries } from "./exports";
import type { Scene, Values } from "../../machine/scene";
import { capital } from "../../machine/words";
import type { FabricJobs } from "./useJobs";

interface Props {
  fabric: Fabric;
  scene: Scene | null;
  search: FabricSearch;
  view: View;
  views: View[];
  /** What the picture shows, in two short lines: the bar has room for both. */
  shown: [string, string];
  jobs: FabricJobs;
  values: Store<Values | null>;
  congestion: Congestion | null;
  selected: number | null;
  moment: Moment;
  /** Null if there is no time to choose from. */
  clock: Clockwork | null;
  onMark: (at: number) => void;
  change: (patch: Partial<FabricSearch>, push?: boolean) => void;
}

export const ContextBar = memo(function ContextBar({
  fabric,
  scene,
  search,
  view,
  views,
  shown,
  jobs,
  values,
  congestion,
  selected,
  moment,
  clock,
  onMark,
  change,
}: Props) {
  const queries = useQueryClient();
  const links = (group: number | null) =>
    queries.fetchQuery(
      linkFiguresQuery(fabric.id, moment, {
        ...(group !== null && { group }),
        ...(search.class && { class: search.class }),
      }),
    );
  const first = parseTime(fabric.first_ts);
  const chosen = [...new Set(search.job?.split(",").filter(Boolean))];
  const shownJobs = new Set([...jobs.overlays, ...jobs.failed].map((job) => job.id));
  // A job's line is there before its name comes.
  const coming = chosen.filter((id) => !shownJobs.has(id));
  const drop = (id: string) => change({ job: chosen.filter((job) => job !== id).join(",") || undefined });
  // With more than the usual controls in one line, each gets less room; the address says so at once, so nothing moves later.
  const crowded = search.diff === "on" || chosen.length > 0 || search.from !== undefined;
  return (
    <div className="context" data-crowded={crowded || undefined}>
      <div className="fabric-title">
        <h1>Fabric</h1>
        {fabric.simulated && <span className="tag">simulated</span>}
        <span className="subtitle">
          {shown[0]} <br />
          <span className="fabric-dot">· </span>
          {shown[1]}
        </span>
      </div>
      <Segmented
        label="View"
        value={view}
        options={views.map((v) => ({ value: v, label: capital(v) }))}
        onChange={(v) => change({ view: v }, true)}
      />
      {fabric.kind === "dragonfly" && fabric.technology === "cray_xc" && (
        <ClassChoice chosen={search.class} short={crowded} change={change} />
      )}
      {fabric.kind === "torus" && view === "tiles" && (scene?.arrangement.panels.length ?? 0) > 1 && (
        <Segmented
          label="Slices across"
          value={search.axis ?? "z"}
          options={AXES.map((axis) => ({ value: axis, label: axis, title: `Planes across ${axis}` }))}
          onChange={(axis) => change({ axis: axis === "z" ? undefined : axis })}
        />
      )}
      {clock && (
        <Segmented
          label="Mode"
          value={search.diff ?? "now"}
          onChange={(v) => change({ diff: v === "on" ? "on" : undefined })}
          options={[
            { value: "now", label: "Now" },
            {
              value: "on",
              label: "Difference",
              title:
                "Compare this window with the previous one. To choose another, Shift-drag on the time axis or enter dates",
            },
          ]}
        />
      )}
      {clock && search.diff && (
        <AgainstMenu fabric={fabric.id} first={first} clock={clock} search={search} change={change} onMark={onMark} />
      )}
      {clock && <AxisMenu clock={clock} first={first} search={search} change={change} />}
      {jobs.overlays.map((job, dash) => (
        <span className="chip" key={job.id}>
          <JobKey dash={dash} />
          <Link to="/jobs/$job" params={{ job: job.id }} search={{ at: search.to }} title={job.label}>
            {job.id}
            <span className="chip-name">{job.label.slice(job.id.length)}</span>
          </Link>
          <button aria-label={`Hide job ${job.id}`} onClick={() => drop(job.id)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      {coming.map((id, i) => (
        <span className="chip" key={id}>
          <JobKey dash={jobs.overlays.length + i} />
          <span className="chip-link">{id}</span>
          <button aria-label={`Hide job ${id}`} onClick={() => drop(id)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      {jobs.failed.map((job) => (
        <span className="chip" key={job.id} role="status" title={job.reason}>
          <span className="ellipsis alarm">{job.text}</span>
          <button aria-label={`Take job ${job.id} out of the address`} onClick={() => drop(job.id)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      {refused(jobs.asked) && <Unanswered line what="the jobs" asked={jobs.asked} />}
      {jobs.overlays.length + coming.length === 0 && !refused(jobs.asked) && (
        <Menu
          trigger={
            <>
              Jobs
              <Icon name="down" />
            </>
          }
          heading="Jobs running in this window"
          empty={answered(jobs.asked) ? "No known jobs at that time" : "Loading the jobs…"}
          entries={jobs.present.map((job) => ({
            id: String(job.job_pk),
            label: (
              <span className="ellipsis">
                {job.job_id} {job.name ?? ""}
              </span>
            ),
            detail: job.nodes === null ? undefined : plural(job.nodes, "node"),
            onSelect: () => change({ job: [...chosen, job.job_id].join(",") }),
          }))}
        />
      )}
      {clock && search.to && chosen[0] && (
        <Link
          className="button"
          to="/lab"
          search={{ replay: "on", fabric: fabric.name, at: search.to, job: chosen[0] }}
          title="Simulate this window with the job placed or routed differently"
        >
          Replay
        </Link>
      )}
      {search.from && (
        <button className="button" onClick={() => change({ from: undefined, to: undefined })}>
          Live
        </button>
      )}
      {clock && (
        <CopyMoment
          search={() => ({
            from: isoTime(clock.window.from),
            to: isoTime(clock.window.to),
            span: search.span,
            router: selected ?? undefined,
          })}
        />
      )}
      <Menu
        trigger={
          <>
            Export
            <Icon name="down" />
          </>
        }
        entries={
          scene
            ? exportEntries({
                scene,
                selected,
                links,
                values,
                view,
                jobs,
                moment,
                linkClass: search.class ?? null,
                congestion,
                subtitle: shown.join(" · "),
              })
            : []
        }
        empty="Nothing to export yet"
      />
    </div>
  );
});

interface ClassChoiceProps {
  chosen: FabricSearch["class"];
  /** As a menu, if there is no room for all of them in a row. */
  short: boolean;
  change: Props["change"];
}

function ClassChoice({ chosen, short, change }: ClassChoiceProps) {
  const narrow = useMedia("(max-width: 1700px)");
  const options = [{ value: "all", label: "All" }, ...CLASSES.map((c) => ({ value: c, label: capital(c) }))];
  const choose = (value: string) => change({ class: CLASSES.find((c) => c === value) });
  if (!short || !narrow)
    return <Segmented label="Link class" value={chosen ?? "all"} onChange={choose} options={options} />;
  return (
    <Menu
      heading="Link class"
      trigger={
        <>
          {chosen ? capital(chosen) : "All links"}
          <Icon name="down" />
        </>
      }
      entries={options.map(({ value, label }) => ({ id: value, label, onSelect: () => choose(value) }))}
    />
  );
}
