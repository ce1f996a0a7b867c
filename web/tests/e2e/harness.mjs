// One browser, one platform, and checks against them; each check has a page of its own and fails on any error of the page.
import assert from "node:assert/strict";
import { launch, platform } from "./browser.mjs";

export async function until(probe, wanted, what, ms = 30_000) {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    last = await probe();
    if (wanted(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${what}: still ${JSON.stringify(last)} after ${ms} ms`);
}

/** The parameters in the page's address. */
export const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);
/** The panel beside the picture has its answer: the selected router, or a tree's diagnosis. */
export const ready = (page) =>
  page.waitForSelector('aside[aria-label^="Selected"] h2, aside[aria-label="Diagnosis"] h2');
export const title = (page) => page.locator('aside[aria-label^="Selected"] h2').textContent();
/** How many different colours the first picture holds. */
export const colours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".view-box canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });

export async function start({ groups = 34, only } = {}) {
  const { url, fixture, stop } = await platform({ groups });
  const browser = await launch();
  const failed = [];
  let done = 0;

  /** One try of a check on a page of its own; gives what went wrong, if anything did. */
  async function attempt({ name, run, viewport, colorScheme }) {
    const context = await browser.newContext({ viewport, colorScheme });
    // The tour is for a first visit; its own checks ask for one.
    await context.addInitScript(() => {
      try {
        if (localStorage.getItem("flitwatch-tour") === null && !sessionStorage.getItem("came"))
          localStorage.setItem("flitwatch-tour", "seen");
      } catch {
        // A frame that was refused has no storage.
      }
    });
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    const begun = Date.now();
    try {
      await run(page);
      assert.deepEqual(errors, [], "errors on the page");
      console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
      return null;
    } catch (error) {
      await page.screenshot({ path: `/tmp/flitwatch-e2e-${done}.png` }).catch(() => {});
      return error.stack ?? String(error);
    } finally {
      await context.close();
    }
  }

  async function check(
    name,
    run,
    { fixtureOnly = false, viewport = { width: 1440, height: 900 }, colorScheme = "light" } = {},
  ) {
    if (only && !new RegExp(only).test(name)) return;
    if (fixtureOnly && !fixture) {
      console.log(`skip  ${name}: it needs the fixture's switches`);
      return;
    }
    done++;
    const one = { name, run, viewport, colorScheme };
    const wrong = await attempt(one);
    if (wrong === null) return;
    failed.push(one);
    console.log(`again ${name}: ${wrong.split("\n").slice(0, 30).join("\n")}`);
  }

  const api = async (path) => (await fetch(`${url}/api/v1${path}`)).json();
  /** What failed is tried once more, alone: a machine that is busy with the checks beside it makes a page slow, not wrong. */
  async function finish() {
    const wrong = [];
    for (const one of failed) {
      const why = await attempt(one);
      if (why !== null) wrong.push(`FAIL  ${one.name}\n${why}`);
    }
    await browser.close();
    stop();
    for (const text of wrong) console.log(text);
    console.log(`${done - wrong.length} of ${done} passed`);
    process.exit(wrong.length || !done ? 1 : 0);
  }
  return { url, fixture, check, api, finish };
}
