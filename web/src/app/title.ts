/** What a tab, a bookmark and a screen reader call a page: its subject first, so that a reader can distinguish many open tabs. */
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

export function titleOf(path: string, { fabric, job, incident }: Subject): string {
  const name = NAMES[path.split("/")[1] ?? ""] ?? "No such page";
  if (incident !== undefined) return `Incident ${incident} · Flitwatch`;
  const subject = job !== undefined ? `Job ${job}` : fabric !== undefined ? `${fabric}, ${name.toLowerCase()}` : name;
  return `${subject} · Flitwatch`;
}
