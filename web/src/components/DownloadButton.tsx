import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { getBinary } from "../api/client";
import { save } from "../lib/csv";
import { AccessButton, type Need } from "./AccessButton";
import { Failure } from "./Notice";

interface Props {
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
export function DownloadButton({ path, name, className = "button", need, compact, children }: Props) {
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
