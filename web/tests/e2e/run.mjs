// The page in a real Chromium: `npm run e2e [pattern of names]` against FLITWATCH_URL, or against the fixture server where none is named.
// Checks that need the fixture's switches (silence, failure, hostile names) are said to be skipped elsewhere.
import { alerts } from "./checks/alerts.mjs";
import { connect, exports } from "./checks/exports.mjs";
import { fabricPage } from "./checks/fabric.mjs";
import { home } from "./checks/home.mjs";
import { incidents } from "./checks/incidents.mjs";
import { estimates, jobPage, ownRuns, recommendations } from "./checks/jobs.mjs";
import { hotLinks, moments, stale, switches, timelapse } from "./checks/machine.mjs";
import { addresses, dates, search, ways } from "./checks/navigation.mjs";
import { access, people, tour, visits } from "./checks/people.mjs";
import { refusals } from "./checks/refusals.mjs";
import { accessible, layout, shifts, touch, wall } from "./checks/screen.mjs";
import { start } from "./harness.mjs";

const suite = await start({ groups: 34, only: process.argv[2] });
const { items: fabrics } = await suite.api("/fabrics");
const timed = fabrics.find((f) => !f.snapshot && f.last_ts !== null && f.kind === "dragonfly") ?? fabrics[0];
const site = { ...suite, fabrics, timed, fabricUrl: `${suite.url}/fabric/${encodeURIComponent(timed.name)}` };
const inTurn = async (parts) => {
  for (const part of parts) await part(site);
};
// What only reads runs beside the rest; the others change what is stored, or stop the fixture's clock, and have the platform to themselves.
await Promise.all([
  inTurn([addresses, accessible, touch, shifts]),
  inTurn([fabricPage, exports, estimates, hotLinks, layout, dates, home, connect]),
  inTurn([switches, timelapse, moments, refusals, ways, access, search, tour, wall]),
]);
await inTurn([jobPage, incidents, alerts, people, recommendations, ownRuns, stale, visits]);
await suite.finish();
