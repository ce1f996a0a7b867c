import { useNavigate } from "@tanstack/react-router";
import type { ComponentProps } from "react";

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
