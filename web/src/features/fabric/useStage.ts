/** Tells the player what it plays on: the page's window and axis, and how a window is drawn and chosen. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Clockwork } from "./clockwork";
import type { Actions } from "./useActions";
import type { Playback, Stage } from "./usePlay";

interface Given extends Pick<Actions, "drag" | "commit">, Pick<Stage, "prepare"> {
  fabric: number;
  play: Playback;
  clock: Clockwork | null;
}

export function useStage({ fabric, play, clock, prepare, drag, commit }: Given) {
  const queries = useQueryClient();
  const { setStage } = play;
  useEffect(() => {
    setStage(
      clock && {
        window: clock.window,
        span: clock.span,
        stepMs: clock.stepMs,
        show: (window) => drag(window, false),
        busy: () => queries.isFetching({ queryKey: ["counters", fabric] }) > 0,
        prepare,
        rest: (window) => commit(window, false),
      },
    );
  }, [setStage, clock, drag, prepare, commit, queries, fabric]);
}
