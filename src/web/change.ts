import { useRef, useState } from "preact/hooks";
import type { AccountJson } from "../wire/schemas.ts";
import { isOpen, newKey } from "./api.ts";
import { useApp, useFailureText } from "./app.ts";

interface AccountChange {
  readonly fault: string | undefined;
  readonly isSending: boolean;
  setFault(fault: string | undefined): void;
  /** Sends it once, however often it is asked to meanwhile. The key stays until fx has answered. */
  send(path: string, body: object): Promise<void>;
}

/** A change of an account other than an exchange: one request, under one key until it is answered. */
export function useChange(onDone: (account: AccountJson, receiptId: string) => Promise<void>): AccountChange {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const [fault, setFault] = useState<string>();
  const [isSending, setSending] = useState(false);
  const sending = useRef(false);
  const key = useRef<{ readonly request: string; readonly key: string } | undefined>(undefined);

  const send = async (path: string, body: object) => {
    if (sending.current) return;
    sending.current = true;
    setSending(true);
    setFault(undefined);
    const request = `${path} ${JSON.stringify(body)}`;
    // Another request is not the same again.
    if (key.current?.request !== request) key.current = { request, key: newKey() };
    try {
      const { body: account, receiptId } = await api.change<AccountJson>(path, {
        body,
        key: key.current.key,
      });
      key.current = undefined;
      await onDone(account, receiptId);
    } catch (failure) {
      if (!isOpen(failure)) key.current = undefined;
      setFault(isOpen(failure) ? texts.outcomeUnknown : failureText(failure));
    } finally {
      sending.current = false;
      setSending(false);
    }
  };
  return { fault, isSending, setFault, send };
}
