/** Who, over all applications: names that several sets of runs find, with what each set says (table III of the paper). */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { severalQuery, type By } from "../../api/estimates";
import type { SeveralSets as Answer } from "../../api/estimateShapes";
import { type Column, DataTable } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { refuseUnless } from "../../lib/address";
import { count, plural } from "../../lib/format";
import { applicationText } from "../estimates/applications";
import { chance, evidenceText } from "./evidence";

type Entry = Answer["items"][number];

const columns: Column<Entry>[] = [
  { key: "name", header: "Name", value: (one) => one.name },
  {
    key: "verdict",
    header: "Verdict",
    value: (one) => one.verdict,
    render: (one) => (
      <span className={one.verdict === "named" ? "alarm strong" : "muted"} title={one.reasons.join("; ")}>
        {one.verdict}
      </span>
    ),
  },
  { key: "found", header: "found in", numeric: true, value: (one) => one.found_in },
  { key: "tested", header: "of sets tested", numeric: true, value: (one) => one.tested_in },
  { key: "q", header: "q over all sets", numeric: true, value: (one) => one.q, render: (one) => chance(one.q) },
];

export function SeveralSets({ by }: { by: By }) {
  const search = useSearch({ from: "/blame" });
  const navigate = useNavigate({ from: "/blame" });
  const definition = search.found ?? "ours";
  const answer = useQuery(severalQuery(by, definition));
  const found = answer.data;
  const chosen = found?.items.find((one) => one.name === search.name) ?? found?.items[0];
  refuseUnless(
    !found || answer.isFetching || search.name === undefined || chosen?.name === search.name,
    `"${search.name}" is not among the names found in several sets.`,
    "name",
  );
  return (
    <section className="card several-sets" aria-label="Found in several sets">
      <div className="card-head">
        <div className="card-title">
          <h2>Found in several sets</h2>
          <span className="subtitle">
            {found ? `${count(found.total)} in at least ${found.least_sets} of ${plural(found.sets, "set")}` : "…"}
          </span>
        </div>
        <Segmented
          label="Found means"
          value={definition}
          options={[
            { value: "ours", label: "Named", title: "Named in a set of runs" },
            { value: "paper", label: "As published", title: "Mutual information beyond chance in a set of runs" },
          ]}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, found: next === "paper" ? next : undefined, name: undefined }),
              replace: true,
            })
          }
        />
      </div>
      {answer.error && !found ? (
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      ) : !found ? (
        <Waiting what="the names of all sets" />
      ) : !found.items.length ? (
        <p className="muted">
          No {by} is found in {found.least_sets} sets or more.
        </p>
      ) : (
        <>
          <DataTable
            label="Found in several sets"
            rows={found.items}
            columns={columns}
            id={(one) => one.name}
            current={chosen?.name ?? null}
            onPick={(one) => void navigate({ search: (old) => ({ ...old, name: one.name }), replace: true })}
          />
          {chosen && (
            <div className="evidence" aria-label={`Evidence of ${chosen.name}`} role="group">
              <h3>{chosen.name}</h3>
              <p className="muted">{chosen.reasons.join("; ")}</p>
              <ul>
                {chosen.evidence.map((one) => (
                  <li key={`${one.exe} ${one.nodes}`}>
                    <Link
                      to="/blame"
                      search={{ ...search, exe: one.exe, nodes: one.nodes, who: one.place, name: chosen.name }}
                    >
                      {applicationText(one)}
                    </Link>
                    : {evidenceText(one, definition)}
                  </li>
                ))}
              </ul>
            </div>
          )}
          <p className="muted">{found.caveat}</p>
        </>
      )}
    </section>
  );
}
