import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { HotLinkFilter } from "../api/links";
import { contextOf, Layers, useFontReady, usePalette, useSize } from "../charts/Canvas";
import { outline } from "../charts/arrange";
import { type CellShape, drawOverlay, rectShape } from "../charts/cells";
import type { Palette } from "../charts/palette";
import { tileAt, tileRect, TilesDrawing, tilesLayout, type TilesMarks } from "../charts/tiles";
import { hideTooltip, showTooltip } from "../components/tooltip";
import type { Store } from "../lib/store";
import { type JobOverlay, routerText, type Scene, type Values } from "./scene";
import type { Senders } from "./senders";

// What the views of routers as cells share: canvases, hover, tooltip, overlay.

export interface ViewProps {
  scene: Scene;
  values: Store<Values | null>;
  selected: number | null;
  jobs: JobOverlay[];
  jobsAt: (router: number) => string[];
  /** Who sends over a router's links, or over what is between the routers. */
  senders?: Senders;
  label: string;
  onSelect: (router: number) => void;
  onDescend: (router: number) => void;
}

interface BaseDrawing {
  draw: (values: Values, marks: TilesMarks) => void;
}

export interface PictureGeometry {
  shape: CellShape;
  at: (x: number, y: number) => number | null;
  /** What else than a router is there: its text, and what a click opens. */
  between?: (x: number, y: number) => { text: string; filter: HotLinkFilter; open: () => void } | null;
  drawing: (context: CanvasRenderingContext2D, palette: Palette) => BaseDrawing;
}

/** Panels that hold a router of a job laid over, for their names. */
function useJobPanels(scene: Scene, jobs: JobOverlay[]): ReadonlySet<number> {
  return useMemo(() => {
    const panels = new Set<number>();
    for (const job of jobs)
      for (const router of job.routers) {
        const panel = scene.arrangement.panelOf[router];
        if (panel !== undefined) panels.add(panel);
      }
    return panels;
  }, [scene, jobs]);
}

/** `layout` turns a size into geometry and must be stable while its inputs are. */
export function usePicture(props: ViewProps, layout: (size: { width: number; height: number }) => PictureGeometry) {
  const { scene, values, selected, jobs, jobsAt, senders, onSelect, onDescend } = props;
  const { arrangement, index } = scene;
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const font = useFontReady();
  const [hovered, setHovered] = useState<number | null>(null);
  const geometry = useMemo(() => (size && size.width > 40 && size.height > 40 ? layout(size) : null), [layout, size]);
  const jobPanels = useJobPanels(scene, jobs);
  const marks = useMemo<TilesMarks>(
    () => ({ selectedPanel: selected === null ? null : (arrangement.panelOf[selected] ?? null), jobPanels }),
    [arrangement, selected, jobPanels],
  );

  const drawing = useRef<BaseDrawing | null>(null);
  useLayoutEffect(() => {
    if (!base.current || !size || !geometry) return;
    drawing.current = geometry.drawing(contextOf(base.current, size), palette);
    return () => {
      drawing.current = null;
    };
  }, [geometry, size, palette, font]);
  useLayoutEffect(() => {
    const draw = () => {
      const shown = values.get();
      if (shown && shown.window.codes.length === arrangement.panelOf.length) drawing.current?.draw(shown, marks);
    };
    draw();
    return values.subscribe(draw);
  }, [values, marks, arrangement, geometry, size, palette, font]);

  const outlines = useMemo(
    () => jobs.map((job, i) => ({ edges: outline(arrangement, index, job.routers), dash: i })),
    [jobs, arrangement, index],
  );
  const surface = useRef<CanvasRenderingContext2D | null>(null);
  useLayoutEffect(() => {
    surface.current = overlay.current && size ? contextOf(overlay.current, size) : null;
  }, [size, palette]);
  useLayoutEffect(() => {
    const context = surface.current;
    if (!context || !size || !geometry) return;
    context.clearRect(0, 0, size.width, size.height);
    drawOverlay(context, geometry.shape, { jobs: outlines, selected, hovered }, palette);
  }, [size, geometry, outlines, selected, hovered, palette]);
  useEffect(() => hideTooltip, []);

  const layers = size && {
    size,
    base,
    overlay,
    label: props.label,
    onHover: (place: { x: number; y: number; clientX: number; clientY: number } | null) => {
      const router = place && geometry ? geometry.at(place.x, place.y) : null;
      setHovered(router);
      const between = place && router === null ? geometry?.between?.(place.x, place.y) : null;
      if (place && router !== null)
        showTooltip(
          place.clientX,
          place.clientY,
          routerText(scene, values.get(), router, jobsAt(router)),
          senders?.({ router }),
        );
      else if (place && between) showTooltip(place.clientX, place.clientY, between.text, senders?.(between.filter));
      else hideTooltip();
    },
    onPick: ({ x, y }: { x: number; y: number }) => {
      const router = geometry?.at(x, y) ?? null;
      if (router !== null) onSelect(router);
      else geometry?.between?.(x, y)?.open();
    },
    onDescend: ({ x, y }: { x: number; y: number }) => {
      const router = geometry?.at(x, y) ?? null;
      if (router !== null) onDescend(router);
    },
  };
  return { box, layers, palette };
}

/** Every panel of the machine as a grid of routers. */
export function TilesView(props: ViewProps) {
  const { arrangement, index } = props.scene;
  const layout = useCallback(
    (size: { width: number; height: number }): PictureGeometry => {
      const tiles = tilesLayout(arrangement, size.width, size.height);
      return {
        shape: rectShape((router) => tileRect(tiles, arrangement, router)),
        at: (x, y) => tileAt(tiles, arrangement, index, x, y)?.router ?? null,
        drawing: (context, palette) => {
          const drawing = new TilesDrawing(context, tiles, arrangement, palette);
          return { draw: (values, marks) => drawing.draw(values.window, values.figures, marks, values.moving) };
        },
      };
    },
    [arrangement, index],
  );
  const { box, layers } = usePicture(props, layout);
  return (
    <div ref={box} className="view-box">
      {layers && <Layers {...layers} />}
    </div>
  );
}
