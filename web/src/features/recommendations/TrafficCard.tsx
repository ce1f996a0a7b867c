/** Who sends to whom: true if it is known, reconstructed, and the difference. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { type TrafficMatrix, trafficMatrixQuery } from "../../api/recommendations";
import { contextOf, Layers, useFontReady, usePalette, useSize } from "../../charts/Canvas";
import { CHANGE } from "../../charts/scale";
import {
  cellAt,
  drawTraffic,
  frameHeight,
  largest,
  matrixFrame,
  type Cells,
  type MatrixPart,
} from "../../charts/trafficMatrix";
import type { Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { Segmented } from "../../components/choices";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { bytes, count } from "../../lib/format";
import { address } from "../../api/client";

const PARTS: { part: MatrixPart; title: string }[] = [
  { part: "true", title: "True" },
  { part: "reconstructed", title: "Reconstructed" },
  { part: "difference", title: "Reconstructed − true" },
];

interface Row {
  src: string;
  dst: string;
  values: Record<MatrixPart, number | null>;
}

const column = (part: MatrixPart, header: string): Column<Row> => ({
  key: part,
  header,
  numeric: true,
  value: (r) => r.values[part],
  render: (r) => signed(r.values[part]),
});
const columns: Column<Row>[] = [
  { key: "src", header: "From", value: (r) => r.src },
  { key: "dst", header: "To", value: (r) => r.dst },
  column("true", "true, bytes"),
  column("reconstructed", "reconstructed, bytes"),
  column("difference", "difference, bytes"),
];

const signed = (value: number | null): string =>
  value === null ? "–" : value < 0 ? `\u2212${bytes(-value)}` : bytes(value);

function rowsOf(matrix: TrafficMatrix): Row[] {
  return matrix.labels.flatMap((dst, r) =>
    matrix.labels.flatMap((src, c): Row[] => {
      const at = (cells: Cells | null) => cells?.[r]?.[c] ?? null;
      const values = {
        true: at(matrix.true),
        reconstructed: at(matrix.reconstructed),
        difference: at(matrix.difference),
      };
      return values.true || values.reconstructed ? [{ src, dst, values }] : [];
    }),
  );
}

export function TrafficCard({ id }: { id: number }) {
  const search = useSearch({ from: "/advice" });
  const navigate = useNavigate({ from: "/advice" });
  const palette = usePalette();
  const by = search.by ?? "router";
  const answer = useQuery(trafficMatrixQuery(id, by));
  const matrix = answer.data;
  const rows = useMemo(() => (matrix ? rowsOf(matrix) : []), [matrix]);
  const most = useMemo(() => (matrix ? Math.max(largest(matrix.true), largest(matrix.reconstructed)) : 0), [matrix]);
  if (answer.error && !matrix)
    return (
      <section className="card" aria-label="Traffic">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!matrix)
    return (
      <section className="card" aria-label="Traffic">
        <Waiting what="the traffic" />
      </section>
    );
  return (
    <PictureCard
      title="Communication matrix"
      name={`recommendation-${id}-traffic`}
      source={address(`/advice/${id}/matrix`, { by })}
      rows={rows}
      columns={columns}
      id={(r) => `${r.src} ${r.dst}`}
      className="traffic-card"
      note={`column sends, row receives · ${count(matrix.labels.length)} ${by === "group" ? "groups" : "leaves"} · largest ${bytes(most)}`}
      actions={
        <Segmented
          label="By"
          value={by}
          options={[
            { value: "router", label: "Leaves" },
            { value: "group", label: "Groups" },
          ]}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, id, by: next === "group" ? "group" : undefined }),
              replace: true,
            })
          }
        />
      }
    >
      <div className="matrices">
        {PARTS.map(({ part, title }) => (
          <figure key={part}>
            <figcaption>{title}</figcaption>
            {matrix[part] ? (
              <Matrix matrix={matrix} part={part} most={most} />
            ) : (
              <p className="muted card-note">
                {part === "reconstructed"
                  ? "Nothing was reconstructed."
                  : "The true traffic is known only in simulations."}
              </p>
            )}
          </figure>
        ))}
      </div>
      <p className="muted chart-key">
        darkness: bytes, four decades below the largest · difference as a share of the largest:{" "}
        {["−10 %", "−1 %", "−0.1 %", "right", "+0.1 %", "+1 %", "+10 %"].map((name, i) => (
          <span key={name} className="matrix-key">
            <span className="swatch" style={{ background: CHANGE[palette.theme][i] }} aria-hidden="true" />
            {name}
          </span>
        ))}
      </p>
    </PictureCard>
  );
}

function Matrix({ matrix, part, most }: { matrix: TrafficMatrix; part: MatrixPart; most: number }) {
  const [box, room] = useSize();
  const palette = usePalette();
  const font = useFontReady();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const n = matrix.labels.length;
  const width = Math.min(room?.width ?? 0, 460);
  const frame = useMemo(() => matrixFrame(n, width), [n, width]);
  const size = useMemo(() => ({ width, height: Math.ceil(frameHeight(frame)) }), [width, frame]);
  const cells = matrix[part];
  useLayoutEffect(() => {
    if (base.current && cells && size.width > 60)
      drawTraffic(contextOf(base.current, size), frame, part, cells, most, palette);
  }, [cells, frame, size, part, most, palette, font]);
  useEffect(() => hideTooltip, []);
  const describe = (column: number, row: number) => {
    const at = (all: Cells | null) => signed(all?.[row]?.[column] ?? null);
    return `${matrix.labels[column]} → ${matrix.labels[row]}\ntrue ${at(matrix.true)}\nreconstructed ${at(matrix.reconstructed)}\ndifference ${at(matrix.difference)}`;
  };
  return (
    <div ref={box} className="matrix-room">
      {width > 60 && (
        <Layers
          size={size}
          base={base}
          overlay={overlay}
          label={`${part === "difference" ? "Difference of the" : part === "true" ? "True" : "Reconstructed"} traffic between ${n} senders and receivers; the table lists the same figures`}
          onHover={(place) => {
            const at = place && cellAt(frame, place.x, place.y);
            if (place && at) showTooltip(place.clientX, place.clientY, describe(at.column, at.row));
            else hideTooltip();
          }}
        />
      )}
    </div>
  );
}
