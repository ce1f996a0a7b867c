/** Legends of the colour scales: steps with the cuts between them. */
import { DASHES } from "./cells";
import { CHANGE, CHANGE_LABELS, fractionColour, HEAT, HEAT_LABELS, NO_COLOUR, type Theme } from "./scale";

interface StepsProps {
  title: string;
  label: string;
  colours: readonly string[];
  cuts: readonly string[];
  width: number;
}

function Steps({ title, label, colours, cuts, width }: StepsProps) {
  const step = width / colours.length;
  return (
    <svg width={width} height={36} role="img" aria-label={label} className="legend">
      <text x={0} y={10}>
        {title}
      </text>
      {colours.map((colour, i) => (
        <rect key={colour} x={i * step} y={15} width={step - 1} height={8} fill={colour} />
      ))}
      {cuts.map((cut, i) => (
        <text key={cut} x={(i + 1) * step - 0.5} y={34} textAnchor="middle">
          {cut}
        </text>
      ))}
    </svg>
  );
}

export function HeatLegend({
  theme,
  what,
  words,
  width = 288,
}: {
  theme: Theme;
  what: string;
  words: string;
  width?: number;
}) {
  return (
    <Steps
      title={`${words} · ${what}`}
      label={`Colour scale: ${words}, doubling steps from below one half to above 32`}
      colours={HEAT[theme]}
      cuts={HEAT_LABELS}
      width={width}
    />
  );
}

export function ChangeLegend({ theme, against, width = 288 }: { theme: Theme; against: string; width?: number }) {
  return (
    <Steps
      title={`change, this window ÷ ${against}`}
      label="Colour scale: change of the stall ratio, from below a quarter to above four times"
      colours={CHANGE[theme]}
      cuts={CHANGE_LABELS}
      width={width}
    />
  );
}

const GREYS = Array.from({ length: 20 }, (_, i) => i / 19);

export function FractionLegend({
  theme,
  what = "congested fraction",
  width = 220,
}: {
  theme: Theme;
  what?: string;
  width?: number;
}) {
  const bar = width - 20;
  return (
    <svg
      width={width}
      height={36}
      role="img"
      aria-label={`${what}, from 0 to 1; ${theme === "dark" ? "lighter" : "darker"} is worse`}
      className="legend"
    >
      <text x={0} y={10}>
        {what} · {theme === "dark" ? "lighter" : "darker"} is worse
      </text>
      {GREYS.map((value, i) => (
        <rect
          key={value}
          x={(i * bar) / 20}
          y={15}
          width={bar / 20 + 0.5}
          height={8}
          fill={fractionColour(value, theme)}
        />
      ))}
      <text x={0} y={34}>
        0
      </text>
      <text x={bar / 2} y={34} textAnchor="middle">
        0.5
      </text>
      <text x={bar} y={34} textAnchor="end">
        1
      </text>
    </svg>
  );
}

export function Swatch({ colour }: { colour: string }) {
  const unknown = colour === NO_COLOUR;
  return <span className={unknown ? "swatch unknown" : "swatch"} style={{ background: colour }} aria-hidden="true" />;
}

/** The line with which a picture outlines a job. */
export const JobKey = ({ dash }: { dash: number }) => (
  <svg className="job-key" width={22} height={8} aria-hidden="true">
    <line x1={0} x2={22} y1={4} y2={4} strokeDasharray={DASHES[dash]?.join(" ")} />
  </svg>
);
