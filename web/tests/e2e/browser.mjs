// A headless Chromium of the system, and the platform it looks at: FLITWATCH_URL, or the fixture server started here.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export async function launch(options = {}) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", ...(options.args ?? [])] });
}

/** {url, fixture, stop}: the named platform, or a fresh fixture server, whose clock may be some seconds ahead. */
export async function platform({ groups = 34, vast = false, ahead = 0 } = {}) {
  if (process.env.FLITWATCH_URL)
    return { url: process.env.FLITWATCH_URL.replace(/\/$/, ""), fixture: false, stop: () => {} };
  const script = fileURLToPath(new URL("../fixture/serve.mjs", import.meta.url));
  const child = spawn(
    process.execPath,
    [script, ...["--port", "0", "--groups", String(groups), "--ahead", String(ahead)], ...(vast ? ["--vast"] : [])],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the fixture server ended with ${code}`);
  });
  const [address] = await Promise.race([once(child.stdout, "data"), ended]);
  return { url: String(address).trim(), fixture: true, stop: () => child.kill() };
}

/** Puts the clock of what a context opens some seconds ahead. */
export const setAhead = (context, ahead) =>
  context.addInitScript((ms) => {
    const Now = Date;
    globalThis.Date = class extends Now {
      constructor(...given) {
        if (given.length) super(...given);
        else super(Now.now() + ms);
      }
      static now() {
        return Now.now() + ms;
      }
    };
  }, ahead * 1000);
