/** Connect your own data: every source with its commands, what it needs, and a live check of what has arrived. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { arrivalsQuery, fabricsQuery, ingestQuery, type SourceArrivals } from "../../api/queries";
import { CopyButton } from "../../components/buttons";
import { Unplaced } from "../../components/Figure";
import { Failure, Waiting } from "../../components/Notice";
import { count, duration, plural } from "../../lib/format";
import { currentMachine, machineStore } from "../../lib/machine";
import { useStore } from "../../lib/store";
import { parseTime } from "../../lib/time";
import "./connect.css";

/** Commands of a source with this site's own address and the machine's name. */
interface Site {
  origin: string;
  hostname: string;
  fabric: string | null;
}

/** A name that a shell takes as one word. */
const word = (text: string) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export const filled = (template: string, { origin, hostname, fabric }: Site): string =>
  template.replace(/\{(site|host|fabric)\}/g, (_, name: string) =>
    name === "site" ? origin : name === "host" ? hostname : word(fabric ?? "MACHINE"),
  );

export function ConnectPage() {
  const arrivals = useQuery(arrivalsQuery());
  const fabrics = useQuery(fabricsQuery()).data?.items;
  const topics = useQuery(ingestQuery()).data?.topics ?? [];
  const remembered = useStore(machineStore);
  if (arrivals.error && !arrivals.data)
    return <Failure page error={arrivals.error} retry={() => void arrivals.refetch()} />;
  if (!arrivals.data) return <Waiting what="what has arrived" />;
  const { sources, simulated, unknown, machines, now, recent_s } = arrivals.data;
  // The commands are for a machine of the reader's own, never for the simulated one.
  const own = fabrics?.filter((one) => !one.simulated) ?? [];
  const site: Site = {
    origin: location.origin,
    hostname: location.hostname,
    fabric: currentMachine(own, remembered)?.name ?? null,
  };
  const at = parseTime(now) ?? Date.now();
  const open = sources.filter((source) => source.last_at !== null).length;
  const minutes = Math.round(recent_s / 60);
  return (
    <div className="connect-page">
      <div className="context">
        <h1>Connect your own data</h1>
        <span className="subtitle" role="status">
          {open ? `${open} of ${sources.length} sources have received data` : "No source has received data yet"}
        </span>
      </div>
      <section className="card connect-summary" aria-label="Machines">
        <p>
          Each source shows its commands and the records that have arrived from it. The page refreshes every five
          seconds.
          {site.fabric === null &&
            " Replace MACHINE with the name of your machine. Its topology has not been imported yet."}
        </p>
        {(simulated > 0 || unknown > 0) && (
          <p className="muted">
            {simulated > 0 && `${count(simulated)} records of the simulated machine in ${minutes} minutes. `}
            {unknown > 0 && `${count(unknown)} records in ${minutes} minutes are from an unknown source.`}
          </p>
        )}
        {topics
          .filter((topic) => topic.unplaced)
          .map((topic) => (
            <p key={topic.topic} className="connect-unplaced">
              <strong>{topic.topic}</strong>:{" "}
              <Unplaced records={topic.unplaced} because={topic.unplaced_because} explained />
            </p>
          ))}
        {machines.map((machine) => (
          <p key={machine.fabric} className="muted">
            <strong>{machine.fabric}</strong>
            {machine.simulated && " (simulated)"}: {count(machine.reporting)} of {plural(machine.devices, "device")}{" "}
            reported in the last ten minutes
          </p>
        ))}
        <nav aria-label="Sources">
          {sources.map((source) => (
            <a key={source.key} href={`#${source.key}`} data-open={source.last_at !== null || undefined}>
              {source.title}
            </a>
          ))}
        </nav>
      </section>
      <div className="connect-grid">
        {sources.map((source) => (
          <SourceCard key={source.key} source={source} site={site} at={at} minutes={minutes} />
        ))}
      </div>
      <p className="card-note muted">
        For how each source was tested, see <a href="/docs/sources/">the documentation</a>. All refused records are
        listed in <Link to="/health">Ingest health</Link>.
      </p>
    </div>
  );
}

function SourceCard({
  source,
  site,
  at,
  minutes,
}: {
  source: SourceArrivals;
  site: Site;
  at: number;
  minutes: number;
}) {
  return (
    <section className="card connect-source" id={source.key} aria-label={source.title}>
      <div className="card-head">
        <div className="card-title">
          <h2>{source.title}</h2>
        </div>
        {source.scope && <span className="tag">token: {source.scope}</span>}
      </div>
      <div className="connect-body">
        <Arrived source={source} at={at} minutes={minutes} />
        <p>{source.about}</p>
        {source.commands.map((template, index) => {
          const command = filled(template, site);
          return (
            <div className="connect-command" key={template}>
              <code>{command}</code>
              <CopyButton text={command} what={`command ${index + 1} of ${source.title}`} />
            </div>
          );
        })}
        <h3>Needed</h3>
        <ul>
          {source.needs.map((need) => (
            <li key={need}>{filled(need, site)}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function Arrived({ source, at, minutes }: { source: SourceArrivals; at: number; minutes: number }) {
  const last = parseTime(source.last_at);
  return (
    <div className="connect-live" data-state={last === null ? "nothing" : source.recent ? "now" : "before"}>
      {last === null ? (
        <span>Nothing yet</span>
      ) : (
        <span>
          <strong>{plural(source.recent, "record")}</strong> in the last {minutes} minutes · {count(source.records)} in
          all · the last {duration(Math.max(0, (at - last) / 1000))} ago
        </span>
      )}
      {source.refused.map((one) => (
        <p className="connect-refused" key={`${one.at} ${one.where} ${one.reason}`}>
          <strong className="alarm">{count(one.records)} refused</strong> in the last day: {one.reason}
          {one.where && <span className="muted"> · {one.where}</span>}
        </p>
      ))}
    </div>
  );
}
