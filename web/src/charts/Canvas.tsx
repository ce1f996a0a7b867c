/** Two canvases of the same size, base below overlay, sharp on every screen; and the size of a box as it changes. */
import {
  type PointerEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { recorded, redraws } from "../lib/recording";
import { zoomOf } from "../lib/screen";
import { useStore } from "../lib/store";
import { themeStore } from "../lib/theme";
import { type Palette, readPalette } from "./palette";

export interface Size {
  width: number;
  height: number;
}

export function useSize(): [RefObject<HTMLDivElement | null>, Size | null] {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => {
      const width = Math.floor(element.clientWidth);
      const height = Math.floor(element.clientHeight);
      setSize((old) => (old?.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, size];
}

/** A 2D context whose unit is a CSS pixel; the canvas is cleared by this. During a recording it is the recording's. */
export function contextOf(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D {
  const other = recorded(canvas, { width, height });
  if (other) return other;
  const scale = Math.max(1, window.devicePixelRatio || 1) * zoomOf();
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d", { alpha: true });
  if (!context) throw new Error("This browser has no 2D canvas");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

interface LayersProps {
  size: Size;
  label: string;
  base: RefObject<HTMLCanvasElement | null>;
  overlay: RefObject<HTMLCanvasElement | null>;
  onHover?: (at: { x: number; y: number; clientX: number; clientY: number } | null) => void;
  onPick?: (at: { x: number; y: number }, event: { shift: boolean }) => void;
  onDescend?: (at: { x: number; y: number }) => void;
}

export function Layers({ size, label, base, overlay, onHover, onPick, onDescend }: LayersProps) {
  const style = { width: size.width, height: size.height };
  const place = (event: { nativeEvent: MouseEvent }) => {
    const zoom = zoomOf();
    return { x: event.nativeEvent.offsetX / zoom, y: event.nativeEvent.offsetY / zoom };
  };
  const move = (event: PointerEvent) => onHover?.({ ...place(event), clientX: event.clientX, clientY: event.clientY });
  return (
    // The keyboard's way to the same selection is the page's arrow keys and the table.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
    <div
      className="layers"
      style={style}
      onPointerMove={move}
      onPointerLeave={() => onHover?.(null)}
      onClick={(event) => onPick?.(place(event), { shift: event.shiftKey })}
      onDoubleClick={(event) => onDescend?.(place(event))}
    >
      <canvas ref={base} style={style} role="img" aria-label={label} />
      <canvas ref={overlay} style={style} aria-hidden="true" />
    </div>
  );
}

/** True once Inter can be drawn on a canvas; texts drawn before would keep the wrong font. */
export function useFontReady(): boolean {
  const [ready, setReady] = useState(() => document.fonts.check("500 11px Inter"));
  useEffect(() => {
    if (ready) return;
    let gone = false;
    void Promise.all([document.fonts.load("400 11px Inter"), document.fonts.load("650 11px Inter")]).then(
      () => !gone && setReady(true),
    );
    return () => {
      gone = true;
    };
  }, [ready]);
  return ready;
}

/** Runs at most once a frame, with the last arguments. */
export function useFrame<A extends unknown[]>(run: (...args: A) => void): (...args: A) => void {
  const pending = useRef<{ id: number; args: A } | null>(null);
  const latest = useRef(run);
  useLayoutEffect(() => {
    latest.current = run;
  });
  useEffect(
    () => () => {
      if (pending.current) cancelAnimationFrame(pending.current.id);
      pending.current = null;
    },
    [],
  );
  return useCallback((...args: A) => {
    if (pending.current) {
      pending.current.args = args;
      return;
    }
    pending.current = {
      args,
      id: requestAnimationFrame(() => {
        const last = pending.current?.args ?? args;
        pending.current = null;
        latest.current(...last);
      }),
    };
  }, []);
}

/** The canvas colours of the theme in force; a new object when pictures are to be drawn once more. */
export function usePalette(): Palette {
  const theme = useStore(themeStore);
  const turn = useStore(redraws);
  // The turn is no input of the colours; it is what asks for them again.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => readPalette(theme), [theme, turn]);
}
