import { useLayoutEffect, useRef } from "preact/hooks";
import type { EntryKind } from "../core/journal.ts";
import { useApp, useCustomer } from "./app.ts";
import { type Order, orderOf, orderOut, reasonOf } from "./customer.ts";
import { Field } from "./field.tsx";
import { takeFocus } from "./focus.ts";
import { Asked } from "./question.tsx";

interface ReasonedProps {
  readonly pesel: string;
  readonly kind: EntryKind;
}

/** The question about an order that takes a reason: a reversal, a block or an unblock. */
export function Reasoned({ pesel, kind }: ReasonedProps) {
  const customer = useCustomer(pesel);
  const order = orderOf(customer, [kind]);
  if (order === undefined && customer.told?.kind !== kind) return null;
  return <Form key={order?.key} pesel={pesel} kind={kind} order={order} />;
}

function Form({ pesel, kind, order }: ReasonedProps & { readonly order: Order | undefined }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  const reason = order === undefined ? "" : reasonOf(order);
  const setReason = (typed: string) => {
    if (order !== undefined) desk.tell(pesel, { is: "gives reason", key: order.key, reason: typed });
  };
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => takeFocus(form.current?.querySelector("input")), []);
  return (
    <form
      ref={form}
      class="reasoned"
      noValidate
      onSubmit={() => {
        if (order !== undefined) void desk.confirm(pesel, order.key);
      }}
    >
      <Asked pesel={pesel} kinds={[kind]} label={texts.carryOut}>
        <fieldset disabled={orderOut(customer) !== undefined}>
          <Field label={texts.reason} value={reason} maxLength={200} onValue={setReason} />
        </fieldset>
      </Asked>
    </form>
  );
}
