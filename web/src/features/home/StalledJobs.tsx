import { Link } from "@tanstack/react-router";
import type { Story } from "../../api/incident";
import { Swatch } from "../../charts/legends";
import { heatColour } from "../../charts/scale";
import { SeverityMark } from "../../components/Icon";
import { PageLink } from "../../components/buttons";
import { change, count, ratio } from "../../lib/format";
import type { ThemeName } from "../../lib/theme";
import { moment as momentText } from "../../lib/time";
import type { Item, JobStall } from "./attention";

/** One line of what needs attention: what, what is at stake, since when, and where the evidence is. */
export function ItemRow({ item, current, now }: { item: Item; current: boolean; now: number }) {
  return (
    <li className="home-item" data-current={current || undefined} aria-current={current || undefined}>
      <SeverityMark level={item.level} />
      <div className="ellipsis">
        <div className="home-title ellipsis" title={item.title}>
          {item.title}
        </div>
        <div className="subtitle ellipsis" title={item.detail}>
          {item.detail}
        </div>
      </div>
      <span className="home-stake">{item.stake}</span>
      <span className="home-at">{item.at === null ? "" : momentText(item.at, now)}</span>
      <PageLink href={item.href} aria-label={`${item.action}: ${item.title}`}>
        {item.action} →
      </PageLink>
    </li>
  );
}

interface Props {
  stalls: JobStall[];
  ratioWord: string;
  /** The present incident: what a job is in it is next to its name. */
  story: Story | null;
  at: string | undefined;
  theme: ThemeName;
}

/** Jobs by the stalls on their routers; a job here may cause them or suffer from them. */
export function StalledJobs({ stalls, ratioWord, story, at, theme }: Props) {
  const victims = new Set(story?.victims.map((one) => one.job_pk));
  const role = (job: number) =>
    job === story?.aggressor?.job_pk ? "causes it" : victims.has(job) ? "slowed" : undefined;
  return (
    <table className="tight">
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">User</th>
          <th scope="col" className="numeric">
            Nodes
          </th>
          <th scope="col" className="numeric">
            {ratioWord}
          </th>
          <th scope="col" className="numeric">
            vs machine
          </th>
        </tr>
      </thead>
      <tbody>
        {stalls.map(({ job, ratio: own, factor }) => (
          <tr key={job.job_pk}>
            <td className="ellipsis">
              <Link to="/jobs/$job" params={{ job: job.job_id }} search={{ at }}>
                {job.job_id} {job.name ?? ""}
              </Link>{" "}
              {role(job.job_pk) && <span className="tag">{role(job.job_pk)}</span>}
            </td>
            <td className="ellipsis">{job.user ?? "–"}</td>
            <td className="numeric">{count(job.nodes)}</td>
            <td className="numeric">
              <Swatch colour={heatColour(own, theme)} />
              {ratio(own)}
            </td>
            <td className="numeric">{change(factor)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
