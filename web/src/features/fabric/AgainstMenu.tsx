/** What a window is compared with: a window that moves with it, or the time before a change against the time after it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { overviewQuery } from "../../api/queries";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { refused } from "../../components/Notice";
import { clock as clockText, isoTime, parseTime } from "../../lib/time";
import { AGAINST, type FabricSearch } from "./address";
import { againstText, overviewPoints, type Clockwork } from "./clockwork";
import { WindowDialog } from "./WindowDialog";

interface Props {
  fabric: number;
  first: number | null;
  clock: Clockwork;
  search: FabricSearch;
  change: (patch: Partial<FabricSearch>) => void;
  onMark: (at: number) => void;
}

/** The newest changes are the ones that are asked about. */
const MOST_MARKS = 6;

export function AgainstMenu({ fabric, first, clock, search, change, onMark }: Props) {
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
          onChoose={(window) => change({ cfrom: isoTime(window.from), cto: isoTime(window.to) })}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}
