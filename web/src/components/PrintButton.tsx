import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { getBinary } from "../api/client";
import { Failure } from "./Notice";

interface Props {
  /** Below /api/v1: a page of its own that loads nothing and runs nothing. */
  path: string;
  children: string;
}

/** Prints a page of the server from a frame of its own: the reader's browser makes the paper, or the PDF. */
export function PrintButton({ path, children }: Props) {
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
