// Long time axes over the real API: a machine with a year of hours whose stalls double on a day that the test names, and a time before its first data.
import assert from "node:assert/strict";
import { violations } from "./axe.mjs";
import { query, ready, start, until } from "./harness.mjs";

const suite = await start();
const { url, check } = suite;
const fabric = `${url}/fabric/year`;

/** Points of a line of the axis, in pixels; drawn once its first is there. */
const points = async (page, line) => {
  // A level line has no height, so that no browser calls it visible.
  await page.waitForSelector(`.brush path.${line}[d^="M"]`, { state: "attached" });
  const drawn = await page.locator(`.brush path.${line}`).getAttribute("d");
  return [...drawn.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => ({ x: Number(x), y: Number(y) }));
};
const choose = async (page, span) => {
  await page.locator(".context button", { hasText: /^Time axis/ }).click();
  await page.locator('[role="menuitem"]', { hasText: new RegExp(`^${span}$`) }).click();
};

for (const [label, span, least] of [
  ["30 d", "30d", 300],
  ["1 y", "1y", 300],
])
  await check(`an axis of ${label} is chosen in the menu and shows a curve`, async (page) => {
    const refused = [];
    page.on("response", (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
    await page.goto(fabric);
    await ready(page);
    await choose(page, label);
    await until(
      () => query(page),
      (asked) => asked.span === span,
      "the span in the address",
    );
    const curve = await until(
      () => points(page, "high"),
      (drawn) => drawn.length >= least,
      "points of the curve",
    );
    assert.ok(curve.length <= 401, `${curve.length} points`);
    assert.ok(curve.at(-1).x - curve[0].x > 1000, "the curve fills the axis");
    assert.equal(await page.getByText("cannot be shown").count(), 0);
    assert.deepEqual(refused, []);
    assert.deepEqual(await violations(page), []);
  });

await check("a year shows the shift at its day, its gap as a gap, and how much was counted", async (page) => {
  await page.goto(`${fabric}?span=1y`);
  await ready(page);
  const curve = await until(
    () => points(page, "high"),
    (drawn) => drawn.length >= 300,
    "points of the year",
  );
  const steps = curve
    .slice(1)
    .map((point, i) => ({ x: point.x, rise: curve[i].y - point.y, ahead: point.x - curve[i].x }));
  const shift = steps.reduce((most, step) => (step.rise > most.rise ? step : most));
  const wide = steps.reduce((most, step) => (step.ahead > most.ahead ? step : most));
  const { from, to } = JSON.parse(process.env.FLITWATCH_AXIS);
  // The first day is drawn no further left than the axis.
  const day = curve[2].x - curve[1].x;
  const at = (seconds) => curve[1].x + ((seconds - from) / 86_400 - 1) * day;
  assert.ok(Math.abs(shift.x - at(Number(process.env.FLITWATCH_SHIFT))) <= 1.5 * day, "the shift's day");
  assert.ok(wide.ahead > 4 * day && to > from, "no line is drawn through the gap's days");
  assert.match(await page.locator(".brush .counted-share").textContent(), /^counted in 99 % of this time$/);
});

await check("a year without data says so, and draws nothing", async (page) => {
  await page.goto(`${fabric}?span=1y&from=2023-05-01T00:00:00Z&to=2023-06-01T00:00:00Z`);
  await page.getByText("No counters in this period").waitFor();
  assert.equal(await page.locator(".brush path.high").getAttribute("d"), "");
});

await suite.finish();
