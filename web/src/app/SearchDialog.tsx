import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useDeferredValue, useState } from "react";
import { searchQuery } from "../api/queries";
import type { Fabric, SearchHit } from "../api/shapes";
import { Dialog } from "../components/Dialog";

const KINDS: Record<string, string> = { job: "Jobs", router: "Routers", node: "Nodes", user: "Users", fabric: "Machines" };

/** Where a hit leads. An address of the server is followed only within this page's own paths. */
export function targetOf(hit: SearchHit, fabric: Fabric | null): string {
  if (hit.href && /^\/(fabric|jobs|blame|drivers|forecast|lab|recommendations|alerts|health)(\/|\?|$)/.test(hit.href)) return hit.href;
  if (hit.kind === "job") return `/jobs/${encodeURIComponent(hit.id)}`;
  if (hit.kind === "user") return `/jobs?user=${encodeURIComponent(hit.id)}`;
  if (hit.kind === "fabric") return `/fabric/${encodeURIComponent(hit.title)}`;
  if (hit.kind === "router" && fabric) return `/fabric/${encodeURIComponent(fabric.name)}?router=${encodeURIComponent(hit.id)}`;
  return `/jobs?q=${encodeURIComponent(hit.title)}`;
}

export default function SearchDialog({ fabric, onClose }: { fabric: Fabric | null; onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const { data, isFetching, error } = useQuery(searchQuery(asked));
  const hits = asked ? data?.items ?? [] : [];
  const kinds = [...new Set(hits.map((hit) => hit.kind))];
  return (
    <Dialog open title="Search" onClose={onClose}>
      <Command shouldFilter={false} label="Search jobs, routers, users">
        <Command.Input className="field search-field" placeholder="Job number or name, router, node, user" value={text} onValueChange={setText} />
        <Command.List className="search-list">
          {asked && !hits.length && !isFetching && (
            <p className="menu-label">{error ? error.message : `Nothing is called “${asked}”. A part of a name is enough.`}</p>
          )}
          {kinds.map((kind) => (
            <Command.Group key={kind} heading={<span className="menu-label">{KINDS[kind] ?? kind}</span>}>
              {hits.filter((hit) => hit.kind === kind).map((hit) => (
                <Command.Item
                  key={`${hit.kind} ${hit.id} ${hit.href ?? ""}`} value={`${hit.kind} ${hit.id} ${hit.href ?? ""}`} className="menu-item"
                  onSelect={() => {
                    onClose();
                    void navigate({ href: targetOf(hit, fabric) } as never);
                  }}
                >
                  <span className="ellipsis">{hit.title}</span>
                  {hit.detail && <span className="muted ellipsis">{hit.detail}</span>}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
