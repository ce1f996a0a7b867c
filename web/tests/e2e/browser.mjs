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
  const port = 20_000 + ((process.pid + (vast ? 7 : 0) + (ahead ? 13 : 0)) % 20_000);
  const script = fileURLToPath(new URL("../fixture/serve.mjs", import.meta.url));
  const child = spawn(
    process.execPath,
    [
      script,
      ...["--port", String(port), "--groups", String(groups), "--ahead", String(ahead)],
      ...(vast ? ["--vast"] : []),
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(child.stdout, "data");
  return { url: `http://127.0.0.1:${port}`, fixture: true, stop: () => child.kill() };
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
