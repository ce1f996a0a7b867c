/** The machine that pages without one in their address show: the last one that this tab looked at. */
import { Store } from "./store";

const KEY = "flitwatch-machine";

function remembered(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const machineStore = new Store<string | null>(remembered());

export function rememberMachine(name: string): void {
  try {
    sessionStorage.setItem(KEY, name);
  } catch {
    // storage is refused: the choice lasts as long as the page
  }
  machineStore.set(name);
}

interface Named {
  name: string;
  snapshot: boolean;
  last_ts: string | null;
}

/** The remembered machine if it is still there, else the one with the newest data, else one sample, else a topology alone. */
export function currentMachine<F extends Named>(fabrics: F[], name: string | null): F | null {
  const chosen = fabrics.find((fabric) => fabric.name === name);
  if (chosen) return chosen;
  const byNewest = [...fabrics].sort(
    (a, b) => (b.last_ts ?? "").localeCompare(a.last_ts ?? "") || Number(b.snapshot) - Number(a.snapshot),
  );
  return byNewest[0] ?? null;
}
