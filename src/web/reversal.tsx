import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EntryJson } from "../wire/entry-schemas.ts";
import type { AccountJson } from "../wire/schemas.ts";
import { useApp } from "./app.ts";
import { useChange } from "./change.ts";
import { Field } from "./field.tsx";

interface ReversalProps {
  readonly entry: EntryJson;
  readonly onDone: (account: AccountJson, receiptId: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks why an entry is to be undone, and undoes it. */
export function Reversal({ entry, onDone, onClose }: ReversalProps) {
  const { texts, format } = useApp();
  const [reason, setReason] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const { fault, isSending, send } = useChange(async (account, receiptId) => {
    onClose();
    await onDone(account, receiptId);
  });
  return (
    <form
      ref={form}
      class="fields ask"
      noValidate
      onKeyDown={({ key }) => key === "Escape" && onClose()}
      onSubmit={(event) => {
        event.preventDefault();
        void send(`api/receipts/${entry.id}/reversal`, { reason });
      }}
    >
      <strong>
        {texts.reverse}: {texts.kind[entry.kind]}, {format.time(entry.time)}
      </strong>
      <Field label={texts.reason} value={reason} maxLength={200} onValue={setReason} />
      {fault !== undefined && <p role="alert">{fault}</p>}
      <p class="actions">
        <button type="submit" class="primary" aria-busy={isSending}>
          {texts.carryOut}
        </button>
        <button type="button" class="plain" onClick={onClose}>
          {texts.cancel}
        </button>
      </p>
    </form>
  );
}
