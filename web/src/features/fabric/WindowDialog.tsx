/** Any window of time by its two ends, from a calendar or the keyboard. */
import { useState, type SyntheticEvent } from "react";
import { Dialog } from "../../components/Dialog";
import { inputTime, parseInputTime, type TimeWindow, ZONE } from "../../lib/time";

interface Props {
  title: string;
  /** What the fields hold at first. */
  initial: TimeWindow;
  /** First and newest data: a window outside them has nothing to show. Milliseconds. */
  first: number | null;
  edge: number;
  onChoose: (window: TimeWindow) => void;
  onClose: () => void;
}

export function WindowDialog({ title, initial, first, edge, onChoose, onClose }: Props) {
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
