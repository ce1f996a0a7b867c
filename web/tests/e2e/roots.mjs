// Jobs on machines with and without a planted root of congestion (tests/e2e/test_page.py plants them): FLITWATCH_JOBS by machine, FLITWATCH_AT the moment.
import assert from "node:assert/strict";
import { violations } from "./axe.mjs";
import { start, until } from "./harness.mjs";

const suite = await start();
const { url, check, api } = suite;
const jobs = JSON.parse(process.env.FLITWATCH_JOBS);
const at = new Date(1000 * Number(process.env.FLITWATCH_AT)).toISOString();
const section = 'section[aria-label="Where congestion begins"]';

for (const machine of ["tree", "dragonfly"])
  await check(`on the ${machine} the job's page names the planted root, its tree and who feeds it`, async (page) => {
    const { root } = await api(`/jobs/${jobs[machine]}/explanation?at=${at}`);
    await page.goto(`${url}/jobs/${jobs[machine]}?at=${at}`);
    const card = page.locator(section);
    await until(
      () => card.textContent(),
      (text) => text.includes(`${root.src_name} → ${root.dst_name}`),
      "the root's link",
    );
    assert.match(await card.textContent(), /in the minute after the slowdown began/);
    assert.equal(await card.locator("ol li").count(), root.victims.length);
    assert.deepEqual(
      await card.locator(".root-tree a").evaluateAll((all) => all.map((one) => one.getAttribute("href").split("?")[0])),
      root.jobs.map((one) => `/jobs/${one.job_id}`),
    );
    assert.deepEqual(await violations(page), []);
  });

for (const machine of ["still", "calm"])
  await check(`on the ${machine} machine no root is claimed`, async (page) => {
    await page.goto(`${url}/jobs/${jobs[machine]}?at=${at}`);
    const card = page.locator(section);
    await until(
      () => card.textContent(),
      (text) => /No root of congestion at this job: 0 links of [\d,]+ counted are stalled/.test(text),
      "that there is none",
    );
    assert.equal(await card.locator(".root-tree").count(), 0);
  });

await suite.finish();
