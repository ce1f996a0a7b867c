/** Frames for brushing travel as float32: flits[t][router], then stall_cycles[t][router]; the layout stands in the headers. */
import type { Frames } from "../lib/prefix";
import { parseTime } from "../lib/time";
import { ApiError } from "./client";

export function decodeFrames(body: ArrayBuffer, headers: Headers): Frames {
  const whole = (name: string) => Number.parseInt(headers.get(name) ?? "", 10);
  const frames = whole("x-frames");
  const routers = whole("x-routers");
  const stepMs = Number(headers.get("x-step-seconds")) * 1000;
  const from = parseTime(headers.get("x-from"));
  const cells = frames * routers;
  if (!(frames >= 0 && routers >= 0 && stepMs > 0) || from === null || body.byteLength !== cells * 8) {
    throw new ApiError({
      title: "The frames do not match their headers",
      status: 200,
      detail: `${body.byteLength} bytes for ${frames} frames of ${routers} routers`,
      advice: "Reload the page.",
    });
  }
  return {
    from,
    stepMs,
    frames,
    routers,
    flits: new Float32Array(body, 0, cells),
    stalls: new Float32Array(body, cells * 4, cells),
  };
}
