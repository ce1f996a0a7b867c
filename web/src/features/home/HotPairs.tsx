import { Link } from "@tanstack/react-router";
import { capital, wordsOf } from "../../machine/words";
import { Fragment } from "react";
import type { Occupancy } from "../../api/shapes";
import { Swatch } from "../../charts/legends";
import { heatColour } from "../../charts/scale";
import { ratio } from "../../lib/format";
import type { ThemeName } from "../../lib/theme";
import type { Scene } from "../../machine/scene";

interface Props {
  pairs: { src: number; dst: number; ratio: number }[];
  scene: Scene | null;
  jobs: Occupancy["jobs"];
  when: { from?: string; to?: string };
  theme: ThemeName;
}

const SHOWN = 2;

/** Jobs with nodes in both groups, those with most there first: shortest paths between their own nodes take these links. */
export function jobsBetween(jobs: Occupancy["jobs"], group: ArrayLike<number | null>, src: number, dst: number) {
  return jobs
    .map((job) => {
      let [there, here] = [0, 0];
      for (const router of job.routers) {
        if (group[router] === src) there++;
        if (group[router] === dst) here++;
      }
      return { job, weight: there * here };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ job }) => job);
}

export function HotPairs({ pairs, scene, jobs, when, theme }: Props) {
  const group = scene?.machine.group ?? [];
  return (
    <table className="tight hot-pairs">
      <thead>
        <tr>
          <th scope="col">Groups</th>
          <th scope="col">Jobs with nodes in both</th>
          <th scope="col" className="numeric">
            {capital(wordsOf(scene?.fabric ?? null).ratio)}
          </th>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair) => {
          const using = jobsBetween(jobs, group, pair.src, pair.dst);
          return (
            <tr key={`${pair.src} ${pair.dst}`}>
              <td>
                <Swatch colour={heatColour(pair.ratio, theme)} />
                <Link
                  to="/fabric/$fabric"
                  params={{ fabric: scene?.fabric.name ?? "" }}
                  search={{ ...when, view: "group", router: Math.max(0, Array.from(group).indexOf(pair.src)) }}
                >
                  g{pair.src} → g{pair.dst}
                </Link>
              </td>
              <td className="ellipsis">
                {using.slice(0, SHOWN).map((job) => (
                  <Fragment key={job.job_pk}>
                    <Link to="/jobs/$job" params={{ job: job.job_id }} search={{ at: when.to }}>
                      {job.job_id}
                    </Link>{" "}
                  </Fragment>
                ))}
                {using.length > SHOWN && <span className="muted">+{using.length - SHOWN}</span>}
                {!using.length && <span className="muted">none</span>}
              </td>
              <td className="numeric">{ratio(pair.ratio)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
