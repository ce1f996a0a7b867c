/** What the forecasts rest on: the error that each input saves on later runs, and the attention over the past steps. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { forecastQuery } from "../../api/estimates";
import type { Application, RestsOn as Rests } from "../../api/estimateShapes";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { importanceLayout, INPUT_ROW, weightsLayout } from "../../charts/forecast";
import type { Column } from "../../components/DataTable";
import { Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { Segmented } from "../../components/choices";
import { count, cut, plural } from "../../lib/format";
import { applicationText } from "../estimates/applications";
import { restsText } from "./texts";
import { address } from "../../api/client";

type Input = Rests["inputs"][number];

const points = (value: number) => value.toFixed(2);
const columns: Column<Input>[] = [
  { key: "name", header: "Input", value: (i) => i.name },
  { key: "meaning", header: "What", value: (i) => i.meaning },
  { key: "added", header: "points added", numeric: true, value: (i) => i.increase, render: (i) => points(i.increase) },
  { key: "low", header: "from", numeric: true, value: (i) => i.low, render: (i) => points(i.low) },
  { key: "high", header: "to", numeric: true, value: (i) => i.high, render: (i) => points(i.high) },
  { key: "verdict", header: "Verdict", value: (i) => i.verdict },
];

export function RestsOn({ application: { exe, nodes } }: { application: Application }) {
  const { data, isPending } = useQuery(forecastQuery({ exe, nodes }));
  const [chosen, setChosen] = useState<string | null>(null);
  if (isPending)
    return (
      <section className="card forecast-note">
        <Waiting what="what the forecast rests on" />
      </section>
    );
  if (!data) return null;
  const rests = data.rests_on.find((one) => one.forecaster === chosen) ?? data.rests_on[0];
  if (!rests)
    return data.rests_on_lacks === null ? null : (
      <section className="card" aria-label="What the forecasts rest on">
        <p className="muted forecast-note">Cannot tell what the forecasts are based on: {data.rests_on_lacks}</p>
      </section>
    );
  return (
    <PictureCard
      title="What the forecasts rest on"
      name="forecast-importance"
      source={address("/estimates/forecast", { exe, nodes })}
      className="rests-on"
      rows={rests.inputs}
      columns={columns}
      id={(i) => i.name}
      note={`${applicationText({ exe, nodes })} · ${restsText(rests)}`}
      actions={
        data.rests_on.length > 1 && (
          <Segmented
            label="Forecaster"
            value={rests.forecaster}
            options={data.rests_on.map((one, i) => ({
              value: one.forecaster,
              label: i === 0 ? "As served" : "Attention alone",
            }))}
            onChange={setChosen}
          />
        )
      }
    >
      <Inputs rests={rests} />
      <p className="muted chart-key">
        points of error added if the input is from another run · {plural(rests.runs, "later run")}, {rests.learned}{" "}
        learned from · line: 95 % for all inputs at once; where it holds zero: cannot tell
      </p>
      {rests.weights.map((weights) => (
        <Attention key={weights.forecaster} weights={weights} />
      ))}
    </PictureCard>
  );
}

const LEFT = 230;
const SHORT = 34;

function Inputs({ rests }: { rests: Rests }) {
  const [box, size] = useSize();
  const layout = useMemo(() => {
    if (!size || size.width < LEFT + 80) return null;
    return importanceLayout(
      rests.inputs.map(({ increase, low, high }) => ({ mean: increase, low, high })),
      LEFT,
      size.width,
    );
  }, [rests, size]);
  return (
    <div ref={box} className="past-box" style={{ height: rests.inputs.length * INPUT_ROW + 22 }}>
      {size && layout && (
        <svg width={size.width} height={layout.height} role="img" aria-label={restsText(rests)}>
          <BaseAxis ticks={layout.ticks} x={layout.x} y={layout.height - 5} grid={[0, layout.height - 20]} />
          <line className="median-line" x1={layout.x(0)} x2={layout.x(0)} y1={0} y2={layout.height - 20} />
          {rests.inputs.map((input, i) => {
            const row = layout.rows[i];
            if (!row) return null;
            const sure = input.verdict === "carries";
            return (
              <g key={input.name}>
                <title>{`${input.name}: ${input.meaning}, ${input.verdict}`}</title>
                <text className={sure ? "strong" : undefined} x={LEFT - 10} y={row.y + 4} textAnchor="end">
                  {cut(input.name, SHORT)}
                </text>
                {input.verdict === "not used" ? (
                  <text x={layout.x(0) + 8} y={row.y + 4}>
                    not used
                  </text>
                ) : (
                  <>
                    <line className="median" x1={row.from} x2={row.to} y1={row.y} y2={row.y} />
                    <circle className={sure ? "dot exposed" : "dot"} cx={row.dot} cy={row.y} r={4} />
                  </>
                )}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

const HIGH = 120;

function Attention({ weights }: { weights: Rests["weights"][number] }) {
  const [box, size] = useSize();
  const layout = useMemo(() => {
    if (!size || size.width < 160) return null;
    const rows = weights.mean.map((mean, i) => ({ mean, low: weights.low[i] ?? mean, high: weights.high[i] ?? mean }));
    return weightsLayout(rows, 44, size.width, HIGH);
  }, [weights, size]);
  const newest = weights.mean.at(-1) ?? 0;
  return (
    <>
      <div ref={box} className="past-box" style={{ height: HIGH }}>
        {size && layout && (
          <svg
            width={size.width}
            height={HIGH}
            role="img"
            aria-label={`Attention of ${weights.forecaster} over the last ${plural(weights.mean.length, "step")}: ${Math.round(newest * 100)} % on the newest`}
          >
            <ValueAxis ticks={layout.ticks} y={layout.y} left={44} right={size.width - 14} />
            {layout.bars.map((bar) => (
              <g key={bar.step}>
                <rect className="spread" x={bar.x} y={bar.y} width={bar.width} height={bar.height} rx={2} />
                <line
                  className="median"
                  x1={bar.x + bar.width / 2}
                  x2={bar.x + bar.width / 2}
                  y1={bar.from}
                  y2={bar.to}
                />
                {bar.labelled && (
                  <text x={bar.x + bar.width / 2} y={HIGH - 6} textAnchor="middle">
                    {count(bar.step)}
                  </text>
                )}
              </g>
            ))}
            <line className="expected" x1={44} x2={size.width - 14} y1={layout.even} y2={layout.even} />
          </svg>
        )}
      </div>
      <p className="muted chart-key">
        weight of each past step in {weights.forecaster}, −1 the newest · dashed: equal weights · line: 95 % over runs
      </p>
    </>
  );
}
