/** The matrix of groups with the pairs that stall most; the column sends, the row receives. */
import type { Words } from "../../machine/words";
import { memo, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Congestion } from "../../api/shapes";
import { contextOf, Layers, useFontReady, usePalette } from "../../charts/Canvas";
import { ChangeLegend, HeatLegend, Swatch } from "../../charts/legends";
import { drawMatrix, hottestPairs, matrixAt, matrixLayout, pairsOf, type Pair } from "../../charts/matrix";
import { changeColour, heatColour } from "../../charts/scale";
import { type QueryState, Unanswered } from "../../components/Notice";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { change, plural, ratio, si } from "../../lib/format";

interface Props {
  words: Words;
  groups: number[];
  congestion: Congestion | null;
  before: Congestion | null;
  selectedGroup: number | null;
  jobGroups: ReadonlySet<number>;
  /** What its figures come from. */
  asked: QueryState[];
  what: string;
  against: string;
  /** The links from a group to a group. */
  onOpenPair: (src: number, dst: number) => void;
  playing: boolean;
}

const WIDTH = 312;
/** In the list next to the matrix; all of them are in the file. */
const MOST_PAIRS = 100;
/** While a window plays: those in sight. */
const FEW_PAIRS = 16;

export const GroupMatrix = memo(function GroupMatrix({
  groups,
  words,
  congestion,
  before,
  selectedGroup,
  jobGroups,
  asked,
  what,
  against,
  onOpenPair,
  playing,
}: Props) {
  const palette = usePalette();
  const font = useFontReady();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<{ column: number; row: number } | null>(null);
  const difference = before !== null;
  const pairs = useMemo(
    () => congestion && pairsOf(groups, congestion.groups, before?.groups ?? null),
    [groups, congestion, before],
  );
  const hottest = useMemo(
    () => (pairs ? hottestPairs(pairs).slice(0, playing ? FEW_PAIRS : MOST_PAIRS) : []),
    [pairs, playing],
  );
  const layout = useMemo(() => matrixLayout(groups.length, WIDTH - 4), [groups]);
  const size = useMemo(() => ({ width: WIDTH, height: layout.top + layout.size + 4 }), [layout]);
  const surface = useRef<CanvasRenderingContext2D | null>(null);
  useLayoutEffect(() => {
    surface.current = base.current ? contextOf(base.current, size) : null;
  }, [size, palette]);
  useLayoutEffect(() => {
    if (surface.current && pairs)
      drawMatrix(
        surface.current,
        layout,
        pairs,
        { selected: selectedGroup, job: jobGroups, hovered },
        difference,
        palette,
      );
  }, [pairs, layout, size, selectedGroup, jobGroups, hovered, difference, palette, font]);

  const describe = (column: number, row: number) => {
    const [src, dst] = [groups[column], groups[row]];
    if (src === dst) return `g${src}: within the group`;
    const pair = pairs?.cells[row * groups.length + column];
    if (!pair) return `g${src} → g${dst}\nno counted link`;
    return `g${src} → g${dst}\n${ratio(pair.ratio)} ${words.amount}${Number.isNaN(pair.factor) ? "" : `, ${change(pair.factor)}`}\n${si(pair.flits)} ${words.flits}`;
  };
  return (
    <section className="matrix" aria-label="Between groups">
      <div className="matrix-head">
        <h2 className="block-title">Between groups</h2>
        <span className="subtitle">column sends, row receives</span>
      </div>
      <Layers
        size={size}
        base={base}
        overlay={overlay}
        label={`Stall ratio of the links between ${plural(groups.length, "group")}; columns send, rows receive. The pairs with most stalls are listed below.`}
        onHover={(place) => {
          const at = place && matrixAt(layout, groups.length, place.x, place.y);
          setHovered((old) => (old?.column === at?.column && old?.row === at?.row ? old : at));
          if (place && at) showTooltip(place.clientX, place.clientY, describe(at.column, at.row));
          else hideTooltip();
        }}
        onPick={({ x, y }) => {
          const at = matrixAt(layout, groups.length, x, y);
          const [src, dst] = at ? [groups[at.column], groups[at.row]] : [];
          if (src != null && dst != null) onOpenPair(src, dst);
        }}
      />
      <div className="matrix-room">
        {/* A box that scrolls must be reachable by keyboard. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <div className="matrix-pairs" tabIndex={0}>
          {pairs === null ? (
            <Unanswered what="the pairs of groups" asked={asked} />
          ) : (
            <PairTable
              pairs={hottest}
              note={congestion?.groups.note ?? null}
              difference={difference}
              words={words.ratio}
              onOpenPair={onOpenPair}
              theme={palette.theme}
            />
          )}
        </div>
      </div>
      {difference ? (
        <ChangeLegend theme={palette.theme} against={against} />
      ) : (
        <HeatLegend theme={palette.theme} what={what} words={words.ratio} />
      )}
    </section>
  );
});

interface PairTableProps {
  words: string;
  pairs: Pair[];
  note: string | null;
  difference: boolean;
  theme: "light" | "dark";
  onOpenPair: (src: number, dst: number) => void;
}

/** Not drawn again while the pointer moves over the matrix. */
const PairTable = memo(function PairTable({ words, pairs, note, difference, theme, onOpenPair }: PairTableProps) {
  if (!pairs.length) return <p className="muted">{note ?? "No link between groups has counters in this window."}</p>;
  return (
    <>
      {note && <p className="muted">{note}</p>}
      <table className="flush tight">
        <thead>
          <tr>
            <th scope="col">Hottest pairs</th>
            <th scope="col" className="numeric">
              {words}
            </th>
            {difference && (
              <th scope="col" className="numeric">
                change
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={`${pair.src} ${pair.dst}`}>
              <td>
                <Swatch colour={difference ? changeColour(pair.factor, theme) : heatColour(pair.ratio, theme)} />
                <button className="link" onClick={() => onOpenPair(pair.src, pair.dst)}>
                  g{pair.src} → g{pair.dst}
                </button>
              </td>
              <td className="numeric">{ratio(pair.ratio)}</td>
              {difference && <td className="numeric muted">{change(pair.factor)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
});
