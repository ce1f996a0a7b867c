// The pages that every check of form visits: axe, places of cards, targets of a finger.
import { atRest } from "./harness.mjs";

/** Addresses that every platform has. */
const FIXED = [
  "/",
  "/jobs",
  "/incidents",
  "/blame",
  "/drivers",
  "/forecast",
  "/lab",
  "/lab?view=noise",
  "/lab?replay=on",
  "/advice",
  "/advice?id=1",
  "/alerts",
  "/alerts?view=rules",
  "/alerts?view=rules&rule=group-stalls",
  "/alerts?view=silences",
  "/alerts?view=contacts",
  "/health",
  "/connect",
  "/login",
  "/admin",
];

/** Those and the fabric's views, two trees, a torus, a job with runs and one without, and an alert, of this platform. */
export async function pagesOf({ api, timed, fabrics }) {
  const jobs = (await api("/jobs?limit=200")).items;
  const job = jobs.find((one) => (one.runs ?? 0) > 0);
  const plain = jobs.find((one) => !one.runs && one.state === "RUNNING") ?? jobs.find((one) => !one.runs);
  const [own] = job ? (await api(`/jobs/${encodeURIComponent(job.job_id)}`)).runs : [];
  const alike = own ? (await api(`/runs?exe=${encodeURIComponent(own.exe)}&limit=50`)).items : [];
  const beside = alike.filter((run) => run.run_id !== own.run_id && run.ranks === own.ranks).slice(0, 2);
  const alert = (await api("/alerts?limit=1")).items[0];
  const stored = (await api("/incidents?limit=3")).items;
  const others = [
    ...fabrics.filter((one) => one.kind === "fat_tree").slice(0, 2),
    ...fabrics.filter((one) => one.kind === "torus").slice(0, 1),
  ];
  return [
    ...FIXED,
    ...["tiles", "ring", "group", "table", "links"].map((view) => `/fabric/${timed.name}?view=${view}`),
    `/fabric/${timed.name}?view=tiles&diff=on${job ? `&job=${encodeURIComponent(job.job_id)}` : ""}`,
    ...others.map((one) => `/fabric/${one.name}`),
    ...others.filter((one) => one.kind === "fat_tree" && one.snapshot).map((one) => `/fabric/${one.name}?measure=both`),
    ...[job, plain].filter(Boolean).map((one) => `/jobs/${encodeURIComponent(one.job_id)}`),
    ...(beside.length
      ? [`/jobs/${encodeURIComponent(job.job_id)}?compare=${beside.map((run) => run.run_id).join(",")}`]
      : []),
    ...stored.map((one) => `/incidents/${one.incident_id}`),
    ...(alert ? [`/alerts?alert=${alert.alert_id}`] : []),
    "/no-such-page",
  ];
}

/** Pages of a past moment, on a wall, of a part of a tree, with nothing to list, and of what there is not. */
export async function statesOf({ api, timed, fabrics }) {
  const job = (await api("/jobs?limit=200")).items.find((one) => (one.runs ?? 0) > 0);
  const tree = fabrics.find((one) => one.kind === "fat_tree" && one.snapshot);
  const newest = Date.parse(timed.last_ts);
  const ago = (minutes) => new Date(newest - minutes * 60_000).toISOString();
  return [
    `/?at=${ago(20)}`,
    "/?span=week",
    "/?wall=600",
    `/fabric/${timed.name}?view=ring&wall=600`,
    `/fabric/${timed.name}?from=${ago(30)}&to=${ago(20)}`,
    ...(tree ? ["stalls", "packets"].map((one) => `/fabric/${tree.name}?measure=${one}&slice=${tree.groups[1]}`) : []),
    ...(job ? [`/jobs/${job.job_id}?at=${new Date(Date.parse(job.start) + 600_000).toISOString()}`] : []),
    "/advice?id=2",
    "/blame?by=application",
    "/incidents?user=nobody",
    "/jobs?q=nothing-like-it",
    "/?at=banana",
    "/jobs/nosuch",
    "/incidents/99999999",
  ];
}

/** Opens a page and waits until it rests. */
export async function opened(page, address) {
  await page.goto(address);
  await atRest(page);
}
