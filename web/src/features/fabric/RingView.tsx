import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { linkFiguresQuery, type Moment } from "../../api/queries";
import type { Congestion } from "../../api/shapes";
import { Layers } from "../../charts/Canvas";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import { RingDrawing, ringAt, ringLayout, ringShape, shownChords, type Chord } from "../../charts/ring";
import { count } from "../../lib/format";
import { usePicture, type PictureGeometry, type ViewProps } from "./usePicture";
import type { Scene } from "./scene";

interface Props extends ViewProps {
  congestion: Congestion | null;
  moment: Moment;
}

/** More curves than this are a hairball. */
const MOST_PAIRS = 120;
const MOST_LINKS = 1000;
/** Up to this many groups single links can be told apart. */
const FEW_GROUPS = 16;

function useChords(scene: Scene, congestion: Congestion | null, moment: Moment): { chords: Chord[]; what: string } {
  const few = scene.groups.length <= FEW_GROUPS;
  const links = useQuery({ ...linkFiguresQuery(scene.fabric.id, moment, { class: "blue" }), enabled: few });
  return useMemo(() => {
    const { panelOf, colOf, panels } = scene.arrangement;
    const data = few ? links.data : undefined;
    if (data && data.link.length > 0) {
      const chords = data.link.flatMap((_, i): Chord[] => {
        const [src, dst, flits] = [data.src[i], data.dst[i], data.flits[i]];
        if (src == null || dst == null || flits == null || !(flits > 0)) return [];
        const end = (router: number) => ({ panel: panelOf[router] ?? 0, column: colOf[router] ?? 0 });
        return [{ from: end(src), to: end(dst), ratio: (data.stall_cycles[i] ?? 0) / flits }];
      });
      if (chords.length <= 4 * MOST_LINKS) return { chords, what: "blue links" };
    }
    if (!congestion) return { chords: [], what: "pairs" };
    const panelOfGroup = new Map(panels.map((panel, p) => [panel.group, p]));
    const chords = hottestPairs(pairsOf(scene.groups, congestion.groups)).map((pair): Chord => {
      const [a, b] = [panelOfGroup.get(pair.src) ?? 0, panelOfGroup.get(pair.dst) ?? 0];
      const cols = scene.arrangement.cols;
      // The two directions of a pair leave and arrive beside each other, not on top.
      return { from: { panel: a, column: (b * 5) % cols }, to: { panel: b, column: (a * 5 + 2) % cols }, ratio: pair.ratio };
    });
    return { chords, what: "pairs of groups" };
  }, [scene, congestion, few, links.data]);
}

export function RingView({ congestion, moment, ...props }: Props) {
  const { arrangement, index } = props.scene;
  const { chords, what } = useChords(props.scene, congestion, moment);
  const { shown, cut } = useMemo(() => shownChords(chords, what === "blue links" ? MOST_LINKS : MOST_PAIRS), [chords, what]);
  const layout = useCallback((size: { width: number; height: number }): PictureGeometry => {
    const ring = ringLayout(arrangement, size.width, size.height);
    return {
      shape: ringShape(ring, arrangement),
      at: (x, y) => ringAt(ring, arrangement, index, x, y),
      drawing: (context, palette) => {
        const drawing = new RingDrawing(context, ring, arrangement, palette);
        let marked: unknown = null;
        return {
          draw: (values, marks) => {
            drawing.draw(values.window);
            if (marked === marks) return;
            if (marked === null) drawing.chords(shown);
            marked = marks;
            drawing.labels(marks);
          },
        };
      },
    };
  }, [arrangement, index, shown]);
  const { box, layers } = usePicture(props, layout);
  return (
    <div className="ring">
      <p className="ring-note subtitle" data-caption="">
        {!chords.length ? "no link between groups is counted: all are unknown, none is drawn" : cut > 0
          ? `${count(shown.length)} of ${count(chords.length)} counted ${what} at ${cut} or above · the rest is in the matrix`
          : `${count(shown.length)} counted ${what}, all drawn · the others are unknown`}
      </p>
      <div ref={box} className="view-box">{layers && <Layers {...layers} />}</div>
    </div>
  );
}
