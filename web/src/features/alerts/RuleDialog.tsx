/** A new rule from a chart: the chart's samples, the threshold on them, and when the rule would have fired, on one axis. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import * as v from "valibot";
import { type DryRun, dryRunShape, type Rule, rulesQuery, saveRule, testRule } from "../../api/alerts";
import { isOver, taskQuery } from "../../api/tasks";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { thresholdLayout } from "../../charts/intervals";
import { AccessButton } from "../../components/buttons";
import { Dialog } from "../../components/Dialog";
import { Unanswered } from "../../components/Notice";
import { clock, isoTime } from "../../lib/time";
import "./alerts.css";
import { reason, said } from "./DryRun";
import { ruleOf, ruleText, unitOf, type Watched } from "./standing";

interface Props {
  watched: Watched;
  onClose: () => void;
}

export default function RuleDialog({ watched, onClose }: Props) {
  const rules = useQuery(rulesQuery());
  return (
    <Dialog open title="Alert me on this" onClose={onClose}>
      {rules.data ? (
        <Form watched={watched} taken={new Set(rules.data.items.map((one) => one.rule.name))} onClose={onClose} />
      ) : (
        <Unanswered what="the rules" asked={[rules]} />
      )}
    </Dialog>
  );
}

function Form({ watched, taken, onClose }: Props & { taken: ReadonlySet<string> }) {
  const queries = useQueryClient();
  const [rule, setRule] = useState<Rule>(() => ruleOf(watched, taken));
  const [task, setTask] = useState<number | null>(null);
  const change = (next: Partial<Rule>) => {
    setRule((old) => ({ ...old, ...next }));
    // The result is of the rule as it was tried.
    setTask(null);
  };
  const { from, to } = watched.span;
  const tried = useMutation({
    mutationFn: () => testRule(rule, isoTime(from), isoTime(to)),
    onSuccess: (made) => setTask(made.task_id),
  });
  const answer = useQuery({
    ...taskQuery(task ?? 0),
    enabled: task !== null,
    refetchInterval: ({ state }) => (state.data && !isOver(state.data) ? 1000 : false),
  });
  const result = task !== null && answer.data?.task_id === task ? answer.data : undefined;
  const run = useMemo(() => {
    const parsed = result?.state === "succeeded" ? v.safeParse(dryRunShape, result.result) : null;
    return parsed?.success ? parsed.output : null;
  }, [result]);
  const keep = useMutation({
    mutationFn: () => saveRule(rule),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["alerts"] }),
  });
  const number = (label: string, key: "above" | "for_s", unit: string) => (
    <label>
      {label}
      <span className="field-unit">
        <input
          className="field"
          type="number"
          step="any"
          defaultValue={String(rule[key])}
          onChange={(event) => {
            const value = Number(event.target.value);
            if (event.target.value.trim() && Number.isFinite(value)) change({ [key]: value });
          }}
          required
        />
        <span className="muted">{unit}</span>
      </span>
    </label>
  );
  if (keep.data)
    return (
      <div role="status">
        <p>
          Rule <b>{rule.name}</b> is saved; the alert engine evaluates it from now on.
        </p>
        <p>
          <Link to="/alerts" search={{ view: "rules", rule: rule.name }}>
            Open the rule
          </Link>{" "}
          ·{" "}
          <Link to="/alerts" search={{ view: "contacts" }}>
            Recipients
          </Link>
        </p>
        <div className="dialog-buttons">
          <button className="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    );
  return (
    <form
      className="form rule-dialog"
      onSubmit={(event) => {
        event.preventDefault();
        keep.mutate();
      }}
    >
      <p className="muted">{`${ruleText(rule)}, ${Object.entries(rule.where)
        .map(([name, value]) => `${name} ${value}`)
        .join(", ")}`}</p>
      <OnAxis watched={watched} above={rule.signal === "stall_ratio" ? rule.above : null} run={run} />
      <p className="rule-said" role="status">
        {run
          ? said(run)
          : task !== null
            ? result && isOver(result)
              ? reason(result)
              : "Testing the rule over this period…"
            : rule.signal === "stall_ratio"
              ? "The dashed line is the threshold. Initially, 95 % of the values are below it."
              : "Forecasts of this application's runs, divided by their usual time."}
      </p>
      <div className="rule-dialog-fields">
        {number("Fires at or above", "above", unitOf(rule.signal))}
        {number("Held for", "for_s", "s")}
        <label>
          Severity
          <select
            className="field"
            value={rule.severity}
            onChange={(event) => change({ severity: event.target.value })}
          >
            <option>info</option>
            <option>warning</option>
            <option>critical</option>
          </select>
        </label>
        <label>
          Name
          <input
            className="field"
            value={rule.name}
            pattern="[a-z0-9][a-z0-9-]{0,79}"
            title="a-z, 0-9 and -"
            onChange={(event) => setRule({ ...rule, name: event.target.value })}
            required
          />
        </label>
      </div>
      {(tried.error ?? keep.error ?? answer.error) && (
        <p className="alarm" role="alert">
          {(tried.error ?? keep.error ?? answer.error)?.message}
        </p>
      )}
      {taken.has(rule.name) && <p className="alarm">A rule with this name exists. Saving changes it.</p>}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <AccessButton
          need="tasks"
          type="button"
          className="button"
          onClick={() => tried.mutate()}
          disabled={tried.isPending || (task !== null && !run && !(result && isOver(result)))}
        >
          Test on this period
        </AccessButton>
        <AccessButton need="operate" type="submit" className="button primary" disabled={keep.isPending}>
          Save the rule
        </AccessButton>
      </div>
    </form>
  );
}

/** The chart's samples with the threshold, and bands where the rule would have fired. */
function OnAxis({ watched, above, run }: { watched: Watched; above: number | null; run: DryRun | null }) {
  const [box, size] = useSize();
  const { from, to } = watched.span;
  // The axis is the whole span, also if nothing is known at its ends.
  const rows = useMemo(
    () => [{ at: from, value: NaN }, ...watched.samples, { at: to, value: NaN }],
    [watched.samples, from, to],
  );
  const layout = size && size.width > 120 ? thresholdLayout(rows, [above], { width: size.width, height: 150 }) : null;
  const label = `${unitOf(watched.signal)} over the time shown${above === null ? "" : `, threshold ${above}`}${run ? `: ${said(run)}` : ""}`;
  return (
    <div ref={box} className="chart-box rule-axis">
      {size && layout && (
        <svg width={size.width} height={150} role="img" aria-label={label}>
          {run?.alerts.map((fired, i) => {
            const begin = Math.max(layout.left, layout.x(fired.fired_s * 1000));
            const end = Math.min(layout.right, layout.x((fired.resolved_s ?? run.to_s) * 1000));
            return (
              <rect
                key={i}
                className="fired-band"
                x={begin}
                y={layout.top}
                width={Math.max(2, end - begin)}
                height={layout.bottom - layout.top}
              />
            );
          })}
          {watched.samples.length > 0 && (
            <ValueAxis ticks={layout.yTicks} y={layout.y} left={layout.left} right={layout.right} gap={6} />
          )}
          <BaseAxis ticks={layout.xTicks} x={layout.x} y={146} text={(tick) => clock(tick)} />
          {above !== null && (
            <line className="expected" x1={layout.left} x2={layout.right} y1={layout.y(above)} y2={layout.y(above)} />
          )}
          <path className="high" d={layout.path} />
        </svg>
      )}
    </div>
  );
}
