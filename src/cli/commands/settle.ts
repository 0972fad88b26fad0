import { type Account, balanceOf } from "../../core/account.ts";
import type { Request } from "../../core/change.ts";
import { pln } from "../../core/currency.ts";
import type { Decimal } from "../../core/decimal.ts";
import { FxError } from "../../core/errors.ts";
import type { Quote } from "../../core/exchange.ts";
import { housePlaceOf } from "../../core/house.ts";
import type { Receipt } from "../../core/journal.ts";
import { requestedMinor } from "../../core/money.ts";
import type { Pesel } from "../../core/pesel.ts";
import type { ExchangeService, Settlement } from "../../core/service.ts";
import { replayNote } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { Declined, RequestFailed } from "../errors.ts";
import {
  accountState,
  type EntryFacts,
  factPairs,
  holderPairs,
  quotePairs,
  receiptPairs,
} from "../terminal/figures.ts";
import { amountsText, recordText, writeRecord, writeSections, writeText } from "../terminal/output.ts";
import { type Screen, write } from "../terminal/terminal.ts";

export interface SettleOptions extends CommandOptions {
  readonly key?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

export interface CashOptions extends SettleOptions {
  readonly amount: Decimal;
  readonly currency: string;
  readonly note?: string;
}

export interface ReasonOptions extends SettleOptions {
  readonly reason: string;
}

type AccountRequest = Exclude<Request, { readonly kind: "opening" }>;

/** A request, with the receipt that a reversal undoes. */
interface Intent {
  readonly request: AccountRequest;
  readonly undone?: Receipt;
}

interface Preview extends Intent {
  readonly before: Account;
  readonly after: Account;
  readonly quote: Quote | undefined;
}

const questions: Readonly<Record<AccountRequest["kind"], string>> = {
  exchange: "Exchange?",
  deposit: "Deposit?",
  withdrawal: "Withdraw?",
  reversal: "Reverse it?",
  renaming: "Change the name?",
  closing: "Close the account?",
  block: "Block the account?",
  unblock: "Lift the block?",
};

/** Kinds of requests that move no money, and change what can be done with the account. */
const changesState: readonly AccountRequest["kind"][] = ["closing", "block", "unblock"];

/** Carries out a command that changes the account of a PESEL argument. */
export async function settleAccount(
  context: Context,
  argument: string,
  options: SettleOptions,
  requestOf: (ids: { readonly pesel: Pesel; readonly key: string }) => AccountRequest,
): Promise<void> {
  await settle(context, options, async (key) =>
    requestOf({ pesel: await context.questions.pesel(argument), key }),
  );
}

/**
 * Carries out a command that changes an account. At a terminal it shows a preview and asks first.
 * @param read parses the arguments, before the service is opened, to the request or to how it is read from the service
 */
export async function settle(
  context: Context,
  { key = crypto.randomUUID(), yes = false, dryRun = false, json = false }: SettleOptions,
  read: (key: string) => Promise<AccountRequest | ((service: ExchangeService) => Promise<Intent>)>,
): Promise<void> {
  context.beginChange(key);
  const isAsked = !dryRun && context.questions.asksFirst(yes);
  const given = await read(key);
  const usesRates = typeof given === "object" && needsRates(given);
  const service = await context.service({ access: dryRun ? "read" : "write", usesRates });
  const intent = typeof given === "object" ? { request: given } : await given(service);
  const send = (request: AccountRequest) =>
    context.sending.send(key, () =>
      request.kind === "exchange" ? service.exchange(request) : service.change(request),
    );
  const tell = (settlement: Settlement) => tellSettlement(context, json, service, key, settlement);
  if (!dryRun && !isAsked) return tell(await send(intent.request));
  for (;;) {
    const preview = await previewOf(service, intent);
    if ("replayed" in preview) return tell(dryRun ? preview : await send(intent.request));
    if (dryRun) return tellPreview(context, json, preview);
    await ask(context, preview);
    try {
      return await tell(await send(pinnedTo(intent.request, preview.quote)));
    } catch (error) {
      if (!isNewTable(intent.request, error)) throw error;
      writeText(context.terminal.stderr, "The rates have changed, and nothing was exchanged. The new quote:");
      write(context.terminal.stderr, "");
    }
  }
}

/** PLN, whatever an account holds, and the house's own money need no rate table. */
function needsRates({ kind, pesel, ...request }: AccountRequest): boolean {
  if (kind !== "deposit") return kind === "exchange";
  return "currency" in request && request.currency !== pln && housePlaceOf(pesel) === undefined;
}

/** A dry run of the request; the settlement, if the request was done before under its key. */
async function previewOf(service: ExchangeService, intent: Intent): Promise<Preview | Settlement> {
  const { request } = intent;
  // Refusals of the dry run come first, because it checks in the order in which the ledger does.
  const [quoted] = await Promise.allSettled([
    request.kind === "exchange" ? service.quote(request) : undefined,
  ]);
  const quote = quoted.status === "fulfilled" ? quoted.value : undefined;
  const answer = await dryRun(service, pinnedTo(request, quote));
  if (answer.replayed) return answer;
  if (quoted.status === "rejected") throw quoted.reason;
  return { ...intent, before: await service.account(request.pesel), after: answer.account, quote };
}

async function dryRun(service: ExchangeService, request: AccountRequest): Promise<Settlement> {
  async function* once() {
    yield [request];
  }
  for await (const [answer] of service.dryRun(once())) {
    if (answer instanceof FxError) throw answer;
    if (answer !== undefined && "account" in answer) return answer;
  }
  throw new Error("a dry run has no answer to its line");
}

/** The request, pinned to the quote's rate table: it is refused if another one is in force by then. */
function pinnedTo(request: AccountRequest, quote: Quote | undefined): AccountRequest {
  if (request.kind !== "exchange" || quote === undefined) return request;
  return { ...request, table: request.table ?? quote.tableId };
}

async function ask(context: Context, preview: Preview): Promise<void> {
  const { stderr } = context.terminal;
  writePreview(stderr, preview);
  write(stderr, "");
  if (!(await context.questions.confirm(questions[preview.request.kind]))) throw new Declined();
  write(stderr, "");
}

/** Whether an exchange was refused because of its quote's rate table, which the user has not named. */
function isNewTable(request: AccountRequest, error: unknown): boolean {
  const cause = error instanceof RequestFailed ? error.cause : undefined;
  const isRateChange = cause instanceof FxError && cause.code === "rate-changed";
  return request.kind === "exchange" && request.table === undefined && isRateChange;
}

async function tellPreview(context: Context, json: boolean, preview: Preview): Promise<void> {
  const { quote, after } = preview;
  if (!json) return writePreview(context.terminal.stdout, preview);
  if (quote === undefined) {
    return context.document((await import("../../wire/accounts.ts")).encodeListedAccount(after));
  }
  context.document((await import("../../wire/exchanges.ts")).quote.encode(quote));
}

function writePreview(screen: Screen, { request, undone, before, after, quote }: Preview): void {
  const changed = after.balances
    .map(({ currency, minor }) => [currency, balanceOf(before, currency), minor] as const)
    .filter(([, then, now]) => then !== now);
  writeSections(
    screen,
    undone === undefined ? "" : recordText(screen, receiptPairs(screen, undone)),
    recordText(screen, [
      // A receipt has the PESEL already.
      ...holderPairs(before).slice(0, undone === undefined ? 2 : 1),
      ...(quote === undefined ? [] : quotePairs(screen, quote)),
      ...factPairs(screen, factsOf(request, undone)),
      ...(changesState.includes(request.kind) ? accountState(screen, after) : []),
    ]),
    amountsText(screen, ["", "Before", "After"], changed),
  );
}

function factsOf(request: AccountRequest, undone: Receipt | undefined): EntryFacts {
  const { kind } = request;
  switch (kind) {
    case "deposit":
    case "withdrawal": {
      const { currency, amount, note } = request;
      const money = { currency, minor: requestedMinor(amount, currency) };
      return { kind, note, [kind === "deposit" ? "credited" : "debited"]: money };
    }
    case "reversal":
      return { kind, note: request.reason, debited: undone?.credited, credited: undone?.debited };
    case "renaming":
      return { kind, holder: request };
    case "block":
    case "unblock":
      return { kind, note: request.reason };
    default:
      return { kind };
  }
}

async function tellSettlement(
  context: Context,
  json: boolean,
  service: ExchangeService,
  key: string,
  { account, receiptId, replayed }: Settlement,
): Promise<void> {
  const { stdout, errors } = context.terminal;
  // The money has moved: a receipt that cannot be read now is no failure of the command.
  const entry = await service.receipt(receiptId).catch(() => undefined);
  if (json) {
    const { encodeListedAccount } = await import("../../wire/accounts.ts");
    const { entry: shape } = await import("../../wire/entries.ts");
    const { id: _, ...facts } = entry === undefined ? { id: receiptId } : shape.encode(entry);
    return context.document({ ...facts, ...encodeListedAccount(account), receipt: receiptId, key, replayed });
  }
  if (replayed) writeText(errors, replayNote);
  writeRecord(stdout, [
    ...(entry === undefined ? [] : factPairs(stdout, entry)),
    ["receipt", receiptId],
    ...accountState(stdout, account),
  ]);
}
