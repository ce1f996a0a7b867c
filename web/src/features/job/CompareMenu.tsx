import { useQuery } from "@tanstack/react-query";
import { runsQuery } from "../../api/queries";
import type { Run } from "../../api/shapes";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { duration, plural } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";

interface Props {
  run: Run;
  compare: string | undefined;
  onChange: (compare: string | undefined) => void;
}

/** Other runs of the same program and size, to lay beside this one. */
export function CompareMenu({ run, compare, onChange }: Props) {
  const runs = useQuery(runsQuery(run.exe));
  const chosen = compare?.split(",").filter(Boolean) ?? [];
  const alike = (runs.data?.items ?? []).filter((other) => other.run_id !== run.run_id && other.ranks === run.ranks);
  return (
    <Menu
      trigger={
        <>
          {chosen.length ? `Compared with ${plural(chosen.length, "run")}` : "Compare"}
          <Icon name="down" />
        </>
      }
      heading="Other runs of the same program and size"
      empty={runs.data ? "No runs recorded" : runs.error ? runs.error.message : "Loading the runs…"}
      entries={alike.map((other) => {
        const id = String(other.run_id);
        const start = parseTime(other.start);
        return {
          id,
          label: (
            <>
              {chosen.includes(id) ? "✓ " : ""}
              {other.job_id ? `job ${other.job_id}` : (other.run_key ?? `run ${id}`)}
            </>
          ),
          detail: `${start === null ? "" : `${moment(start, Date.now())} · `}${duration(other.time_s)}`,
          onSelect: () =>
            onChange(
              (chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id].slice(-3)).join(",") || undefined,
            ),
        };
      })}
    />
  );
}
