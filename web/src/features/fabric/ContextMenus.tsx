import { useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { overviewQuery } from "../../api/queries";
import { Dialog } from "../../components/Dialog";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/choices";
import { refused } from "../../components/Notice";
import { duration } from "../../lib/format";
import {
  clock as clockText,
  inputTime,
  isoTime,
  parseInputTime,
  parseTime,
  type TimeWindow,
  ZONE,
} from "../../lib/time";
import { AGAINST, type FabricSearch, SPANS } from "./address";
import { againstText, type Clockwork, overviewPoints, SPAN_LABELS } from "./clockwork";

// Any window of time by its two ends, from a calendar or the keyboard.

interface WindowDialogProps {
  title: string;
  /** What the fields hold at first. */
  initial: TimeWindow;
  /** First and newest data: a window outside them has nothing to show. Milliseconds. */
  first: number | null;
  edge: number;
  onChoose: (window: TimeWindow) => void;
  onClose: () => void;
}

export function WindowDialog({ title, initial, first, edge, onChoose, onClose }: WindowDialogProps) {
  const [from, setFrom] = useState(() => inputTime(initial.from));
  const [to, setTo] = useState(() => inputTime(initial.to));
  const [wrong, setWrong] = useState<string | null>(null);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const window = { from: parseInputTime(from), to: parseInputTime(to) };
    if (window.from === null || window.to === null) setWrong("Enter a date and a time for both ends.");
    else if (window.to <= window.from) setWrong("The end must be later than the start.");
    else if (window.from >= edge) setWrong(`The newest data are from ${inputTime(edge).replace("T", " ")} ${ZONE}.`);
    else if (first !== null && window.to <= first)
      setWrong(`The oldest data are from ${inputTime(first).replace("T", " ")} ${ZONE}.`);
    else {
      onChoose({ from: window.from, to: window.to });
      onClose();
    }
  };
  return (
    <Dialog open title={title} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <label>
          From, {ZONE}
          <input
            className="field"
            type="datetime-local"
            step={1}
            value={from}
            onChange={(e) => setFrom(e.target.value)}
          />
        </label>
        <label>
          To, {ZONE}
          <input className="field" type="datetime-local" step={1} value={to} onChange={(e) => setTo(e.target.value)} />
        </label>
        {wrong !== null && (
          <p className="alarm" role="alert">
            {wrong}
          </p>
        )}
        <div className="dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary">
            Show
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// What a window is compared with: a window that moves with it, or the time before a change against the time after it.

interface AgainstMenuProps {
  fabric: number;
  first: number | null;
  clock: Clockwork;
  search: FabricSearch;
  change: (patch: Partial<FabricSearch>) => void;
  onMark: (at: number) => void;
}

/** The newest changes are the ones that are asked about. */
const MOST_MARKS = 6;

export function AgainstMenu({ fabric, first, clock, search, change, onMark }: AgainstMenuProps) {
  const [choosing, setChoosing] = useState(false);
  const overview = useQuery(overviewQuery(fabric, clock.span, overviewPoints(clock.span.to - clock.span.from)));
  const marks = (overview.data?.marks ?? [])
    .flatMap((mark) => {
      const ts = parseTime(mark.ts);
      return ts === null ? [] : [{ ts, text: mark.text }];
    })
    .sort((a, b) => b.ts - a.ts)
    .slice(0, MOST_MARKS);
  return (
    <>
      <Menu
        trigger={
          <>
            Against {againstText(search)}
            <Icon name="down" />
          </>
        }
        heading="This window against"
        entries={[
          ...([undefined, ...AGAINST] as const).map((against) => ({
            id: against ?? "before",
            label: againstText({ against }),
            onSelect: () => change({ against, cfrom: undefined, cto: undefined }),
          })),
          { id: "dates", label: "Choose dates…", onSelect: () => setChoosing(true) },
          ...(refused([overview])
            ? [
                {
                  id: "refused",
                  label: `Changes: ${overview.error?.message ?? ""}`,
                  onSelect: () => void overview.refetch(),
                },
              ]
            : []),
          ...marks.map(({ ts, text }) => ({
            id: `${ts} ${text}`,
            label: <span className="ellipsis">after against before: {text}</span>,
            detail: clockText(ts),
            onSelect: () => onMark(ts),
          })),
        ]}
      />
      {choosing && (
        <WindowDialog
          title="Compare with another window"
          initial={clock.comparison}
          first={first}
          edge={clock.edge}
          onChoose={(window) => change({ cfrom: isoTime(window.from), cto: isoTime(window.to), against: undefined })}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}

// Length of the time axis, or any window by its dates.

interface AxisMenuProps {
  clock: Clockwork;
  first: number | null;
  search: FabricSearch;
  change: (patch: Partial<FabricSearch>, push?: boolean) => void;
}

export function AxisMenu({ clock, first, search, change }: AxisMenuProps) {
  const [choosing, setChoosing] = useState(false);
  return (
    <>
      <Menu
        trigger={
          <>
            <span className="visually-hidden">Time axis </span>
            {search.span && !search.afrom
              ? SPAN_LABELS[search.span]
              : duration((clock.span.to - clock.span.from) / 1000)}
            <Icon name="down" />
          </>
        }
        entries={[
          ...SPANS.map((one) => ({
            id: one as string,
            label: SPAN_LABELS[one],
            onSelect: () => change({ span: one, afrom: undefined, ato: undefined }),
          })),
          { id: "dates", label: "Choose dates…", onSelect: () => setChoosing(true) },
        ]}
      />
      {choosing && (
        <WindowDialog
          title="Show a window of time"
          initial={clock.window}
          first={first}
          edge={clock.edge}
          onChoose={(window) =>
            change({ from: isoTime(window.from), to: isoTime(window.to), afrom: undefined, ato: undefined }, true)
          }
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}
