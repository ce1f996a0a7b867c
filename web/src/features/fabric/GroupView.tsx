import { capital, wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { earlierLinksQuery, linkFiguresQuery, type Moment } from "../../api/queries";
import { cellsOf, outline, selectPanels } from "../../charts/arrange";
import { contextOf, Layers, useFontReady, usePalette, useSize } from "../../charts/Canvas";
import { drawGroup, groupAt, groupLayout, groupLinks, groupRect, linkKey, type GroupHit } from "../../charts/group";
import { drawOverlay, rectShape } from "../../charts/cells";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { answered, refused, Unanswered } from "../../components/Notice";
import { change, plural, ratio } from "../../lib/format";
import { routerText, shortPlace } from "../../machine/scene";
import type { ViewProps } from "../../machine/usePicture";

/** The group of the selected router, with its links. */
export function GroupView({
  scene,
  values,
  selected,
  jobs,
  jobsAt,
  senders,
  label,
  onSelect,
  moment,
  earlier,
  linkClass,
}: ViewProps & { moment: Moment; earlier: Moment | null; linkClass: string | null }) {
  const { arrangement } = scene;
  const panel = selected === null ? 0 : (arrangement.panelOf[selected] ?? 0);
  const shape = arrangement.panels[panel];
  const [box, size] = useSize();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const font = useFontReady();
  const [hovered, setHovered] = useState<GroupHit>(null);
  const grouped = shape?.group != null;
  const filter = { group: shape?.group ?? 0, ...(linkClass && { class: linkClass }) };
  const figures = useQuery({ ...linkFiguresQuery(scene.fabric.id, moment, filter), enabled: grouped });
  const then = useQuery({
    ...earlierLinksQuery(scene.fabric.id, earlier, filter),
    enabled: grouped && earlier !== null,
  });
  const asked = grouped ? [figures, ...(earlier ? [then] : [])] : [];
  const before = earlier ? then.data : null;
  const { members } = useMemo(() => selectPanels(arrangement, [panel]), [arrangement, panel]);
  const links = useMemo(
    () => (figures.data && before !== undefined ? groupLinks(figures.data, members, before) : new Map<string, never>()),
    [figures.data, before, members],
  );
  const layout = useMemo(
    () => (size ? groupLayout(arrangement, panel, size.width, size.height) : null),
    [arrangement, panel, size],
  );

  useLayoutEffect(() => {
    if (!base.current || !size || !layout) return;
    const context = contextOf(base.current, size);
    const title = `${capital(scene.arrangement.noun)} ${shape?.label.replace(/^g(?=\d)/, "") ?? ""}, routers`;
    const draw = () => {
      const shown = values.get();
      if (shown) drawGroup(context, layout, arrangement, shown.window, links, title, palette, size);
    };
    draw();
    return values.subscribe(draw);
  }, [values, arrangement, layout, links, palette, size, font, scene, shape]);

  const hoveredRouter = hovered && "router" in hovered ? hovered.router : null;
  useLayoutEffect(() => {
    if (!overlay.current || !size || !layout) return;
    const context = contextOf(overlay.current, size);
    const { arrangement: one, members: here } = selectPanels(arrangement, [panel]);
    const outlines = jobs.map((job, i) => {
      const routers = new Set([...job.routers].filter((router) => here.has(router)));
      return { edges: outline(one, cellsOf(one), routers), dash: i };
    });
    const shown = selected !== null && here.has(selected) ? selected : null;
    drawOverlay(
      context,
      rectShape((router) => groupRect(layout, arrangement, router)),
      { jobs: outlines, selected: shown, hovered: hoveredRouter },
      palette,
    );
  }, [size, layout, arrangement, panel, jobs, selected, hoveredRouter, palette]);
  useEffect(() => hideTooltip, []);

  const describe = (hit: NonNullable<GroupHit>) => {
    if ("router" in hit) return routerText(scene, values.get(), hit.router, jobsAt(hit.router));
    const link = links.get(linkKey(hit.src, hit.dst));
    const ends = `${shortPlace(scene, hit.src)} → ${shortPlace(scene, hit.dst)}`;
    return link
      ? `${ends}\n${ratio(link.ratio)} ${wordsOf(scene.fabric).amount}${link.factor === null ? "" : `, ${Number.isNaN(link.factor) ? "nothing to compare with" : change(link.factor)}`}\n${link.linkClass}${link.links > 1 ? `, worst of ${plural(link.links, "link")}` : ""}`
      : `${ends}\nno counted link`;
  };
  const missing = refused(asked) ?? (answered(asked) ? undefined : asked);
  return (
    <div ref={box} className="view-box">
      {missing && (
        <div className="view-note">
          <Unanswered line what="the links" asked={asked} />
        </div>
      )}
      {figures.data?.note && <p className="view-note subtitle">{figures.data.note}</p>}
      {size && (
        <Layers
          size={size}
          base={base}
          overlay={overlay}
          label={`${label} Group ${shape?.label ?? ""}, with its links as squares of sender by receiver.`}
          onHover={(at) => {
            const hit = at && layout ? groupAt(layout, arrangement, at.x, at.y) : null;
            setHovered(hit);
            if (at && hit)
              showTooltip(
                at.clientX,
                at.clientY,
                describe(hit),
                "router" in hit ? senders?.(hit) : senders?.({ router: hit.src }, hit.dst),
              );
            else hideTooltip();
          }}
          onPick={({ x, y }) => {
            const hit = layout && groupAt(layout, arrangement, x, y);
            if (hit) onSelect("router" in hit ? hit.router : hit.src);
          }}
        />
      )}
    </div>
  );
}
