/** What a tab, a bookmark and a screen reader call a page: its subject first, so that a reader can distinguish many open tabs. */
import { clock, day, ZONE } from "../lib/time";

const NAMES: Record<string, string> = {
  "": "Now",
  fabric: "Fabric",
  jobs: "Jobs",
  incidents: "Incidents",
  blame: "Blame",
  drivers: "Drivers",
  forecast: "Forecast",
  lab: "Lab",
  advice: "Advice",
  alerts: "Alerts",
  health: "Ingest health",
  connect: "Connect your own data",
  admin: "People",
  login: "Sign in",
};

interface Subject {
  fabric?: string;
  job?: string;
  incident?: string;
}

/** `at`: the moment of the past that the page shows, in milliseconds; null: it is live. */
export function titleOf(path: string, { fabric, job, incident }: Subject, at: number | null = null): string {
  const name = NAMES[path.split("/")[1] ?? ""] ?? "No such page";
  if (incident !== undefined) return `Incident ${incident} · Flitwatch`;
  const subject = job !== undefined ? `Job ${job}` : fabric !== undefined ? `${fabric}, ${name.toLowerCase()}` : name;
  if (at === null) return `${subject} · Flitwatch`;
  const then = `${day(at, true)} ${clock(at)} ${ZONE}`;
  return `${subject === NAMES[""] ? then : `${subject}, ${then}`} · Flitwatch`;
}
