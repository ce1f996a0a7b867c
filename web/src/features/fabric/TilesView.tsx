import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { contextOf, Layers, useFontReady, useSize } from "../../charts/Canvas";
import { drawOverlay, rectShape } from "../../charts/overlay";
import { outline } from "../../charts/outline";
import { TilesDrawing, tileAt, tileRect, tilesLayout } from "../../charts/tiles";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { usePalette } from "../../charts/usePalette";
import type { Store } from "../../lib/store";
import { routerText, type JobOverlay, type Scene, type Values } from "./scene";

export interface ViewProps {
  scene: Scene;
  values: Store<Values | null>;
  selected: number | null;
  jobs: JobOverlay[];
  jobsAt: (router: number) => string[];
  label: string;
  onSelect: (router: number) => void;
  onDescend: (router: number) => void;
}

/** Panels that hold a router of the first job, for bold names. */
export function useJobPanels(scene: Scene, jobs: JobOverlay[]): ReadonlySet<number> {
  return useMemo(() => {
    const panels = new Set<number>();
    for (const job of jobs) for (const router of job.routers) {
      const panel = scene.arrangement.panelOf[router];
      if (panel !== undefined) panels.add(panel);
    }
    return panels;
  }, [scene, jobs]);
}

export function TilesView({ scene, values, selected, jobs, jobsAt, label, onSelect, onDescend }: ViewProps) {
  const { arrangement, index } = scene;
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const font = useFontReady();
  const [hovered, setHovered] = useState<number | null>(null);
  const layout = useMemo(() => (size ? tilesLayout(arrangement, size.width, size.height) : null), [arrangement, size]);
  const jobPanels = useJobPanels(scene, jobs);
  const marks = useMemo(
    () => ({ selectedPanel: selected === null ? null : arrangement.panelOf[selected] ?? null, jobPanels }), [arrangement, selected, jobPanels],
  );
  const drawing = useRef<TilesDrawing | null>(null);

  useLayoutEffect(() => {
    if (!base.current || !size || !layout) return;
    drawing.current = new TilesDrawing(contextOf(base.current, size), layout, arrangement, palette);
    return () => {
      drawing.current = null;
    };
  }, [arrangement, layout, size, palette, font]);

  useLayoutEffect(() => {
    const draw = () => {
      const shown = values.get();
      if (shown && shown.window.codes.length === arrangement.panelOf.length) drawing.current?.draw(shown.window, shown.figures, marks);
    };
    draw();
    return values.subscribe(draw);
  }, [values, marks, arrangement, layout, size, palette, font]);

  const outlines = useMemo(
    () => jobs.map((job, i) => ({ edges: outline(arrangement, index, job.routers), dashed: i > 0 })), [jobs, arrangement, index],
  );
  const surface = useRef<CanvasRenderingContext2D | null>(null);
  useLayoutEffect(() => {
    surface.current = overlay.current && size ? contextOf(overlay.current, size) : null;
  }, [size]);
  useLayoutEffect(() => {
    const context = surface.current;
    if (!context || !size || !layout) return;
    context.clearRect(0, 0, size.width, size.height);
    drawOverlay(context, rectShape((router) => tileRect(layout, arrangement, router)), { jobs: outlines, selected, hovered }, palette);
  }, [size, layout, arrangement, outlines, selected, hovered, palette]);
  useEffect(() => hideTooltip, []);

  const at = (x: number, y: number) => (layout ? tileAt(layout, arrangement, index, x, y)?.router ?? null : null);
  return (
    <div ref={box} className="view-box">
      {size && (
        <Layers
          size={size} label={label} base={base} overlay={overlay}
          onHover={(place) => {
            const router = place && at(place.x, place.y);
            setHovered(router);
            if (place && router !== null) showTooltip(place.clientX, place.clientY, routerText(scene, values.get(), router, jobsAt(router)));
            else hideTooltip();
          }}
          onPick={({ x, y }) => {
            const router = at(x, y);
            if (router !== null) onSelect(router);
          }}
          onDescend={({ x, y }) => {
            const router = at(x, y);
            if (router !== null) onDescend(router);
          }}
        />
      )}
    </div>
  );
}
