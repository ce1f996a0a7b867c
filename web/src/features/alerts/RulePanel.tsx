/** One rule: its thresholds may be changed and tried on the past; saving is a second step. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { saveRule, testRule } from "../../api/alerts";
import type { Rule, StoredRule } from "../../api/alertShapes";
import { AccessButton } from "../../components/AccessButton";
import { Segmented } from "../../components/Segmented";
import { save } from "../../lib/csv";
import { isoTime } from "../../lib/time";
import { DryRunResult, SPANS, type SpanName } from "./DryRun";
import { ruleText, unitOf } from "./standing";

type Field = "above" | "clear" | "for_s" | "probability";
const FIELDS: { key: Field; label: string; unit: (rule: Rule) => string; only?: string }[] = [
  { key: "above", label: "Fires at or above", unit: (rule) => unitOf(rule.signal) },
  { key: "clear", label: "Clears below", unit: (rule) => unitOf(rule.signal) },
  { key: "for_s", label: "Held for", unit: () => "s" },
  { key: "probability", label: "Probability at least", unit: () => "0 to 1", only: "slowdown" },
];

const asText = (value: number | null) => (value === null ? "" : String(value));

export function RulePanel({ stored }: { stored: StoredRule }) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Rule>(stored.rule);
  const [span, setSpan] = useState<SpanName>("7d");
  const changed = JSON.stringify(draft) !== JSON.stringify(stored.rule);
  const test = useMutation({
    mutationFn: () => {
      const to = Math.floor(Date.now() / 60_000) * 60_000;
      return testRule(draft, isoTime(to - SPANS[span].ms), isoTime(to));
    },
    onSuccess: (task) =>
      void navigate({ search: { view: "rules", rule: stored.rule.name, task: task.task_id }, replace: true }),
  });
  const keep = useMutation({
    mutationFn: () => saveRule(draft),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["alerts"] }),
  });
  const set = (key: Field, text: string) =>
    setDraft((old) => {
      const value = text.trim() === "" ? null : Number(text);
      if (value === null && (key === "above" || key === "for_s")) return old;
      return value !== null && !Number.isFinite(value) ? old : { ...old, [key]: value };
    });
  return (
    <>
      <section className="card rule-panel" aria-label="Rule">
        <div className="card-head">
          <div className="card-title">
            <h2>{stored.rule.name}</h2>
            <span className="subtitle">{ruleText(draft)}</span>
          </div>
        </div>
        <p className="alerts-note">{stored.rule.summary || "No description."}</p>
        <div className="rule-fields">
          {FIELDS.filter((field) => !field.only || field.only === draft.signal).map(({ key, label, unit }) => (
            <label key={key}>
              {label}
              <input
                className="field"
                type="number"
                step="any"
                defaultValue={asText(draft[key])}
                placeholder={key === "clear" ? asText(draft.above) : undefined}
                onChange={(event) => set(key, event.target.value)}
              />
              <span className="muted">{unit(draft)}</span>
            </label>
          ))}
          <label>
            Enabled
            <input
              type="checkbox"
              checked={draft.enabled}
              onChange={(event) => setDraft({ ...draft, enabled: event.target.checked })}
            />
          </label>
        </div>
        <div className="alert-actions">
          <Segmented
            label="Over"
            value={span}
            options={(Object.keys(SPANS) as SpanName[]).map((name) => ({ value: name, label: SPANS[name].label }))}
            onChange={setSpan}
          />
          <AccessButton need="tasks" className="button primary" onClick={() => test.mutate()} disabled={test.isPending}>
            Try it
          </AccessButton>
        </div>
        <div className="alert-actions rule-keep">
          <button
            className="button"
            onClick={() => save(`${stored.rule.name}.json`, JSON.stringify(draft, null, 2), "application/json")}
          >
            JSON
          </button>
          <AccessButton
            need="operate"
            className="button"
            onClick={() => keep.mutate()}
            disabled={!changed || keep.isPending}
          >
            Save the rule
          </AccessButton>
        </div>
        {(test.error ?? keep.error) && (
          <p className="alarm alerts-note" role="alert">
            {(test.error ?? keep.error)?.message}
          </p>
        )}
      </section>
      {search.task !== undefined && <DryRunResult key={search.task} task={search.task} signal={draft.signal} />}
    </>
  );
}
