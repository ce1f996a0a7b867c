import type { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followEvents } from "./live";

class Source extends EventTarget {
  static opened: Source[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  constructor(readonly url: string) {
    super();
    Source.opened.push(this);
  }
  close() {}
  tell(kind: string, id: string) {
    this.dispatchEvent(new MessageEvent(kind, { data: "{}", lastEventId: id }));
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Source);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  Source.opened = [];
});

it("asks for everything again after a reset, and goes on from its number", () => {
  const invalidateQueries = vi.fn();
  const stop = followEvents({ invalidateQueries } as unknown as QueryClient);
  Source.opened[0]?.tell("job", "1000");
  expect(invalidateQueries).not.toHaveBeenCalled();
  Source.opened[0]?.tell("reset", "990");
  expect(invalidateQueries).toHaveBeenCalledExactlyOnceWith();
  Source.opened[0]?.onerror?.();
  vi.advanceTimersByTime(1000);
  expect(new URL(Source.opened[1]?.url ?? "", "http://localhost").searchParams.get("last_event_id")).toBe("990");
  stop();
});

it("asks again for what an incident changes: the lists and pages of incidents, home, and the explanations of jobs", () => {
  const invalidateQueries = vi.fn();
  const stop = followEvents({ invalidateQueries } as unknown as QueryClient);
  Source.opened[0]?.tell("incident", "7");
  Source.opened[0]?.tell("incident", "8");
  vi.advanceTimersByTime(3000);
  expect(invalidateQueries.mock.calls).toEqual(
    ["incidents", "incident", "explanations"].map((key) => [{ queryKey: [key] }]),
  );
  stop();
});
