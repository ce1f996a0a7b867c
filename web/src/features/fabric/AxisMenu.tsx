/** Length of the time axis, or any window by its dates. */
import { useState } from "react";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { duration } from "../../lib/format";
import { isoTime } from "../../lib/time";
import { SPANS, type FabricSearch } from "./address";
import { SPAN_LABELS, type Clockwork } from "./clockwork";
import { WindowDialog } from "./WindowDialog";

interface Props {
  clock: Clockwork;
  first: number | null;
  search: FabricSearch;
  change: (patch: Partial<FabricSearch>, push?: boolean) => void;
}

export function AxisMenu({ clock, first, search, change }: Props) {
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
