import { Empty } from "../../components/Notice";
import { applicationText } from "./ApplicationMenu";

export interface Lack {
  exe: string;
  nodes: number;
  runs: number;
  lacks: string | null;
}

/** Instead of a result: what is missing until there can be one. */
export function Lacking({ what, all }: { what: string; all: Lack[] }) {
  if (!all.length) {
    return (
      <Empty title={`No results for ${what} yet`}>
        There are no runs with recorded steps. Import AriesNCL output with <code>flitwatch import ncl DIR</code>, or
        collect it continuously with <code>flitwatch collect ncl</code>.
      </Empty>
    );
  }
  return (
    <div className="notice lacking">
      <h2>Not enough data for {what} yet</h2>
      <ul>
        {all.slice(0, 12).map((one) => (
          <li key={`${one.exe} ${one.nodes}`}>
            {applicationText(one)}: {one.lacks ?? "a worker will compute it soon"}
          </li>
        ))}
      </ul>
      <p>Estimates are computed automatically once enough runs are recorded.</p>
    </div>
  );
}
