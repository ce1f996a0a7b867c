// The page in a real Chromium: `npm run e2e [pattern of names]` against FLITWATCH_URL, or against the fixture server where none is named.
// Checks that need the fixture's switches (silence, failure, hostile names) are said to be skipped elsewhere.
import { access } from "./checks/access.mjs";
import { addresses } from "./checks/addresses.mjs";
import { alerts } from "./checks/alerts.mjs";
import { accessible } from "./checks/axe.mjs";
import { connect } from "./checks/connect.mjs";
import { dates } from "./checks/dates.mjs";
import { estimates } from "./checks/estimates.mjs";
import { exports } from "./checks/exports.mjs";
import { fabricPage } from "./checks/fabric.mjs";
import { home } from "./checks/home.mjs";
import { incidents } from "./checks/incidents.mjs";
import { jobPage } from "./checks/job.mjs";
import { hotLinks } from "./checks/links.mjs";
import { layout } from "./checks/layout.mjs";
import { ownRuns } from "./checks/ownRuns.mjs";
import { people } from "./checks/people.mjs";
import { moments } from "./checks/moments.mjs";
import { recommendations } from "./checks/recommendations.mjs";
import { switches } from "./checks/switches.mjs";
import { refusals } from "./checks/refusals.mjs";
import { search } from "./checks/search.mjs";
import { shifts } from "./checks/shift.mjs";
import { stale } from "./checks/stale.mjs";
import { ways } from "./checks/ways.mjs";
import { timelapse } from "./checks/timelapse.mjs";
import { tour } from "./checks/tour.mjs";
import { touch } from "./checks/touch.mjs";
import { visits } from "./checks/visits.mjs";
import { wall } from "./checks/wall.mjs";
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
