import { useMemo } from "react";
import type { Deviation } from "../../api/estimateShapes";
import { useSize } from "../../charts/Canvas";
import { fractionColour } from "../../charts/scale";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { applicationText } from "../estimates/applications";
import { driverCells, headHeight } from "./cells";

interface Place {
  set: number;
  counter: number;
}

interface Props {
  deviation: Deviation;
  show: "relevance" | "rank";
  chosen: Place;
  onChoose: (place: Place) => void;
}

const [LEFT, HIGH, RIGHT] = [168, 36, 118];
/** Cells give way until their figures would touch; then the box scrolls. */
const [NARROWEST, WIDEST] = [32, 46];
/** Grey at which black and white text have about the same contrast. */
const MIDDLE = 0.46;

/** Sets down, counters across; the error of each set at the right. */
export function HeatMap({ deviation, show, chosen, onChoose }: Props) {
  const theme = useStore(themeStore);
  const [box, size] = useSize();
  const room = ((size?.width ?? 0) - LEFT - RIGHT) / deviation.counters.length;
  const wide = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(room)));
  const cells = useMemo(() => driverCells(deviation, show), [deviation, show]);
  const labels = deviation.counters.map((counter) => counter.abbreviation);
  const top = headHeight(labels);
  const width = LEFT + deviation.counters.length * wide + RIGHT;
  const height = top + deviation.sets.length * HIGH + 8;
  const dark = (weight: number) => (theme === "light" ? weight > MIDDLE : weight < MIDDLE);
  return (
    // A box that scrolls must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={box} className="heat-scroll" tabIndex={0}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${show === "rank" ? "Rank" : "Relevance"} of ${deviation.counters.length} counters in ${deviation.sets.length} applications. The Table lists the same figures.`}
      >
        {labels.map((label, c) => (
          <text
            key={label}
            transform={`translate(${LEFT + c * wide + wide / 2 + 4} ${top - 8}) rotate(-55)`}
            fontWeight={c === chosen.counter ? 600 : 400}
          >
            {label}
          </text>
        ))}
        <text x={width - RIGHT + 12} y={top - 8}>
          error (mean)
        </text>
        {deviation.sets.map((one, s) => (
          <g key={one.estimate.estimate_id}>
            <text
              x={LEFT - 8}
              y={top + s * HIGH + HIGH / 2 + 3}
              textAnchor="end"
              fontWeight={s === chosen.set ? 600 : 400}
            >
              {applicationText(one.estimate)}
            </text>
            <text x={width - RIGHT + 12} y={top + s * HIGH + HIGH / 2 + 3}>
              {one.mape.toFixed(1)} % ({one.baseline_mape.toFixed(1)} %)
            </text>
          </g>
        ))}
        {cells.map(({ set, counter, value, weight }) => {
          const [x, y] = [LEFT + counter * wide, top + set * HIGH];
          return (
            // Cells are also reached by the table; a click chooses what the panel explains.
            <g key={`${set} ${counter}`} onClick={() => onChoose({ set, counter })}>
              <rect
                className={weight === null ? "none cell" : "cell"}
                x={x + 0.5}
                y={y + 0.5}
                width={wide - 2}
                height={HIGH - 2}
                rx={2}
                fill={weight === null ? undefined : fractionColour(weight, theme)}
              />
              {value !== null && weight !== null && (
                <text
                  x={x + wide / 2 - 0.5}
                  y={y + HIGH / 2 + 3}
                  textAnchor="middle"
                  style={{ fill: dark(weight) ? "#ffffff" : "#16181b", pointerEvents: "none" }}
                >
                  {show === "rank" ? value.toFixed(1) : value.toFixed(2)}
                </text>
              )}
            </g>
          );
        })}
        <rect
          className="chosen"
          x={LEFT + chosen.counter * wide}
          y={top + chosen.set * HIGH}
          width={wide - 1}
          height={HIGH - 1}
          rx={3}
        />
      </svg>
    </div>
  );
}
