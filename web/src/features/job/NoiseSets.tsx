/** Two sets of runs by the counters of their network cards, as far as published guidelines allow the comparison. */
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { compareNoise, type NoiseComparison } from "../../api/networkNoise";
import { Failure, Waiting } from "../../components/Notice";
import { figureText, guidelineText, readSet } from "./noiseSets";

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
