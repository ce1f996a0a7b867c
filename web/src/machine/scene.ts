/** A fabric as its views need it: the machine, its arrangement, and the words for its parts. */
import { wordsOf } from "./words";
import type { Fabric, Routers } from "../api/shapes";
import { arrange, type Arrangement, cellsOf, type Machine } from "../charts/arrange";
import type { PanelFigures, RouterWindow } from "../charts/window";
import type { Sums } from "../lib/prefix";
import { change, count, plural, ratio } from "../lib/format";
import { SILENT } from "../charts/scale";

export interface Scene {
  fabric: Fabric;
  machine: Machine;
  arrangement: Arrangement;
  /** Router by (panel, row, column). */
  index: Int32Array;
  groups: number[];
}

/** `axis`: along which the planes of a torus are cut, the last one by default. */
export function sceneOf(fabric: Fabric, routers: Routers, axis?: number): Scene {
  const size = routers.router.length;
  // Routers are dense from 0, but an answer may list them in any order.
  const order = new Int32Array(size);
  routers.router.forEach((router, i) => {
    if (router >= 0 && router < size) order[router] = i;
  });
  const pick = <T>(column: T[]): T[] => Array.from(order, (i) => column[i] as T);
  const machine: Machine = {
    kind: fabric.kind,
    size,
    name: pick(routers.name),
    group: pick(routers.group),
    row: pick(routers.row),
    col: pick(routers.col),
    level: pick(routers.level),
    coords: routers.coords && pick(routers.coords),
    nodes: pick(routers.nodes),
    sampled: pick(routers.sampled),
  };
  const arrangement = arrange(machine, axis);
  const groups = [...new Set(machine.group.filter((g): g is number => g !== null))].sort((a, b) => a - b);
  return { fabric, machine, arrangement, index: cellsOf(arrangement), groups };
}

/** "1,440 routers", or "160 switches" where the field says switch. */
export function devices(fabric: Pick<Fabric, "kind" | "routers"> & Partial<Pick<Fabric, "technology">>): string {
  const { router, routers } = wordsOf({ technology: null, ...fabric });
  return plural(fabric.routers, router, routers);
}

/** What is shown now; replaced on each frame of a drag. */
export interface Values {
  window: RouterWindow;
  figures: PanelFigures[];
  before: Sums | null;
  /** While the reader drags a window: drawn by what differs, until the window rests. */
  moving?: boolean;
}

export interface JobOverlay {
  id: string;
  label: string;
  routers: ReadonlySet<number>;
}

/** Where a router stands, in the words of its machine. */
export function placeOf(scene: Scene, router: number): string {
  const { machine, arrangement } = scene;
  const coords = machine.coords?.[router];
  if (machine.kind === "torus" && coords) return coords.join(", ");
  const group = machine.group[router];
  const [row, col] = [machine.row[router], machine.col[router]];
  const panel = arrangement.panels[arrangement.panelOf[router] as number];
  const start =
    group == null ? (panel?.label ?? "") : arrangement.noun === "group" ? `g${group}` : `${panel?.label ?? ""}`;
  return row == null || col == null ? start : `${start} · row ${row} · column ${col}`;
}

export function shortPlace(scene: Scene, router: number): string {
  const { machine } = scene;
  const [group, row, col] = [machine.group[router], machine.row[router], machine.col[router]];
  if (group == null || row == null || col == null || machine.kind !== "dragonfly")
    return machine.name[router] ?? `${wordsOf(scene.fabric).router} ${router}`;
  return `g${group} r${row} c${col}`;
}

/** The sentence of the tooltip: value, place, jobs. */
export function routerText(scene: Scene, values: Values | null, router: number, jobs: string[]): string {
  const name = `${scene.machine.name[router] ?? router}  ${placeOf(scene, router)}`;
  const words = wordsOf(scene.fabric);
  const value = values?.window.ratio[router];
  let said = "loading";
  if (values && value !== undefined) {
    if (Number.isNaN(value)) said = values.window.codes[router] === SILENT ? "silent in this window" : "not sampled";
    else if (values.window.flits[router] === 0) said = `no ${words.flits} in this window`;
    else {
      const factor = values.window.factor?.[router];
      said = `${ratio(value)} ${words.amount}${factor !== undefined ? `, ${Number.isNaN(factor) ? "nothing to compare with" : change(factor)}` : ""}`;
    }
  }
  const shown = jobs.slice(0, 4).join("\n") + (jobs.length > 4 ? `\nand ${count(jobs.length - 4)} more` : "");
  return shown ? `${name}\n${said}\n${shown}` : `${name}\n${said}`;
}

/** The router to look at first: the hottest of the job's, else of the machine's. */
export function hottestRouter(values: Values, within: ReadonlySet<number> | null): number | null {
  let best: number | null = null;
  let most = -1;
  values.window.ratio.forEach((value, router) => {
    if (value > most && (!within || within.has(router))) {
      most = value;
      best = router;
    }
  });
  return best ?? (within ? hottestRouter(values, null) : null);
}
