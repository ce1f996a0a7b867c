/** The congested fraction of a simulated run: the plots of its advice or grids of links to nodes, each with what it shows; or why there is none. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { address } from "../../api/client";
import type { Task } from "../../api/tasks";
import { FractionLegend } from "../../charts/legends";
import { fractionColour } from "../../charts/scale";
import type { Column } from "../../components/DataTable";
import { PictureCard } from "../../components/PictureCard";
import { fraction } from "../../lib/format";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { BeforeAfterPlots } from "../recommendations/BeforeAfterPlots";
import "../recommendations/recommendations.css";
import { congestedOf, type FractionGrid } from "./congested";

export function CongestedFraction({ task }: { task: Task }) {
  const [slice, setSlice] = useState<number | null>(null);
  const congested = congestedOf(task);
  if (!congested) return null;
  if ("why" in congested) return <p className="muted card-note">Congested fraction: unknown. {congested.why}</p>;
  if ("grids" in congested) return <Grids grids={congested.grids} task={task.task_id} />;
  return (
    <>
      <BeforeAfterPlots id={congested.advice} slice={slice} onSlice={setSlice} />
      <p className="muted card-note">
        The share of the packets of the simulated jobs that waited on a link, with the loaded routes and with the new
        ones.{" "}
        <Link to="/advice" search={{ id: congested.advice }}>
          Advice {congested.advice}
        </Link>
      </p>
    </>
  );
}

interface Cell {
  label: string;
  x: number;
  y: number;
  value: number | null;
}

const columns: Column<Cell>[] = [
  { key: "label", header: "Case", value: (r) => r.label },
  { key: "y", header: "row", numeric: true, value: (r) => r.y },
  { key: "x", header: "column", numeric: true, value: (r) => r.x },
  { key: "value", header: "congested", numeric: true, value: (r) => r.value, render: (r) => fraction(r.value) },
];

const SIDE = 14;

function Grids({ grids, task }: { grids: FractionGrid[]; task: number }) {
  const theme = useStore(themeStore);
  const cells = grids.map(({ label, rows }) =>
    rows.flatMap((row, y) => row.map((value, x): Cell => ({ label, x, y, value }))),
  );
  return (
    <PictureCard
      title="Congested fraction"
      note="links to the nodes of one plane"
      name={`task-${task}-congested`}
      source={address(`/tasks/${task}`)}
      rows={cells.flat()}
      columns={columns}
      id={(r) => `${r.label} ${r.y} ${r.x}`}
      className="boxes-card"
      actions={<FractionLegend theme={theme} />}
    >
      <div className="plots">
        {grids.map(({ label, rows }, i) => (
          <figure key={label}>
            <figcaption>{label}</figcaption>
            <svg
              width={SIDE * Math.max(...rows.map((row) => row.length))}
              height={SIDE * rows.length}
              role="img"
              aria-label={`Congested fraction of the links to nodes, ${label}; the table lists the same figures`}
            >
              {cells[i]?.map(({ x, y, value }) => (
                <rect
                  key={`${y} ${x}`}
                  x={SIDE * x}
                  y={SIDE * y}
                  width={SIDE - 1}
                  height={SIDE - 1}
                  fill={value === null ? "none" : fractionColour(value, theme)}
                  stroke={value === null ? "var(--line)" : "none"}
                >
                  <title>{`row ${y}, column ${x}: ${value === null ? "too few packets" : fraction(value)}`}</title>
                </rect>
              ))}
            </svg>
          </figure>
        ))}
      </div>
      <p className="muted chart-key">
        Each square is a node: the share of the sampled packets of one phase that waited on the link to it. An empty
        square had too few packets.
      </p>
    </PictureCard>
  );
}
