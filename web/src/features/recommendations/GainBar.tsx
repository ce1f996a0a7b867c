/** The interval of a gain as a bar; its figures stand in the text beside it. */
import { GAIN_WIDTH, gainLayout, type GainRange } from "../../charts/gains";

export function GainBar({ gain, x }: { gain: GainRange; x: (factor: number) => number }) {
  const { bar, tick, none } = gainLayout(gain, x);
  return (
    <svg className="gain-bar" width={GAIN_WIDTH} height={14} aria-hidden="true">
      <line className="gain-none" x1={none} x2={none} y1={0} y2={14} />
      {bar && <rect x={bar.x} width={bar.width} y={5} height={4} rx={1} />}
      <line x1={tick} x2={tick} y1={2} y2={12} />
    </svg>
  );
}
