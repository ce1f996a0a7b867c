import { line } from "d3-shape";
import { UNKNOWN } from "../../lib/format";

export interface HomeFigure {
  label: string;
  value: string;
  unit: string;
  detail: string;
  trend?: (number | null)[] | undefined;
  bad?: boolean;
  /** It has yet to come: neither known nor unknown. */
  loading?: boolean;
}

const WIDTH = 64;
const HEIGHT = 20;

/** The last hour as a line: shape only, the number stands above it. */
function Trend({ values }: { values: (number | null)[] }) {
  const known = values.filter((v): v is number => v !== null);
  if (known.length < 2) return null;
  const [low, high] = [Math.min(0, ...known), Math.max(...known, 1e-9)];
  const path =
    line<number | null>()
      .defined((v) => v !== null)
      .x((_, i) => (i / (values.length - 1)) * (WIDTH - 4) + 2)
      .y((v) => HEIGHT - 3 - (((v ?? 0) - low) / (high - low)) * (HEIGHT - 6))(values) ?? "";
  return (
    <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.25" />
    </svg>
  );
}

export function Figures({ figures }: { figures: HomeFigure[] }) {
  return (
    <dl className="card home-figures">
      {figures.map((figure) => (
        <div key={figure.label}>
          <dt>{figure.label}</dt>
          <dd>
            {figure.loading ? (
              <span className="home-value skeleton">
                <i aria-hidden="true" />
                <span className="visually-hidden">loading</span>
              </span>
            ) : (
              <>
                <span className={`home-value${figure.bad ? " alarm" : figure.value === UNKNOWN ? " unknown" : ""}`}>
                  {figure.value}
                </span>{" "}
                <span className="home-unit">{figure.unit}</span>
              </>
            )}
            <span className="home-detail">
              <span className="ellipsis" title={figure.detail}>
                {figure.detail}
              </span>
              {figure.trend && <Trend values={figure.trend} />}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
