// The page in a real Chromium: `npm run e2e [pattern of names [area]]` against FLITWATCH_URL, or against the fixture server where none is named.
// Checks that need the fixture's switches (silence, failure, hostile names) are said to be skipped elsewhere.
import assert from "node:assert/strict";
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

/** Each area's parts in turn: those that change what is stored, or stop the fixture's clock, are its last ones. */
const AREAS = {
  navigation: [addresses, ways, search, dates],
  accessible: [accessible],
  layout: [layout],
  shifts: [shifts],
  screen: [touch, wall],
  fabric: [fabricPage],
  exports: [exports, connect],
  machine: [hotLinks, switches, timelapse, moments, stale],
  refusals: [refusals],
  home: [home],
  jobs: [estimates, jobPage, recommendations, ownRuns],
  incidents: [incidents],
  alerts: [alerts],
  people: [access, tour, people, visits],
};
const [only, area] = process.argv.slice(2);
assert(area === undefined || area in AREAS, `there is no area ${area}; choose one of ${Object.keys(AREAS).join(", ")}`);
const suite = await start({ groups: 34, only });
const { items: fabrics } = await suite.api("/fabrics");
const timed = fabrics.find((f) => !f.snapshot && f.last_ts !== null && f.kind === "dragonfly") ?? fabrics[0];
const site = { ...suite, fabrics, timed, fabricUrl: `${suite.url}/fabric/${encodeURIComponent(timed.name)}` };
for (const part of area ? AREAS[area] : Object.values(AREAS).flat()) await part(site);
await suite.finish();
