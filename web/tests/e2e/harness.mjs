// One browser, one platform, and checks against them; each check has a page of its own and fails on any error of the page.
import assert from "node:assert/strict";
import { launch, platform } from "./browser.mjs";

export async function until(probe, wanted, what, ms = 30_000) {
  const end = Date.now() + ms;
  const late = Symbol("late");
  let last, timer;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, ms, late)));
  try {
    while (Date.now() < end) {
      const answer = await Promise.race([probe(), limit]);
      if (answer === late) break;
      last = answer;
      if (wanted(last)) return last;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    clearTimeout(timer);
  }
  assert.fail(`${what}: still ${JSON.stringify(last)} after ${ms} ms`);
}

/** Answers that a page waits for; its stream of events never ends. */
const asked = new WeakMap();
export function follow(page) {
  const pending = new Set();
  asked.set(page, pending);
  page.on("request", (one) => {
    // What the page before waits for ends with it.
    if (one.isNavigationRequest() && one.frame() === page.mainFrame()) pending.clear();
    if (!new URL(one.url()).pathname.endsWith("/events")) pending.add(one);
  });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (one) => pending.delete(one));
  return page;
}

/** Looks in a row, a tenth of a second apart, at which a page that rests has nothing under way. */
const LOOKS = 4;

/** Waits until a page has its answers, has drawn them, and nothing on it moves or is being loaded. */
export async function atRest(page) {
  let calm = 0;
  await until(
    async () => {
      const under = await page.evaluate(async () => {
        for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
        const ends = (one) => Number.isFinite(Number(one.effect.getComputedTiming().endTime));
        return [
          ...[...document.querySelectorAll('[role="status"]')]
            .map((one) => one.textContent)
            .filter((text) => /^Loading/.test(text)),
          ...document
            .getAnimations()
            .filter((one) => one.playState === "running" && ends(one))
            .map((one) => one.effect.target?.className),
          ...(document.querySelector("h1, .embed-bar") ? [] : ["no title"]),
        ];
      });
      under.push(...[...asked.get(page)].map((one) => one.url()));
      calm = under.length ? 0 : calm + 1;
      return under;
    },
    () => calm >= LOOKS,
    "the page at rest",
  );
}

/** The parameters in the page's address. */
export const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);
/** Waits until the address holds these parameters, and gives all that it holds; one that is undefined is not in it. */
export const addressed = (page, wanted) =>
  until(
    () => query(page),
    (held) => Object.entries(wanted).every(([key, value]) => held[key] === value),
    `the address with ${Object.entries(wanted).map((one) => one.join("="))}`,
  );
/** Opens the search from the keyboard, and gives its field. */
export async function openSearch(page) {
  const field = page.locator(".search-field");
  await page.keyboard.press("/");
  await field.waitFor();
  return field;
}
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
  let [done, failed] = [0, 0];

  /** Runs a check once, on a page of its own; a check that fails is not run again. */
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
    context.on("page", follow);
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    const begun = Date.now();
    try {
      await run(page);
      assert.deepEqual(errors, [], "errors on the page");
      console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed++;
      await page.screenshot({ path: `/tmp/flitwatch-e2e-${done}.png` }).catch(() => {});
      console.log(`FAIL  ${name}\n${error.stack ?? String(error)}`);
    } finally {
      await context.close();
    }
  }

  const api = async (path) => (await fetch(`${url}/api/v1${path}`)).json();
  async function finish() {
    await browser.close();
    stop();
    console.log(`${done - failed} of ${done} passed`);
    process.exit(failed || !done ? 1 : 0);
  }
  return { url, fixture, check, api, finish };
}
