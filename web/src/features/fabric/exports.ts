/** What is seen, as a file: the table as CSV, the picture as PNG. Pictures leave in the light theme, whatever the screen shows. */
import type { Congestion } from "../../api/shapes";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import { rectShape, drawOverlay } from "../../charts/overlay";
import { outline } from "../../charts/outline";
import { font, lightPalette, type Palette } from "../../charts/palette";
import { RingDrawing, ringLayout, ringShape } from "../../charts/ring";
import { CHANGE, CHANGE_LABELS, HEAT, HEAT_LABELS } from "../../charts/scale";
import { TilesDrawing, tileRect, tilesLayout } from "../../charts/tiles";
import type { MenuEntry } from "../../components/Menu";
import { tableCsv } from "../../components/DataTable";
import { saveCapture } from "../../lib/capture";
import { csv, save } from "../../lib/csv";
import type { Store } from "../../lib/store";
import type { View } from "./address";
import type { JobOverlay, Scene, Values } from "./scene";
import { routerColumns, routerRows } from "./TableView";
import type { FabricJobs } from "./useJobs";

interface Inputs {
  scene: Scene;
  values: Store<Values | null>;
  view: View;
  jobs: FabricJobs;
  congestion: Congestion | null;
  subtitle: string;
}

export function exportEntries({ scene, values, view, jobs, congestion, subtitle }: Inputs): MenuEntry[] {
  const { name } = scene.fabric;
  const rows = (): void => {
    const now = values.get();
    if (now) save(`${name}-routers.csv`, tableCsv(routerRows(scene, now, jobs.at), routerColumns(scene, now.window.factor !== null)));
  };
  const pairs = (): void => {
    if (!congestion) return;
    const all = hottestPairs(pairsOf(scene.groups, congestion.groups));
    save(`${name}-groups.csv`, csv(["src_group", "dst_group", "flits", "stall_cycles", "stall_per_flit"], all.map((p) => [p.src, p.dst, p.flits, p.stalls, p.ratio])));
  };
  const entries: MenuEntry[] = [{ id: "routers", label: "Routers as CSV", onSelect: rows }];
  if (scene.groups.length > 1) entries.push({ id: "groups", label: "Pairs of groups as CSV", onSelect: pairs });
  if (view === "tiles" || view === "ring") {
    entries.push({
      id: "png", label: "Picture as PNG",
      onSelect: () => {
        const now = values.get();
        if (now) picture({ scene, values: now, view, jobs: jobs.overlays, subtitle }).toBlob((blob) => blob && save(`${name}-${view}.png`, blob));
      },
    });
  }
  if (view === "tree" || view === "group") {
    entries.push({
      id: "png", label: "Picture as PNG",
      onSelect: () => {
        const box = document.querySelector<HTMLElement>('section[aria-label="Picture"]');
        if (box) saveCapture(box, `${name}-${view}`, `${name}${scene.fabric.simulated ? " (simulated)" : ""}`, subtitle);
      },
    });
  }
  return entries;
}

const [WIDTH, HEIGHT, HEAD, SCALE] = [1200, 900, 64, 2];

interface PictureInputs {
  scene: Scene;
  values: Values;
  view: "tiles" | "ring";
  jobs: JobOverlay[];
  subtitle: string;
}

/** The machine with its title, window and scale, twice the resolution of the screen. */
function picture({ scene, values, view, jobs, subtitle }: PictureInputs): HTMLCanvasElement {
  const { arrangement, index } = scene;
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH * SCALE;
  canvas.height = HEIGHT * SCALE;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const palette = lightPalette();
  context.scale(SCALE, SCALE);
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  heading(context, palette, `${scene.fabric.name}${scene.fabric.simulated ? " (simulated)" : ""}`, subtitle, values.window.factor !== null);
  context.translate(24, HEAD);
  const [width, height] = [WIDTH - 48, HEIGHT - HEAD - 16];
  const outlines = jobs.map((job, i) => ({ edges: outline(arrangement, index, job.routers), dashed: i > 0 }));
  const marks = { selectedPanel: null, jobPanels: new Set<number>() };
  if (view === "tiles") {
    const layout = tilesLayout(arrangement, width, height);
    new TilesDrawing(context, layout, arrangement, palette).draw(values.window, values.figures, marks);
    drawOverlay(context, rectShape((router) => tileRect(layout, arrangement, router)), { jobs: outlines, selected: null, hovered: null }, palette);
  } else {
    const layout = ringLayout(arrangement, width, height);
    const drawing = new RingDrawing(context, layout, arrangement, palette);
    drawing.draw(values.window);
    drawing.labels(marks);
    drawOverlay(context, ringShape(layout, arrangement), { jobs: outlines, selected: null, hovered: null }, palette);
  }
  return canvas;
}

function heading(context: CanvasRenderingContext2D, palette: Palette, title: string, subtitle: string, difference: boolean): void {
  context.fillStyle = palette.ink;
  context.font = font(18, 650);
  context.fillText(title, 24, 30);
  context.fillStyle = palette.ink3;
  context.font = font(12);
  context.fillText(subtitle, 24, 50);
  const colours = difference ? CHANGE.light : HEAT.light;
  const cuts = difference ? CHANGE_LABELS : HEAT_LABELS;
  const left = WIDTH - 24 - colours.length * 36;
  colours.forEach((colour, i) => {
    context.fillStyle = colour;
    context.fillRect(left + i * 36, 22, 35, 10);
  });
  context.fillStyle = palette.ink3;
  context.font = font(11);
  context.textAlign = "center";
  cuts.forEach((cut, i) => context.fillText(cut, left + (i + 1) * 36, 46));
  context.textAlign = "right";
  context.fillText(difference ? "change" : "stall cycles per flit", left - 8, 31);
  context.textAlign = "left";
}
