import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import {
  type ButtonHTMLAttributes,
  type ComponentProps,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { getBinary } from "../api/client";
import { sessionQuery } from "../api/people";
import { stringifySearch } from "../lib/address";
import { useKeys } from "../lib/keys";
import { save } from "../lib/tables";
import { Icon } from "./Icon";
import { Failure, loginHref } from "./Notice";

/** A link to an address of this site that came as text (an item's, an alert's): opened without loading everything anew. */
export function PageLink({ href, children, ...rest }: ComponentProps<"a"> & { href: string }) {
  const navigate = useNavigate();
  return (
    <a
      href={href}
      {...rest}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        void navigate({ href } as never);
      }}
    >
      {children}
    </a>
  );
}

/** Copies a text; where the browser refuses the clipboard (plain HTTP), it says how to copy by hand. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [said, setSaid] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const say = (words: string) => {
    setSaid(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid(""), 3000);
  };
  const copy = () => {
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const refused = () => say("Select the text and press Ctrl+C");
    if (clipboard) clipboard.writeText(text).then(() => say("Copied"), refused);
    else refused();
  };
  return (
    <button className="button" onClick={copy} aria-label={`Copy ${what}`}>
      <span role="status">{said || "Copy"}</span>
    </button>
  );
}

interface CopyMomentProps {
  /** What the address has to hold in addition, so that it shows this moment later on. */
  search: () => Record<string, string | number | undefined>;
}

/** The address of what is shown now, for a chat or a ticket: it shows the same when live data have moved on. */
export function CopyMoment({ search }: CopyMomentProps) {
  const router = useRouter();
  const [said, setSaid] = useState("");
  const copy = () => {
    const { pathname, search: old } = router.state.location;
    const path = pathname + stringifySearch({ ...old, ...search() });
    const done = (text: string) => {
      setSaid(text);
      setTimeout(() => setSaid(""), 3000);
    };
    // Without a clipboard (plain HTTP) the address bar holds the link.
    const fallBack = () => {
      void router.navigate({ href: path, replace: true } as never);
      done("In the address bar");
    };
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard) clipboard.writeText(location.origin + path).then(() => done("Copied"), fallBack);
    else fallBack();
  };
  const newest = useRef(copy);
  newest.current = copy;
  useKeys(
    "This moment",
    useMemo(() => [{ keys: "y", label: "Copy link to this moment", run: () => newest.current() }], []),
  );
  return (
    <button className="button" onClick={copy} aria-label="Copy link to this moment" title="Copy link to this moment">
      <Icon name="link" />
      <span className="copy-words" data-said={said ? "" : undefined} role="status">
        {said || "Copy link"}
      </span>
    </button>
  );
}

// A button for what not everyone may do: it says who may before the click, in the same words everywhere.

/** The scope that the API asks for, and the least role that has it. */
const ROLES = { nothing: "viewer", tasks: "user", operate: "operator", names: "operator" } as const;
type Need = keyof typeof ROLES;

/** Why the reader may not, and whether a login would help; null if they may, or if that is not known yet: the server has the last word. */
export function useLacking(need: Need): { why: string; login: boolean } | null {
  const session = useQuery(sessionQuery()).data;
  if (need === "nothing" || !session || session.scopes.includes(need)) return null;
  const role = ROLES[need];
  return session.user
    ? { why: `Needs role ${role}; you are ${session.role ?? "without a role"}`, login: false }
    : { why: `Requires a login with role ${role}`, login: true };
}

interface AccessButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  need: Need;
  /** In a row of a table: the reason is in the tooltip and in the name, not next to the button. */
  compact?: boolean | undefined;
}

export function AccessButton({ need, compact = false, children, ...rest }: AccessButtonProps) {
  const lacking = useLacking(need);
  if (!lacking) return <button {...rest}>{children}</button>;
  const words = (
    <>
      <Icon name="lock" />
      {children}
      {compact && <span className="visually-hidden">: {lacking.why}</span>}
    </>
  );
  return (
    <span className="locked" data-need={need}>
      {lacking.login ? (
        <a className={rest.className} href={loginHref()} title={lacking.why}>
          {words}
        </a>
      ) : (
        <button className={rest.className} type="button" disabled title={lacking.why}>
          {words}
        </button>
      )}
      {!compact && <span className="locked-why">{lacking.why}</span>}
    </span>
  );
}

interface DownloadButtonProps {
  /** Below /api/v1. */
  path: string;
  /** Of the file. */
  name: string;
  className?: string;
  /** What the reader must be allowed; without it everyone may. */
  need?: Need;
  /** In a row of a table. */
  compact?: boolean;
  children: ReactNode;
}

/** A file of the server. Asked for by the page itself, so that a refusal is read here and not found later in a file. */
export function DownloadButton({ path, name, className = "button", need, compact, children }: DownloadButtonProps) {
  const download = useMutation({
    mutationFn: () => getBinary(path),
    onSuccess: ({ body }) => save(name, new Blob([body], { type: "application/octet-stream" })),
  });
  return (
    <>
      <AccessButton
        need={need ?? "nothing"}
        compact={compact}
        className={className}
        onClick={() => download.mutate()}
        disabled={download.isPending}
      >
        {download.isPending ? "Downloading…" : children}
      </AccessButton>
      {download.error && <Failure line error={download.error} retry={() => download.mutate()} />}
    </>
  );
}

interface PrintButtonProps {
  /** Below /api/v1: a page of its own that loads nothing and runs nothing. */
  path: string;
  children: string;
}

/** Prints a page of the server from a frame of its own: the reader's browser makes the paper, or the PDF. */
export function PrintButton({ path, children }: PrintButtonProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const read = useMutation({
    mutationFn: async () => new TextDecoder().decode((await getBinary(path, undefined, undefined, "text/html")).body),
  });
  return (
    <>
      <button className="button" onClick={() => read.mutate()} disabled={read.isPending}>
        {read.isPending ? "Reading…" : children}
      </button>
      {read.data !== undefined && (
        // Another key: the same evidence is printed as often as it is asked for.
        <iframe
          key={read.submittedAt}
          ref={frame}
          className="visually-hidden"
          title="The evidence, for printing"
          tabIndex={-1}
          sandbox="allow-same-origin allow-modals"
          srcDoc={read.data}
          onLoad={() => frame.current?.contentWindow?.print()}
        />
      )}
      {read.error && <Failure line error={read.error} retry={() => read.mutate()} />}
    </>
  );
}
