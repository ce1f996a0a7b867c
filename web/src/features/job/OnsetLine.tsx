/** The moment from which a job was slow, as a labelled line: who started or sends more then, where an answer names a job. */
import type { Explanation } from "../../api/estimateShapes";
import { parseTime } from "../../lib/time";

export interface Onset {
  /** Milliseconds. */
  at: number;
  label: string;
}

export function onsetOf(told: Explanation | undefined): Onset | null {
  const slow = told?.slowdown;
  if (!slow || slow.from_start) return null;
  const named = told.candidates.find((one) => one.named);
  const at = named ? parseTime(named.changed ?? named.start) : parseTime(slow.since);
  if (at === null) return null;
  const who = named && [named.name, named.job_id].filter(Boolean).join(" ");
  return {
    at,
    label: named ? `${who} ${named.change === "started" ? "started" : "sends more"}` : "slower from here on",
  };
}

interface Props {
  onset: Onset;
  x: (ms: number) => number;
  top: number;
  bottom: number;
  right: number;
  /** Without its label, where the picture above has it. */
  bare?: boolean;
}

export function OnsetLine({ onset, x, top, bottom, right, bare = false }: Props) {
  const at = x(onset.at);
  if (!(at <= right)) return null;
  return (
    <g className="onset">
      <line x1={at} x2={at} y1={top} y2={bottom} />
      {!bare && (
        <text x={at - 5} y={top + 10} textAnchor={at > 260 ? "end" : "start"} dx={at > 260 ? 0 : 10}>
          {onset.label}
        </text>
      )}
    </g>
  );
}
