/** Where the fastest variant of a replay moved the stalls: each router against the first variant. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import * as v from "valibot";
import { fabricsQuery, routersQuery } from "../../api/queries";
import { figures } from "../../api/shapes";
import { ChangeLegend } from "../../charts/legends";
import { panelFigures, routerWindow, sumsOf } from "../../charts/window";
import type { Column } from "../../components/DataTable";
import { refused, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { change, ratio } from "../../lib/format";
import { Store, useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { sceneOf, type Scene, type Values } from "../../machine/scene";
import { TilesView } from "../../machine/usePicture";
import { address } from "../../api/client";

const shape = v.looseObject({
  fabric: v.string(),
  job: v.string(),
  best: v.string(),
  routers: v.looseObject({ first: v.string(), best: v.string(), stalls_first: figures, stalls_best: figures }),
});

interface Row {
  router: number;
  name: string;
  first: number | null;
  best: number | null;
}

const columns: Column<Row>[] = [
  { key: "name", header: "Router", value: (r) => r.name },
  {
    key: "first",
    header: "stalls per flit, first variant",
    numeric: true,
    value: (r) => r.first,
    render: (r) => ratio(r.first),
  },
  {
    key: "best",
    header: "stalls per flit, fastest",
    numeric: true,
    value: (r) => r.best,
    render: (r) => ratio(r.best),
  },
  {
    key: "change",
    header: "change",
    numeric: true,
    value: (r) => (r.first && r.best !== null ? r.best / r.first : null),
    render: (r) => (r.first && r.best !== null ? change(r.best / r.first) : "–"),
  },
];
const NO_JOBS: string[] = [];
const none = () => NO_JOBS;

/** Ratios as sums of one flit a router: what is drawn is their quotient. */
const asSums = (values: (number | null)[]) =>
  sumsOf(values.length, {
    router: values.map((_, i) => i),
    flits: values.map((value) => (value === null ? null : 1)),
    stall_cycles: values,
    coverage: values.map(() => 1),
  });

export function WhatIfMap({ result, task }: { result: unknown; task: number }) {
  const parsed = useMemo(() => v.safeParse(shape, result), [result]);
  const name = parsed.success ? parsed.output.fabric : "";
  const machines = useQuery(fabricsQuery());
  const fabric = machines.data?.items.find((f) => f.name === name);
  const topology = useQuery({ ...routersQuery(name), enabled: fabric !== undefined });
  const routers = topology.data;
  const scene = useMemo(() => (fabric && routers ? sceneOf(fabric, routers) : null), [fabric, routers]);
  if (parsed.success && refused([machines, topology]))
    return <Unanswered what="the machine" asked={[machines, topology]} />;
  if (!parsed.success || !scene || parsed.output.routers.stalls_first.length !== scene.machine.size) return null;
  const { first, best, stalls_first, stalls_best } = parsed.output.routers;
  const rows = scene.machine.name.map((router, i): Row => ({
    router: i,
    name: router,
    first: stalls_first[i] ?? null,
    best: stalls_best[i] ?? null,
  }));
  return (
    <PictureCard
      title="Fastest compared with first"
      note={`${best} ÷ ${first}`}
      name={`what-if-${task}`}
      source={address(`/tasks/${task}`)}
      rows={rows}
      columns={columns}
      id={(r) => String(r.router)}
      className="whatif-map"
    >
      <Tiles scene={scene} first={stalls_first} best={stalls_best} />
    </PictureCard>
  );
}

function Tiles({ scene, first, best }: { scene: Scene; first: (number | null)[]; best: (number | null)[] }) {
  const navigate = useNavigate();
  const theme = useStore(themeStore);
  const store = useMemo(() => new Store<Values | null>(null), []);
  useEffect(() => {
    const [now, before] = [asSums(best), asSums(first)];
    const window = routerWindow(now, scene.machine.sampled, before);
    store.set({ window, figures: panelFigures(window, scene.arrangement, before), before });
  }, [store, scene, first, best]);
  const open = (router: number) =>
    void navigate({ to: "/fabric/$fabric", params: { fabric: scene.fabric.name }, search: { router } });
  return (
    <>
      <div className="whatif-tiles">
        <TilesView
          scene={scene}
          values={store}
          selected={null}
          jobs={[]}
          jobsAt={none}
          onSelect={open}
          onDescend={open}
          label={`Change of the stall ratio of each router of ${scene.fabric.name}; the table lists the same figures`}
        />
      </div>
      <div className="whatif-legend">
        <ChangeLegend theme={theme} against="the first variant" />
      </div>
    </>
  );
}
