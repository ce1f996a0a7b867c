/** A button for what not everyone may do: it says who may before the click, in the same words everywhere. */
import { useQuery } from "@tanstack/react-query";
import type { ButtonHTMLAttributes } from "react";
import { sessionQuery } from "../api/session";
import { Icon } from "./Icon";
import { loginHref } from "./Notice";

/** The scope that the API asks for, and the least role that has it. */
const ROLES = { nothing: "viewer", tasks: "user", operate: "operator", names: "operator" } as const;
export type Need = keyof typeof ROLES;

/** Why the reader may not, and whether a login would help; null if they may, or if that is not known yet: the server has the last word. */
export function useLacking(need: Need): { why: string; login: boolean } | null {
  const session = useQuery(sessionQuery()).data;
  if (need === "nothing" || !session || session.scopes.includes(need)) return null;
  const role = ROLES[need];
  return session.user
    ? { why: `Needs role ${role}; you are ${session.role ?? "without a role"}`, login: false }
    : { why: `Requires a login with role ${role}`, login: true };
}

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  need: Need;
  /** In a row of a table: the reason is in the tooltip and in the name, not beside the button. */
  compact?: boolean | undefined;
}

export function AccessButton({ need, compact = false, children, ...rest }: Props) {
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
