/** Play and pause, how fast, and how much of time the axis shows. */
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { duration } from "../../lib/format";
import type { TimeWindow } from "../../lib/time";
import { PASSES_S } from "./playback";
import type { Play } from "./usePlay";

interface Props {
  play: Play;
  span: TimeWindow;
  /** The axis so many times as long. */
  onZoom: (factor: number) => void;
  /** Back to the whole axis; absent if it is whole. */
  onWhole?: () => void;
}

const CLOSER = 0.5;

export function PlayControls({ play, span, onZoom, onWhole }: Props) {
  const { playing, pass, setPass, toggle } = play;
  const pace = (seconds: number) => `${duration((span.to - span.from) / 1000 / seconds)} per second`;
  return (
    <div className="play-controls" role="group" aria-label="Time-lapse">
      <button className="button" onClick={toggle} title="Play the window along the axis (p)">
        <Icon name={playing ? "pause" : "play"} />
        {playing ? "Pause" : "Play"}
      </button>
      <Menu
        trigger={
          <>
            <span className="visually-hidden">Speed </span>
            {pace(pass)}
            <Icon name="down" />
          </>
        }
        heading="The axis passes at"
        entries={PASSES_S.map((one) => ({ id: String(one), label: pace(one), onSelect: () => setPass(one) }))}
      />
      <button
        className="button"
        onClick={() => onZoom(1 / CLOSER)}
        aria-label="Zoom out of the time axis"
        title="Zoom out (-)"
      >
        <Icon name="minus" />
      </button>
      <button
        className="button"
        onClick={() => onZoom(CLOSER)}
        aria-label="Zoom into the time axis"
        title="Zoom in (+), or turn the wheel over the axis"
      >
        <Icon name="plus" />
      </button>
      {onWhole && (
        <button className="button" onClick={onWhole}>
          Whole axis
        </button>
      )}
    </div>
  );
}
