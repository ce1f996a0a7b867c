// What a fabric's picture shows, in two short lines: the bar has room for both.
import { plural } from "../../lib/format";
import { intervalText } from "../../lib/time";
import type { Fabric } from "../../api/shapes";
import { devices } from "../../machine/scene";
import { wordsOf } from "../../machine/words";
import type { Clockwork } from "./clockwork";

/** `window`: that of the clock in words; `recorded`: nothing counts on the machine any more. */
export function shownWords(
  fabric: Fabric,
  clock: Clockwork | null,
  difference: boolean,
  window: string,
  recorded: boolean,
): [string, string] {
  if (fabric.snapshot || !clock)
    return [
      `${devices(fabric)}${fabric.groups.length > 1 ? ` in ${plural(fabric.groups.length, "group")}` : ""}`,
      fabric.snapshot ? "one sample" : "no counters yet, so traffic is unknown",
    ];
  if (difference) return [window, `against ${intervalText(clock.comparison, clock.window.from)}`];
  const words = wordsOf(fabric);
  return [`${window}${clock.live && !recorded ? ", live" : ""}`, `sum of ${words.stalls} ÷ sum of ${words.flits}`];
}
