/** Step times as a small line over those that are usual: shape only, figures stand beside it. */
import { stepLine } from "./stepLine";

const [WIDTH, HEIGHT] = [200, 22];

export function StepLine({ time, usual, label }: { time: number[]; usual: (number | null)[]; label: string }) {
  const drawn = stepLine(time, usual, WIDTH, HEIGHT);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
      className="step-line"
    >
      <path d={drawn.usual} className="usual" />
      <path d={drawn.time} className="own" />
      {drawn.last && <circle cx={drawn.last[0]} cy={drawn.last[1]} r={2} />}
    </svg>
  );
}
