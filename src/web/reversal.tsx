import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useApp, useCustomer } from "./app.ts";
import { type Order, orderOf, orderOut } from "./customer.ts";
import { Field } from "./field.tsx";
import { Asked } from "./question.tsx";

/** Asks why an entry is to be undone, and undoes it. */
export function Reversal({ pesel }: { readonly pesel: string }) {
  const customer = useCustomer(pesel);
  const order = orderOf(customer, ["reversal"]);
  if (order === undefined && customer.told?.kind !== "reversal") return null;
  // A reason belongs to one order: that of the next begins empty.
  return <Form key={order?.key} pesel={pesel} order={order} />;
}

function Form({ pesel, order }: { readonly pesel: string; readonly order: Order | undefined }) {
  const { desk, texts } = useApp();
  const customer = useCustomer(pesel);
  const sent = order?.body as { readonly reason?: string } | undefined;
  const [reason, setReason] = useState(sent?.reason ?? "");
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  return (
    <form
      ref={form}
      class="ask"
      noValidate
      onKeyDown={({ key }) => key === "Escape" && desk.tell(pesel, { is: "cancels" })}
      onSubmit={(event) => {
        event.preventDefault();
        if (order !== undefined) void desk.confirm(pesel, order.key, { reason });
      }}
    >
      <Asked pesel={pesel} kinds={["reversal"]} label={texts.carryOut} body={{ reason }}>
        <fieldset disabled={orderOut(customer) !== undefined}>
          <Field label={texts.reason} value={reason} maxLength={200} onValue={setReason} />
        </fieldset>
      </Asked>
    </form>
  );
}
