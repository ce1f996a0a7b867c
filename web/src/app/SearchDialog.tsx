import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useDeferredValue, useMemo, useState } from "react";
import { searchQuery } from "../api/queries";
import type { Fabric, SearchHit } from "../api/shapes";
import { Dialog } from "../components/Dialog";
import { keySections } from "../lib/keys";
import { useStore } from "../lib/store";
import { type Action, actionsOf, forgetRecent, ranked, recentStore, remember } from "./search";

const KINDS: Record<string, string> = {
  job: "Jobs",
  router: "Routers",
  node: "Nodes",
  user: "Users",
  incident: "Incidents",
  fabric: "Machines",
};

/** Where a hit leads. An address of the server is followed only within this page's own paths. */
export function targetOf(hit: SearchHit, fabric: Fabric | null): string {
  if (
    hit.href &&
    /^\/(fabric|jobs|incidents|blame|drivers|forecast|lab|advice|recommendations|alerts|health)(\/|\?|$)/.test(hit.href)
  )
    return hit.href;
  if (hit.kind === "job") return `/jobs/${encodeURIComponent(hit.id)}`;
  if (hit.kind === "incident") return `/incidents/${encodeURIComponent(hit.id)}`;
  if (hit.kind === "user") return `/jobs?user=${encodeURIComponent(hit.id)}`;
  if (hit.kind === "fabric") return `/fabric/${encodeURIComponent(hit.title)}`;
  if (hit.kind === "router" && fabric)
    return `/fabric/${encodeURIComponent(fabric.name)}?router=${encodeURIComponent(hit.id)}`;
  return `/jobs?q=${encodeURIComponent(hit.title)}`;
}

export default function SearchDialog({ fabric, onClose }: { fabric: Fabric | null; onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const { data, isFetching, error } = useQuery(searchQuery(asked));
  const hits = asked ? (data?.items ?? []) : [];
  const sections = useStore(keySections);
  const recent = useStore(recentStore);
  const actions = useMemo(
    () => actionsOf(sections, fabric?.name ?? null, (href) => void navigate({ href } as never)),
    [sections, fabric, navigate],
  );
  const shownActions = asked ? ranked(asked, actions, (action) => action.label).slice(0, 6) : [];
  const shownRecent = asked ? ranked(asked, recent, (one) => one.title) : recent;
  const act = (action: Action) => {
    onClose();
    // The dialog gives the focus back first; what the action opens then keeps it.
    setTimeout(action.run);
  };
  const open = (title: string, href: string) => {
    remember({ title, href });
    onClose();
    void navigate({ href } as never);
  };
  const kinds = [...new Set(hits.map((hit) => hit.kind))];
  return (
    <Dialog open title="Search" onClose={onClose}>
      <Command shouldFilter={false} label="Search jobs, routers, users, actions">
        <Command.Input
          className="field search-field"
          placeholder="Job id or name, router, node, user, action"
          value={text}
          onValueChange={setText}
        />
        <Command.List className="search-list">
          {asked && !hits.length && !shownActions.length && !shownRecent.length && !isFetching && (
            <p className="menu-label">
              {error ? error.message : `No results for “${asked}”. You can type a part of a name.`}
            </p>
          )}
          {kinds.map((kind) => (
            <Command.Group key={kind} heading={<span className="menu-label">{KINDS[kind] ?? kind}</span>}>
              {hits
                .filter((hit) => hit.kind === kind)
                .map((hit) => (
                  <Command.Item
                    key={`${hit.kind} ${hit.id} ${hit.href ?? ""}`}
                    value={`${hit.kind} ${hit.id} ${hit.href ?? ""}`}
                    className="menu-item"
                    onSelect={() => open(hit.title, targetOf(hit, fabric))}
                  >
                    <span className="ellipsis">{hit.title}</span>
                    {hit.detail && <span className="muted ellipsis">{hit.detail}</span>}
                  </Command.Item>
                ))}
            </Command.Group>
          ))}
          {shownRecent.length > 0 && (
            <Command.Group heading={<span className="menu-label">Recently opened in this browser</span>}>
              {shownRecent.map((one) => (
                <Command.Item
                  key={one.href}
                  value={`recent ${one.href}`}
                  className="menu-item"
                  onSelect={() => open(one.title, one.href)}
                >
                  <span className="ellipsis">{one.title}</span>
                </Command.Item>
              ))}
              {!asked && (
                <Command.Item value="recent clear" className="menu-item" onSelect={forgetRecent}>
                  <span className="muted">Clear this list</span>
                </Command.Item>
              )}
            </Command.Group>
          )}
          {shownActions.length > 0 && (
            <Command.Group heading={<span className="menu-label">Actions</span>}>
              {shownActions.map((action) => (
                <Command.Item
                  key={action.label}
                  value={`action ${action.label}`}
                  className="menu-item"
                  onSelect={() => act(action)}
                >
                  <span className="ellipsis">{action.label}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}
