import { wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { earlierLinksQuery, linkFiguresQuery, type Moment } from "../../api/queries";
import type { Congestion, LinkFigures } from "../../api/shapes";
import { Layers } from "../../charts/Canvas";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import { chordAt, RingDrawing, ringAt, ringLayout, ringShape, shownChords, type Chord } from "../../charts/ring";
import { changeFactor } from "../../charts/scale";
import { answered, type QueryState, Unanswered } from "../../components/Notice";
import { change, count, ratio } from "../../lib/format";
import { type PictureGeometry, usePicture, type ViewProps } from "../../machine/usePicture";
import type { Scene } from "../../machine/scene";

interface Props extends ViewProps {
  congestion: Congestion | null;
  before: Congestion | null;
  moment: Moment;
  earlier: Moment | null;
  /** Opens one link, or those of a pair of groups. */
  onLinks: (what: { link: number } | { pair: string }) => void;
}

/** More curves than this are a hairball. */
const MOST_PAIRS = 120;
const MOST_LINKS = 1000;
/** Up to this many groups a reader can distinguish single links. */
const FEW_GROUPS = 16;
const BLUE = { class: "blue" };

interface Chords {
  chords: Chord[];
  what: string;
  /** What has to be answered before they can be drawn. */
  asked: QueryState[];
  note: string | null;
}

/** Links of class blue, each with its change against `before` if there is one. */
function linkChords(scene: Scene, data: LinkFigures, before: LinkFigures | null): Chord[] {
  const { panelOf, colOf } = scene.arrangement;
  const ratioAt = ({ flits, stall_cycles }: LinkFigures, i: number) =>
    (flits[i] ?? 0) > 0 ? (stall_cycles[i] ?? 0) / (flits[i] ?? 1) : NaN;
  const earlier = before && new Map(before.link.map((link, i) => [link, ratioAt(before, i)]));
  const end = (router: number) => ({ panel: panelOf[router] ?? 0, column: colOf[router] ?? 0 });
  return data.link.flatMap((link, i): Chord[] => {
    const [src, dst, ratio] = [data.src[i], data.dst[i], ratioAt(data, i)];
    const factor = earlier && changeFactor(ratio, earlier.get(link) ?? NaN);
    if (src == null || dst == null || Number.isNaN(ratio) || Number.isNaN(factor)) return [];
    return [{ link, src, dst, from: end(src), to: end(dst), ratio, factor }];
  });
}

function pairChords(scene: Scene, congestion: Congestion, before: Congestion | null): Chord[] {
  const { panels, cols } = scene.arrangement;
  const panelOfGroup = new Map(panels.map((panel, p) => [panel.group, p]));
  return hottestPairs(pairsOf(scene.groups, congestion.groups, before?.groups ?? null)).flatMap((pair): Chord[] => {
    const [a, b] = [panelOfGroup.get(pair.src) ?? 0, panelOfGroup.get(pair.dst) ?? 0];
    if (before && Number.isNaN(pair.factor)) return [];
    // The two directions of a pair leave and arrive next to each other, not on top.
    return [
      {
        link: null,
        src: pair.src,
        dst: pair.dst,
        from: { panel: a, column: (b * 5) % cols },
        to: { panel: b, column: (a * 5 + 2) % cols },
        ratio: pair.ratio,
        factor: before && pair.factor,
      },
    ];
  });
}

function useChords({ scene, congestion, before, moment, earlier }: Omit<Props, "onLinks">): Chords {
  const few = scene.groups.length <= FEW_GROUPS;
  const links = useQuery({ ...linkFiguresQuery(scene.fabric.id, moment, BLUE), enabled: few });
  const then = useQuery({ ...earlierLinksQuery(scene.fabric.id, earlier, BLUE), enabled: few && earlier !== null });
  const compared = earlier !== null;
  const asked = few ? [links, ...(compared ? [then] : [])] : [];
  const drawn = useMemo(() => {
    if (few && (!links.data || (compared && !then.data))) return null;
    if (links.data?.link.length) {
      const chords = linkChords(scene, links.data, compared ? (then.data ?? null) : null);
      if (chords.length <= 4 * MOST_LINKS) return { chords, what: "blue links", note: links.data.note ?? null };
    }
    if (!congestion || (compared && !before)) return null;
    return {
      chords: pairChords(scene, congestion, before),
      what: "pairs of groups",
      note: congestion.groups.note ?? null,
    };
  }, [scene, congestion, before, compared, few, links.data, then.data]);
  return {
    chords: drawn?.chords ?? NO_CHORDS,
    what: drawn?.what ?? "pairs of groups",
    note: drawn?.note ?? null,
    asked,
  };
}

const NO_CHORDS: Chord[] = [];

export function RingView({ onLinks, ...given }: Props) {
  const { congestion, earlier, ...props } = given;
  const { machine } = props.scene;
  const { arrangement, index } = props.scene;
  const { amount } = wordsOf(props.scene.fabric);
  const { chords, what, asked, note } = useChords(given);
  const { shown, cut } = useMemo(
    () => shownChords(chords, what === "blue links" ? MOST_LINKS : MOST_PAIRS),
    [chords, what],
  );
  const layout = useCallback(
    (size: { width: number; height: number }): PictureGeometry => {
      const ring = ringLayout(arrangement, size.width, size.height);
      return {
        shape: ringShape(ring, arrangement),
        at: (x, y) => ringAt(ring, arrangement, index, x, y),
        between: (x, y) => {
          const chord = chordAt(ring, shown, x, y);
          if (!chord) return null;
          const { link, src, dst } = chord;
          const ends =
            link === null ? `g${src} → g${dst}` : `${machine.name[src] ?? src} → ${machine.name[dst] ?? dst}`;
          return {
            text: `${ends}\n${ratio(chord.ratio)} ${amount}${chord.factor === null ? "" : `, ${change(chord.factor)}`}\nclick: the jobs that use it`,
            filter: link === null ? { src_group: src, dst_group: dst } : { link },
            open: () => onLinks(link === null ? { pair: `${src}-${dst}` } : { link }),
          };
        },
        drawing: (context, palette) => {
          const drawing = new RingDrawing(context, ring, arrangement, palette);
          return { draw: (values, marks) => drawing.draw(values.window, shown, marks, values.moving) };
        },
      };
    },
    [arrangement, index, shown, machine, onLinks, amount],
  );
  const { box, layers } = usePicture(props, layout);
  const scaled = earlier ? `changed ${cut} times or more` : `at ${cut} or above`;
  return (
    <div className="ring">
      {answered(asked) && congestion ? (
        <p className="ring-note subtitle" data-caption="">
          {!chords.length
            ? (note ??
              (earlier
                ? "no link between groups has counters in both windows, so no change is drawn"
                : "no link between groups has counters, so none is drawn"))
            : cut > 0
              ? `${count(shown.length)} of ${count(chords.length)} counted ${what} ${scaled} · the others are not drawn`
              : `${count(shown.length)} counted ${what}, all drawn · the others are unknown`}
          {chords.length > 0 && note && note !== congestion.groups.note ? ` · ${note}` : ""}
        </p>
      ) : (
        <div className="ring-note">
          <Unanswered line what="the links between groups" asked={asked} />
        </div>
      )}
      <div ref={box} className="view-box">
        {layers && <Layers {...layers} />}
      </div>
    </div>
  );
}
