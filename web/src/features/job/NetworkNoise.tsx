/** What the job's network cards say of the network: latency and waits against its own quiet times, and the share of that in its run time and slowdown. */
import { useQuery } from "@tanstack/react-query";
import { networkNoiseQuery, type NetworkNoise } from "../../api/networkNoise";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { exactDuration, ratio } from "../../lib/format";
import { shareText } from "./noiseSets";
import { address } from "../../api/client";

type Figure = NetworkNoise["figures"][number];

const columns: Column<Figure>[] = [
  { key: "figure", header: "Figure", value: (one) => `${one.label}, ${one.unit}` },
  { key: "mean", header: "Mean", numeric: true, value: (one) => one.mean, render: (one) => ratio(one.mean) },
  { key: "quiet", header: "Quiet", numeric: true, value: (one) => one.quiet, render: (one) => ratio(one.quiet) },
  {
    key: "dispersion",
    header: "Dispersion",
    numeric: true,
    value: (one) => one.dispersion,
    render: (one) => ratio(one.dispersion),
  },
];

export function NetworkNoiseCard({ job, cluster }: { job: string; cluster: string }) {
  const answer = useQuery(networkNoiseQuery(job, cluster));
  const noise = answer.data;
  return (
    <PictureCard
      title="Network noise at its network cards"
      name={`job-${job}-network-noise`}
      source={address(`/jobs/${encodeURIComponent(job)}/network-noise`, { cluster })}
      rows={noise?.figures ?? []}
      columns={columns}
      id={(one) => one.key}
      note={noise ? `${noise.cards_counted} of ${noise.cards} network cards counted` : undefined}
    >
      {noise ? <Said noise={noise} /> : <Unanswered what="the network noise" asked={[answer]} />}
    </PictureCard>
  );
}

function Said({ noise }: { noise: NetworkNoise }) {
  return (
    <div className="job-note">
      {noise.noise_s !== null && (
        <p>
          Sending took {exactDuration(noise.noise_s)} longer than in the job&apos;s quiet times:{" "}
          {shareText(noise.of_runtime, "the run time")}.
        </p>
      )}
      <p className="muted">
        {noise.noise_s === null ? shareText(noise.of_runtime, "the run time") : null}
        {noise.noise_s !== null && noise.of_slowdown.share !== null && "That is "}
        {noise.noise_s !== null && shareText(noise.of_slowdown, "the slowdown")}
      </p>
      {noise.figures.map((one) => (
        <p key={one.key}>
          {one.label}: {ratio(one.mean)} {one.unit}, quiet {ratio(one.quiet)}, dispersion {ratio(one.dispersion)}
        </p>
      ))}
      <p className="muted">{noise.method}</p>
    </div>
  );
}
