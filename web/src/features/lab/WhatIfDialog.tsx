/** A moment of the past again: which job, where else it could have stood, how else its packets could have gone. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { fabricsQuery, occupancyQuery } from "../../api/queries";
import { startTask } from "../../api/tasks";
import { AccessButton } from "../../components/buttons";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Unanswered } from "../../components/Notice";
import { duration, plural } from "../../lib/format";
import { isoTime, parseTime } from "../../lib/time";
import type { LabSearch } from "../addresses";
import { type Pattern, PATTERNS, type Placement, PLACEMENTS, type Routing, ROUTINGS } from "./replays";

interface Props {
  search: LabSearch;
  onStarted: (task: number) => void;
  onClose: () => void;
}

export function WhatIfDialog({ search, onStarted, onClose }: Props) {
  const queries = useQueryClient();
  const machines = useQuery(fabricsQuery());
  const fabrics = machines.data?.items.filter((f) => !f.snapshot && f.last_ts !== null && ROUTINGS[f.kind]) ?? [];
  const [chosen, setChosen] = useState(search.fabric ?? "");
  const windowS = Math.min(3600, Math.max(1, search.window ?? 300));
  const named = fabrics.find((f) => f.name === chosen || String(f.id) === chosen);
  const fabric = named ?? (chosen ? undefined : fabrics[0]);
  const [time, setTime] = useState(search.at ?? "");
  const at = parseTime(time) ?? parseTime(fabric?.last_ts);
  const occupancy = useQuery({ ...occupancyQuery(fabric?.id ?? 0, at), enabled: fabric !== undefined && at !== null });
  const held = occupancy.isPlaceholderData ? undefined : occupancy.data?.jobs;
  const present = held?.filter((one) => (one.nodes ?? 2) > 1) ?? [];
  const [job, setJob] = useState(search.job ?? "");
  const moved = job || (present[0]?.job_id ?? "");
  // Another job in its place would be an answer to a question that nobody asked.
  const refusal = !machines.data
    ? null
    : chosen && !named
      ? `No replay of ${chosen}: it has no counters over time, or this kind of fabric cannot be simulated. Choose another machine.`
      : !held || !job || present.some((one) => one.job_id === job)
        ? null
        : held.some((one) => one.job_id === job)
          ? `Job ${job} has one node and sends nothing over the fabric. Choose another job.`
          : `Job ${job} did not run at ${at === null ? "that time" : `${isoTime(at).replace("T", " ").replace("Z", "")} UTC`}. Choose a moment of its run, or another job.`;
  const routings = ROUTINGS[fabric?.kind ?? "dragonfly"] ?? [];
  const [placements, setPlacements] = useState<Placement[]>(["as-it-was", "random-router"]);
  const [modes, setModes] = useState<Routing[]>(["adaptive0", "adaptive3", "ftree", "hw-adaptive", "dor"]);
  const [pattern, setPattern] = useState<Pattern>("stencil3d");
  const [kib, setKib] = useState("100");
  const [seeds, setSeeds] = useState("5");
  const used = modes.filter((mode) => routings.includes(mode));
  const runs = placements.length * used.length * Number(seeds);
  const start = useMutation({
    mutationFn: () =>
      startTask("sim.whatif", {
        fabric: fabric?.name,
        at_s: (at ?? 0) / 1000,
        job: moved,
        window_s: windowS,
        pattern,
        bytes: Math.round(Number(kib) * 1024),
        placements: PLACEMENTS.filter((p) => placements.includes(p)),
        routings: used,
        seeds: Number(seeds),
      }),
    onSuccess: (task) => {
      void queries.invalidateQueries({ queryKey: ["tasks"] });
      onStarted(task.task_id);
    },
  });
  const toggle = <Name extends string>(list: Name[], one: Name) =>
    list.includes(one) ? list.filter((other) => other !== one) : [...list, one];
  const checks = <Name extends string>(title: string, all: Name[], list: Name[], set: (next: Name[]) => void) => (
    <fieldset className="lab-checks">
      <legend>{title}</legend>
      {all.map((one) => (
        <label key={one}>
          <input type="checkbox" checked={list.includes(one)} onChange={() => set(toggle(list, one))} />
          {one}
        </label>
      ))}
    </fieldset>
  );
  return (
    <Dialog open title="Replay with another placement (simulated)" onClose={onClose}>
      <form
        className="form rows"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <label>
          <span>Machine</span>
          <select className="field" value={fabric?.name ?? ""} onChange={(event) => setChosen(event.target.value)}>
            {fabrics.map((f) => (
              <option key={f.id}>{f.name}</option>
            ))}
          </select>
        </label>
        <label>
          <span>End of the window of {duration(windowS)}, UTC</span>
          <input
            className="field"
            value={time}
            placeholder={at === null ? "" : isoTime(at)}
            onChange={(event) => setTime(event.target.value)}
          />
        </label>
        <label>
          <span>Job to move</span>
          <select className="field" value={moved} onChange={(event) => setJob(event.target.value)}>
            {job && !present.some((one) => one.job_id === job) && <option value={job}>{job}</option>}
            {present.map((one) => (
              <option
                key={one.job_pk}
                value={one.job_id}
              >{`${one.job_id} ${one.name ?? ""}${one.nodes === null ? "" : `, ${plural(one.nodes, "node")}`}`}</option>
            ))}
          </select>
        </label>
        {checks("Placements", PLACEMENTS, placements, setPlacements)}
        {checks("Routing", routings, used, (next) =>
          setModes([...modes.filter((mode) => !routings.includes(mode)), ...next]),
        )}
        <label>
          <span>What the job sends (not recorded)</span>
          <select className="field" value={pattern} onChange={(event) => setPattern(event.target.value as Pattern)}>
            {PATTERNS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          <span>Message size per rank, KiB</span>
          <input
            className="field"
            type="number"
            min={1}
            max={900000}
            value={kib}
            onChange={(event) => setKib(event.target.value)}
            required
          />
        </label>
        <label>
          <span>Seeds</span>
          <input
            className="field"
            type="number"
            min={1}
            max={20}
            value={seeds}
            onChange={(event) => setSeeds(event.target.value)}
            required
          />
        </label>
        <p className="muted">
          The other jobs keep their nodes and send at the rates that their routers counted. {plural(runs, "simulation")}
          .
        </p>
        <Unanswered
          line
          what="the jobs of that moment"
          asked={fabric && at !== null ? [machines, occupancy] : [machines]}
        />
        {refusal && (
          <p className="alarm" role="alert">
            {refusal}
          </p>
        )}
        <DialogEnd error={start.error} onClose={onClose}>
          <AccessButton
            need="tasks"
            type="submit"
            className="button primary"
            disabled={start.isPending || !moved || !held || refusal !== null || runs < 1}
          >
            Replay it
          </AccessButton>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
