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

/** What was sent last. */
interface Sent {
  readonly request: string;
  readonly key: string;
  /** Whether it is not known what became of it. */
  readonly isOpen: boolean;
}

/**
 * A change of an account other than an exchange: one request, under one key until it is answered.
 * @param onDone takes what the answer's body says; undefined if it has none
 */
export function useChange<T = AccountJson>(
  onDone: (body: T, receiptId: string) => Promise<void> | void,
): AccountChange {
  const { api, texts } = useApp();
  const failureText = useFailureText();
  const [fault, setFault] = useState<string>();
  const [isSending, setSending] = useState(false);
  const sending = useRef(false);
  const last = useRef<Sent | undefined>(undefined);

  const send = async (path: string, body: object) => {
    if (sending.current) return;
    sending.current = true;
    setSending(true);
    setFault(undefined);
    const request = `${path} ${JSON.stringify(body)}`;
    // Another request is not the same again.
    const sent = last.current?.request === request ? last.current : { request, key: newKey(), isOpen: false };
    try {
      const answer = await api.change<T>(path, { body, key: sent.key });
      last.current = undefined;
      await onDone(answer.body, answer.receiptId);
    } catch (failure) {
      const stays = isOpen(failure, sent.isOpen);
      last.current = stays ? { ...sent, isOpen: true } : undefined;
      setFault(stays ? texts.changeUnknown : failureText(failure));
    } finally {
      sending.current = false;
      setSending(false);
    }
  };
  return { fault, isSending, setFault, send };
}
