/** What the job's network cards say of the network: latency and waits against its own quiet times, and the share of that in its run time and slowdown. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { address } from "../../api/client";
import { compareNoise, type NetworkNoise, networkNoiseQuery, type NoiseComparison } from "../../api/noise";
import type { Column } from "../../components/DataTable";
import { Failure, Unanswered, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { lostTime, ratio } from "../../lib/format";
import { figureText, guidelineText, readSet, shareText } from "./noise";

// Two sets of runs by the counters of their network cards, as far as published guidelines allow the comparison.

export function NoiseSets({ runs }: { runs: number[] }) {
  const half = Math.ceil(runs.length / 2);
  const [texts, setTexts] = useState([runs.slice(0, half).join(", "), runs.slice(half).join(", ")]);
  const compare = useMutation({ mutationFn: compareNoise });
  const [first, second] = texts.map(readSet);
  const ask = (event: FormEvent) => {
    event.preventDefault();
    if (first && second) compare.mutate({ first, second });
  };
  return (
    <section className="card job-note" aria-label="Compare two sets of runs">
      <h2>Compare two sets of runs</h2>
      <p className="muted">Ids of runs, or “job” and ids of jobs. Only runs on the same nodes are compared.</p>
      <form className="noise-sets" onSubmit={ask}>
        {texts.map((written, at) => (
          <label key={at}>
            {at === 0 ? "First set" : "Second set"}
            <input
              value={written}
              onChange={(event) => setTexts(texts.map((text, other) => (other === at ? event.target.value : text)))}
              aria-invalid={written.trim() !== "" && !readSet(written)}
            />
          </label>
        ))}
        <button type="submit" className="button" disabled={!first || !second || compare.isPending}>
          Compare
        </button>
      </form>
      {compare.isPending && <Waiting what="the comparison" />}
      {compare.error && <Failure error={compare.error} />}
      {compare.data && <Difference found={compare.data} />}
    </section>
  );
}

function Difference({ found }: { found: NoiseComparison }) {
  const leftOut = [...found.first.left_out, ...found.second.left_out];
  return (
    <div role="status">
      <p>
        <strong>{found.verdict}</strong>
        {found.simulated && " (simulated)"}: {found.why}
      </p>
      {found.figures.map((one) => {
        const text = figureText(one);
        return text && <p key={one.key}>{text}</p>;
      })}
      {found.guidelines.map((one) => (
        <p key={one.number} className="muted">
          {guidelineText(one)}
        </p>
      ))}
      {leftOut.map((one) => (
        <p key={one.number} className="muted">
          Without {one.number}: {one.why}
        </p>
      ))}
    </div>
  );
}

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
          Sending took {lostTime(noise.noise_s)} longer than in the job&apos;s quiet times:{" "}
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
