/** Where the job stands: the parts of the machine that it touches, its outline, and a neighbour's dashed one. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useLayoutEffect, useMemo, useRef } from "react";
import { address } from "../../api/client";
import { congestionQuery, jobQuery, type Moment, momentParameters, routersQuery, runsQuery } from "../../api/queries";
import type { Fabric, Run } from "../../api/shapes";
import { contextOf, Layers, useFontReady, usePalette, useSize } from "../../charts/Canvas";
import { arrange, cellsOf, type Machine, outline, selectPanels } from "../../charts/arrange";
import { HeatLegend, JobKey } from "../../charts/legends";
import { drawOverlay, rectShape } from "../../charts/cells";
import { tileAt, tileRect, TilesDrawing, tilesLayout } from "../../charts/tiles";
import { panelFigures, routerWindow, sumsOf } from "../../charts/window";
import type { Column } from "../../components/DataTable";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { answered, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { count, duration, plural, ratio } from "../../lib/format";
import { moment, moment as momentText, parseTime } from "../../lib/time";
import { capital, wordsOf } from "../../machine/words";

interface CompareMenuProps {
  run: Run;
  compare: string | undefined;
  onChange: (compare: string | undefined) => void;
}

/** Other runs of the same program and size, to compare with this one. */
export function CompareMenu({ run, compare, onChange }: CompareMenuProps) {
  const runs = useQuery(runsQuery(run.exe));
  const chosen = compare?.split(",").filter(Boolean) ?? [];
  const alike = (runs.data?.items ?? []).filter((other) => other.run_id !== run.run_id && other.ranks === run.ranks);
  return (
    <Menu
      trigger={
        <>
          {chosen.length ? `Compared with ${plural(chosen.length, "run")}` : "Compare"}
          <Icon name="down" />
        </>
      }
      heading="Other runs of the same program and size"
      empty={runs.data ? "No runs recorded" : runs.error ? runs.error.message : "Loading the runs…"}
      entries={alike.map((other) => {
        const id = String(other.run_id);
        const start = parseTime(other.start);
        return {
          id,
          label: (
            <>
              {chosen.includes(id) ? "✓ " : ""}
              {other.job_id ? `job ${other.job_id}` : (other.run_key ?? `run ${id}`)}
            </>
          ),
          detail: `${start === null ? "" : `${moment(start, Date.now())} · `}${duration(other.time_s)}`,
          onSelect: () =>
            onChange(
              (chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id].slice(-3)).join(",") || undefined,
            ),
        };
      })}
    />
  );
}

interface Props {
  fabric: Fabric;
  job: string;
  routers: number[];
  neighbour: string | null;
  moment: Moment;
  /** The same as the address of the fabric page holds it. */
  when: { from?: string; to?: string };
}

const MOST_PANELS = 16;

interface Row {
  router: number;
  name: string;
  panel: string;
  ratio: number | null;
  here: string;
}

const columnsOf = (fabric: Fabric, noun: string): Column<Row>[] => [
  { key: "name", header: capital(wordsOf(fabric).router), value: (r) => r.name },
  { key: "panel", header: noun, value: (r) => r.panel },
  { key: "ratio", header: wordsOf(fabric).ratio, numeric: true, value: (r) => r.ratio, render: (r) => ratio(r.ratio) },
  { key: "here", header: "Jobs", value: (r) => r.here },
];

export function Placement({ fabric, job, routers, neighbour, moment, when }: Props) {
  const topology = useQuery(routersQuery(fabric.name));
  const congestion = useQuery(congestionQuery(fabric.id, moment, null));
  // Its own page knows where it stood, also when it left before the minutes that are drawn.
  const other = useQuery({ ...jobQuery(neighbour ?? ""), enabled: neighbour !== null });
  const palette = usePalette();
  const font = useFontReady();
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);

  const place = useMemo(() => {
    const data = topology.data;
    if (!data) return null;
    const machine: Machine = { ...data, kind: fabric.kind, size: data.router.length };
    const whole = arrange(machine);
    const share = new Map<number, number>();
    for (const router of routers) {
      const panel = whole.panelOf[router];
      if (panel !== undefined) share.set(panel, (share.get(panel) ?? 0) + 1);
    }
    const panels = [...share]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_PANELS)
      .map(([panel]) => panel)
      .sort((a, b) => a - b);
    const { arrangement, members } = selectPanels(whole, panels);
    return { machine, arrangement, members, index: cellsOf(arrangement), left: share.size - panels.length };
  }, [topology.data, fabric.kind, routers]);
  const layout = useMemo(
    () => (place && size ? tilesLayout(place.arrangement, size.width, size.height) : null),
    [place, size],
  );
  const neighbours = useMemo(() => {
    const routers = neighbour === null ? null : other.data?.routers;
    return place && routers ? new Set(routers.filter((router) => place.members.has(router))) : null;
  }, [other.data, neighbour, place]);
  const left = parseTime(other.data?.end);
  const gone =
    neighbour !== null && left !== null && moment.at !== null && left < moment.at
      ? `, left at ${momentText(left, moment.at)}`
      : "";
  const window = useMemo(
    () =>
      place && congestion.data
        ? routerWindow(sumsOf(place.machine.size, congestion.data.routers), place.machine.sampled)
        : null,
    [place, congestion.data],
  );

  useLayoutEffect(() => {
    if (!place || !layout || !size || !base.current || !overlay.current || !window) return;
    const codes = window.codes.map((code, router) => (place.members.has(router) ? code : 255));
    const drawing = new TilesDrawing(contextOf(base.current, size), layout, place.arrangement, palette);
    drawing.draw({ ...window, codes }, panelFigures(window, place.arrangement), {
      selectedPanel: null,
      jobPanels: new Set(),
    });
    const own = new Set(routers.filter((router) => place.members.has(router)));
    const jobs = [{ edges: outline(place.arrangement, place.index, own), dash: 0 }];
    if (neighbours?.size) jobs.push({ edges: outline(place.arrangement, place.index, neighbours), dash: 1 });
    const shape = rectShape((router) => tileRect(layout, place.arrangement, router));
    drawOverlay(contextOf(overlay.current, size), shape, { jobs, selected: null, hovered: null }, palette);
  }, [place, layout, size, window, palette, font, routers, neighbours]);

  const rows = useMemo(
    () =>
      place
        ? [...new Set([...routers, ...(neighbours ?? [])])].map((router): Row => {
            const value = window?.ratio[router] ?? NaN;
            return {
              router,
              name: place.machine.name[router] ?? "",
              panel: place.arrangement.panels[place.arrangement.panelOf[router] ?? 0]?.label ?? "",
              ratio: Number.isNaN(value) ? null : value,
              here: [routers.includes(router) && job, neighbours?.has(router) && neighbour].filter(Boolean).join(" "),
            };
          })
        : [],
    [place, routers, neighbours, window, job, neighbour],
  );
  const noun = place?.arrangement.noun ?? "group";
  const columns = useMemo(() => columnsOf(fabric, capital(noun)), [fabric, noun]);
  return (
    <PictureCard
      title="Placement"
      name={`job-${job}-placement`}
      source={address(`/fabrics/${fabric.id}/stalls`, momentParameters(moment))}
      className="job-placement"
      rows={rows}
      columns={columns}
      id={(r) => String(r.router)}
      note={`${plural(routers.length, wordsOf(fabric).router, wordsOf(fabric).routers)}${place?.left ? `, ${count(place.left)} more ${noun}s not drawn` : ""}`}
      actions={
        <Link
          to="/fabric/$fabric"
          params={{ fabric: fabric.name }}
          search={{ job: neighbour ? `${job},${neighbour}` : job, ...when }}
        >
          Open
        </Link>
      }
    >
      <Unanswered what={`the ${wordsOf(fabric).routers} and their counters`} asked={[topology, congestion]} />
      <div ref={box} className="placement-box" hidden={!answered([topology, congestion])}>
        {size && (
          <Layers
            size={size}
            base={base}
            overlay={overlay}
            label={`Routers of job ${job} outlined on the ${noun}s it touches, coloured by ${wordsOf(fabric).ratio}`}
            onHover={(at) => {
              const router =
                at && place && layout ? tileAt(layout, place.arrangement, place.index, at.x, at.y)?.router : null;
              if (at && router != null)
                showTooltip(
                  at.clientX,
                  at.clientY,
                  `${place?.machine.name[router] ?? ""}\n${ratio(window?.ratio[router])} ${wordsOf(fabric).amount}`,
                );
              else hideTooltip();
            }}
          />
        )}
      </div>
      <div className="placement-key">
        <span>
          <JobKey dash={0} /> this job
        </span>
        {neighbours && (
          <span>
            <JobKey dash={1} /> {neighbour}
            {gone}
            {neighbours.size === 0 && ": on none of the nodes shown"}
          </span>
        )}
        {neighbour !== null && <Unanswered line what={`job ${neighbour}`} asked={[other]} />}
        <HeatLegend
          theme={palette.theme}
          what={fabric.snapshot ? "one sample" : "last minutes"}
          words={wordsOf(fabric).ratio}
          width={200}
        />
      </div>
    </PictureCard>
  );
}
