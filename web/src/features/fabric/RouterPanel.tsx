/** The selected router: its figures, its tiles, its worst links and who computes on it. */
import { classText, wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, useMemo } from "react";
import { type Moment, momentParameters, routerQuery, timeseriesQuery } from "../../api/queries";
import type { RouterDetail, Tile } from "../../api/shapes";
import { heatColour, textOn, type Theme } from "../../charts/scale";
import { Sparkline } from "../../charts/Sparkline";
import type { Column } from "../../components/DataTable";
import { ClassGlyph, classPath, Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { Failure, Unanswered, Waiting } from "../../components/Notice";
import { captureEntries } from "../../lib/capture";
import { plural, ratio, shortRatio, si } from "../../lib/format";
import { intervalText, parseTime, type TimeWindow } from "../../lib/time";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { placeOf, shortPlace, type Scene } from "../../machine/scene";
import { SendersBlock } from "./SendersBlock";
import { address } from "../../api/client";
import { tableEntries } from "../../components/TableExport";

interface Props {
  scene: Scene;
  router: number;
  moment: Moment;
  span: TimeWindow | null;
  /** The end of a chosen window; none while the page is live. */
  at: string | undefined;
  onSelect: (router: number) => void;
}

/** Not drawn again for each change of the address. */
export const RouterPanel = memo(function RouterPanel({ scene, router, moment, span, at, onSelect }: Props) {
  const detail = useQuery(routerQuery(scene.fabric.id, router, moment));
  const theme = useStore(themeStore);
  const shown = detail.data?.router === router ? detail.data : null;
  const place = placeOf(scene, router);
  const name = scene.machine.name[router] ?? `${wordsOf(scene.fabric).router} ${router}`;
  return (
    <aside className="card router-panel" aria-label={`Selected ${wordsOf(scene.fabric).router}`}>
      <div className="router-head">
        <h2 title={name}>{name}</h2>
        {place !== name && <span className="subtitle">{place}</span>}
        {shown && <ExportMenu detail={shown} scene={scene} name={name} moment={moment} />}
      </div>
      {detail.error && !shown ? (
        <Failure error={detail.error} retry={() => void detail.refetch()} />
      ) : shown ? (
        <Body detail={shown} scene={scene} span={span} theme={theme} moment={moment} at={at} onSelect={onSelect} />
      ) : (
        <Waiting what={`the ${wordsOf(scene.fabric).router}`} />
      )}
    </aside>
  );
});

function Body({
  detail,
  scene,
  span,
  theme,
  moment,
  at,
  onSelect,
}: {
  detail: RouterDetail;
  scene: Scene;
  span: TimeWindow | null;
  theme: Theme;
  moment: Moment;
  at: string | undefined;
  onSelect: (router: number) => void;
}) {
  const windowS = moment.windowMs / 1000;
  const network = detail.tiles.filter((tile) => tile.class !== "terminal" && tile.class !== "host");
  const counted = network.filter((tile) => tile.flits !== null);
  const flits = counted.reduce((sum, tile) => sum + (tile.flits ?? 0), 0);
  const stalls = counted.reduce((sum, tile) => sum + (tile.stall_cycles ?? 0), 0);
  const worst = counted.filter((tile) => (tile.flits ?? 0) > 0).sort((a, b) => (b.ratio ?? 0) - (a.ratio ?? 0));
  const noun = scene.fabric.technology === "cray_xc" ? "tile" : "port";
  const words = wordsOf(scene.fabric);
  const rate = !scene.fabric.snapshot && windowS > 0;
  return (
    <>
      <div className="router-figures">
        <Figure value={counted.length ? ratio(flits > 0 ? stalls / flits : 0) : "–"} label={words.ratio} />
        <Figure
          value={counted.length ? si(rate ? flits / windowS : flits) : "–"}
          label={rate ? `${words.flits} per second` : words.flits}
        />
        <Figure value={worst[0] ? ratio(worst[0].ratio) : "–"} label={`worst ${noun}`} />
      </div>
      <div className="router-pictures">
        <TileGrid
          tiles={detail.tiles}
          technology={scene.fabric.technology}
          theme={theme}
          scene={scene}
          onSelect={onSelect}
        />
      </div>
      <p className="tile-key">
        {[...new Set(detail.tiles.map((tile) => tile.class).filter((c): c is string => c !== null))].map((c) => (
          <span key={c}>
            <ClassGlyph linkClass={c} /> {classText(c)}
          </span>
        ))}
        <span className="muted">dashed: not counted</span>
      </p>
      <table className="tight">
        <thead>
          <tr>
            <th scope="col">Worst {noun}s</th>
            <th scope="col">to</th>
            <th scope="col" className="numeric">
              {rate ? `${words.flits}/s` : words.flits}
            </th>
            <th scope="col" className="numeric">
              {words.ratio}
            </th>
          </tr>
        </thead>
        <tbody>
          {worst.slice(0, 5).map((tile) => (
            <tr key={tile.port}>
              <td>
                <ClassGlyph linkClass={tile.class} /> {tile.name ?? tile.port}
              </td>
              <td>
                <Peer tile={tile} scene={scene} onSelect={onSelect} />
              </td>
              <td className="numeric">{si(rate ? (tile.flits ?? 0) / windowS : tile.flits)}</td>
              <td className="numeric">
                <span
                  className="swatch"
                  style={{ background: heatColour(tile.ratio ?? 0, theme) }}
                  aria-hidden="true"
                />
                {ratio(tile.ratio)}
              </td>
            </tr>
          ))}
          {!worst.length && (
            <tr>
              <td
                colSpan={4}
                className="muted"
              >{`No ${noun} of this ${words.router} has counters${rate ? " in this window" : ""}.`}</td>
            </tr>
          )}
        </tbody>
      </table>
      {counted.length > 0 && <SendersBlock fabric={scene.fabric.id} router={detail.router} moment={moment} at={at} />}
      {span && <History scene={scene} router={detail.router} span={span} />}
      <Occupants detail={detail} at={at} />
    </>
  );
}

function ExportMenu({
  detail,
  scene,
  name,
  moment,
}: {
  detail: RouterDetail;
  scene: Scene;
  name: string;
  moment: Moment;
}) {
  const words = wordsOf(scene.fabric);
  const columns: Column<Tile>[] = [
    { key: "port", header: "port", value: (t) => t.port },
    { key: "name", header: "name", value: (t) => t.name },
    { key: "class", header: "class", value: (t) => t.class },
    {
      key: "to",
      header: "to",
      value: (t) => (t.peer?.router == null ? t.peer?.node : scene.machine.name[t.peer.router]),
    },
    { key: "flits", header: words.flits, value: (t) => t.flits },
    { key: "stalls", header: words.stalls, value: (t) => t.stall_cycles },
    { key: "ratio", header: words.ratio, value: (t) => t.ratio },
  ];
  return (
    <Menu
      trigger={
        <>
          <span className="visually-hidden">Export the {wordsOf(scene.fabric).router}</span>
          <Icon name="down" />
        </>
      }
      entries={[
        ...tableEntries({
          name: `${name}-tiles`,
          what: "All its tiles",
          rows: () => detail.tiles,
          columns,
          source: address(`/fabrics/${scene.fabric.id}/routers/${detail.router}`, momentParameters(moment)),
        }),
        ...captureEntries(
          () => document.querySelector<HTMLElement>(".router-panel .router-pictures"),
          `${name}-tiles`,
          () => ({
            title: name,
            subtitle: `${wordsOf(scene.fabric).ratio} of its ${scene.fabric.technology === "cray_xc" ? "tiles" : "ports"}`,
          }),
        ),
      ]}
    />
  );
}

const Figure = ({ value, label }: { value: string; label: string }) => (
  <div>
    <div className="figure-value">{value}</div>
    <div className="subtitle">{label}</div>
  </div>
);

function Peer({ tile, scene, onSelect }: { tile: Tile; scene: Scene; onSelect: (router: number) => void }) {
  const peer = tile.peer?.router;
  if (peer != null)
    return (
      <button className="link ellipsis" onClick={() => onSelect(peer)}>
        {shortPlace(scene, peer)}
      </button>
    );
  return <span className="muted">{tile.peer?.node ?? "–"}</span>;
}

const COLUMNS = 8;
const CELL = 40;
const HEIGHT = 30;

/** Tiles in the vendor's order: 6 rows of 8 on Cray XC (l00 top left), ports in rows of 8 elsewhere. */
export function TileGrid({
  tiles,
  technology,
  theme,
  scene,
  onSelect,
}: {
  tiles: Tile[];
  technology: string | null;
  theme: Theme;
  scene: Scene;
  onSelect: (router: number) => void;
}) {
  const cray = technology === "cray_xc";
  const first = cray ? 0 : Math.min(...tiles.map((tile) => tile.port), 1);
  const rows = Math.max(1, Math.ceil((Math.max(0, ...tiles.map((tile) => tile.port)) - first + 1) / COLUMNS));
  const small = rows > 8;
  const height = small ? 20 : HEIGHT;
  return (
    <div className="tile-grid">
      <svg
        width={COLUMNS * CELL}
        height={Math.min(rows, 10) * height + (cray ? 6 : 0)}
        role="img"
        aria-label={`${plural(tiles.length, "tile")}; the worst are listed below`}
      >
        {tiles.map((tile) => {
          const at = tile.port - first;
          const x = (at % COLUMNS) * CELL;
          const row = Math.floor(at / COLUMNS);
          const y = row * height + (cray && row === 5 ? 6 : 0);
          return (
            row < 10 && (
              <TileCell
                key={tile.port}
                tile={tile}
                x={x}
                y={y}
                height={height}
                theme={theme}
                scene={scene}
                onSelect={onSelect}
              />
            )
          );
        })}
      </svg>
    </div>
  );
}

function TileCell({
  tile,
  x,
  y,
  height,
  theme,
  scene,
  onSelect,
}: {
  tile: Tile;
  x: number;
  y: number;
  height: number;
  theme: Theme;
  scene: Scene;
  onSelect: (router: number) => void;
}) {
  const unused = tile.class === null || (tile.peer === null && tile.flits === null);
  const known = !unused && tile.flits !== null;
  const value = known ? ((tile.flits ?? 0) > 0 ? (tile.ratio ?? 0) : 0) : NaN;
  const fill = known ? heatColour(value, theme) : "none";
  const ink = known ? textOn(fill) : "var(--ink-3)";
  const peer = tile.peer?.router ?? null;
  const said = unused ? "unused" : known ? `${ratio(value)} ${wordsOf(scene.fabric).amount}` : "not counted";
  return (
    // The same links stand as buttons in the table below, for the keyboard.
    <g onClick={() => peer !== null && onSelect(peer)} style={peer === null ? undefined : { cursor: "pointer" }}>
      <title>{`${tile.name ?? tile.port} ${tile.class ?? ""} ${peer === null ? (tile.peer?.node ?? "") : `to ${shortPlace(scene, peer)}`}: ${said}`}</title>
      <rect
        x={x + 0.5}
        y={y + 0.5}
        width={CELL - 2}
        height={height - 2}
        rx={2}
        fill={fill === "none" ? "transparent" : fill}
        stroke={known ? "none" : unused ? "var(--line)" : "var(--line-strong)"}
        strokeDasharray={known || unused ? undefined : "2 2"}
      />
      {!unused && (
        <path
          d={classPath(tile.class)}
          transform={`translate(${x + 3} ${y + height / 2 - 7})`}
          fill="none"
          stroke={ink}
          strokeWidth="1.4"
        />
      )}
      {!unused && (
        <text
          x={x + CELL - 6}
          y={y + height / 2 + 3}
          textAnchor="end"
          style={{ fill: ink, fontWeight: value >= 8 ? 650 : 450 }}
        >
          {known ? shortRatio(value) : "–"}
        </text>
      )}
    </g>
  );
}

const DAY_MS = 86_400_000;

function History({ scene, router, span }: { scene: Scene; router: number; span: TimeWindow }) {
  const steady = useMemo(
    () => ({ from: Math.floor(span.from / 30_000) * 30_000, to: Math.ceil(span.to / 30_000) * 30_000 }),
    [span.from, span.to],
  );
  const series = useQuery(
    timeseriesQuery(scene.fabric.id, { routers: String(router), counters: "ratio", span: steady, points: 120 }),
  );
  // What came before for another router is not this one's.
  const own = series.data?.routers[0] === router || !series.isPlaceholderData ? series.data : undefined;
  // Two days have no room for seconds.
  const seconds = Math.floor(steady.from / DAY_MS) === Math.floor(steady.to / DAY_MS);
  const said = `${intervalText(steady, steady.to, seconds)}, ${wordsOf(scene.fabric).ratio}`;
  return (
    <div className="router-block">
      <div className="card-line">
        <h3 className="block-title">History</h3>
        <span className="subtitle ellipsis" title={said}>
          {said}
        </span>
      </div>
      <div className="router-history">
        {own ? (
          <Sparkline
            ts={own.ts.map((t) => parseTime(t) ?? 0)}
            values={own.values.ratio?.[0] ?? []}
            width={318}
            height={44}
            label={`Stall ratio of this ${wordsOf(scene.fabric).router}, ${intervalText(steady, steady.to)}`}
          />
        ) : (
          <Unanswered line what="the history" asked={[{ ...series, data: own }]} />
        )}
      </div>
    </div>
  );
}

function Occupants({ detail, at }: { detail: RouterDetail; at: string | undefined }) {
  return (
    <div className="router-block">
      <h3 className="block-title">Nodes here</h3>
      {detail.jobs.map((job) => (
        <div className="card-line" key={job.job_id}>
          <span className="ellipsis">{job.user ?? "user unknown"}</span>
          <Link to="/jobs/$job" params={{ job: job.job_id }} search={{ at }} className="ellipsis">
            {job.job_id} {job.name ?? ""}
          </Link>
        </div>
      ))}
      <div className="card-line muted">
        <span className="ellipsis" title={detail.nodes.join(", ")}>
          {detail.nodes.length
            ? `${plural(detail.nodes.length, "node")}: ${detail.nodes.join(", ")}`
            : "no node attached"}
        </span>
        {!detail.jobs.length && detail.nodes.length > 0 && <span>no job known</span>}
      </div>
    </div>
  );
}
