/** Legends of the colour scales: steps with the cuts between them. */
import { CHANGE, CHANGE_LABELS, HEAT, HEAT_LABELS, type Theme } from "./scale";

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
      <text x={0} y={10}>{title}</text>
      {colours.map((colour, i) => <rect key={colour} x={i * step} y={15} width={step - 1} height={8} fill={colour} />)}
      {cuts.map((cut, i) => <text key={cut} x={(i + 1) * step - 0.5} y={34} textAnchor="middle">{cut}</text>)}
    </svg>
  );
}

export function HeatLegend({ theme, what, width = 288 }: { theme: Theme; what: string; width?: number }) {
  return (
    <Steps
      title={`stall cycles per flit · ${what}`} label="Colour scale: stall cycles per flit, doubling steps from below one half to above 32"
      colours={HEAT[theme]} cuts={HEAT_LABELS} width={width}
    />
  );
}

export function ChangeLegend({ theme, against, width = 288 }: { theme: Theme; against: string; width?: number }) {
  return (
    <Steps
      title={`change, this window ÷ ${against}`} label="Colour scale: change of the stall ratio, from below a quarter to above four times"
      colours={CHANGE[theme]} cuts={CHANGE_LABELS} width={width}
    />
  );
}

export function Swatch({ colour }: { colour: string }) {
  return <span className="swatch" style={{ background: colour }} aria-hidden="true" />;
}
