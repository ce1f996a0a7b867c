import * as Radix from "@radix-ui/react-dialog";
import type { ReactNode } from "react";

interface Props {
  open: boolean;
  title: string;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ open, title, onClose, children }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="dialog-veil" />
        <Radix.Content className="dialog" aria-describedby={undefined}>
          <Radix.Title asChild>
            <h2>{title}</h2>
          </Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface EndProps {
  error: Error | null;
  onClose: () => void;
  children: ReactNode;
}

/** The end of a dialog's form: why it was refused, a way out, and the button that `children` is. */
export function DialogEnd({ error, onClose, children }: EndProps) {
  return (
    <>
      {error && (
        <p className="alarm" role="alert">
          {error.message}
        </p>
      )}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        {children}
      </div>
    </>
  );
}
