import type { Command } from "commander";
import { type Account, balanceOf } from "../../core/account.ts";
import type { Request } from "../../core/change.ts";
import type { Decimal } from "../../core/decimal.ts";
import { FxError } from "../../core/errors.ts";
import type { ExchangeOrder, Quote } from "../../core/exchange.ts";
import { housePlaceOf } from "../../core/house.ts";
import type { Receipt } from "../../core/journal.ts";
import { type Money, requestedMinor } from "../../core/money.ts";
import type { ExchangeService, Settlement } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { Declined, RequestFailed } from "../errors.ts";
import { replayNote, withConsentOptions, withKeyOption } from "../options.ts";
import {
  accountState,
  factPairs,
  holderPairs,
  optional,
  quotePairs,
  receiptPairs,
} from "../terminal/figures.ts";
import { amountText, moneyText, type Pairs, writeRecord, writeTable, writeText } from "../terminal/output.ts";
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

/** A request that changes an account that exists. */
type AccountRequest = Exclude<Request, { readonly kind: "opening" }>;

/** A request as its command line gives it. */
interface Intent {
  readonly request: AccountRequest;
  /** The receipt that a reversal undoes. */
  readonly undone?: Receipt;
}

/** The arguments of a command: what it asks for, or how that is read from the service. */
type Arguments = { readonly rates?: boolean } & (
  | { readonly request: AccountRequest }
  | { readonly intent: (service: ExchangeService) => Promise<Intent> }
);

/** The outcome that a request would have now. */
interface Preview extends Intent {
  readonly before: Account;
  readonly after: Account;
  /** The quote of an exchange. */
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

/** The options of every command that changes an account. */
export function withSettleOptions(command: Command): Command {
  return withConsentOptions(withKeyOption(command), "show what would change, and change nothing");
}

/**
 * Carries out a command that changes an account. At a terminal it shows a preview and asks first.
 * @param read parses the arguments, before the service is opened
 */
export async function settle(
  context: Context,
  { key = crypto.randomUUID(), yes = false, dryRun = false, ...options }: SettleOptions,
  read: (key: string) => Promise<Arguments>,
): Promise<void> {
  context.sending.prepare(key);
  const isAsked = !dryRun && context.questions.asksFirst(yes);
  const { rates = false, ...given } = await read(key);
  const service = await context.service(options, { rates, access: dryRun ? "read" : "write" });
  const intent = "intent" in given ? await given.intent(service) : given;
  const tell = (settlement: Settlement) => tellSettlement(context, options, service, key, settlement);
  if (!dryRun && !isAsked) return tell(await send(context, service, key, intent.request));
  for (;;) {
    const preview = await previewOf(service, intent);
    if ("replayed" in preview)
      return tell(dryRun ? preview : await send(context, service, key, intent.request));
    if (dryRun) return tellPreview(context, options, preview);
    const settlement = await ask(context, service, key, preview);
    if (settlement !== undefined) return tell(settlement);
  }
}

/** A dry run of the request; the settlement, if the request was done before under its key. */
async function previewOf(service: ExchangeService, intent: Intent): Promise<Preview | Settlement> {
  const { request } = intent;
  // Refusals of the dry run come first, because it checks in the order in which the ledger does.
  const [quoted] = await Promise.allSettled([
    request.kind === "exchange" ? service.quote(request) : undefined,
  ]);
  const quote = quoted.status === "fulfilled" ? quoted.value : undefined;
  const answer = await dryRun(service, quote === undefined ? request : pinnedTo(request, quote));
  if (answer instanceof FxError) throw answer;
  if (answer.replayed) return answer;
  if (quoted.status === "rejected") throw quoted.reason;
  return { ...intent, before: await accountOf(service, request), after: answer.account, quote };
}

/** The house's accounts are there before their first entry. */
async function accountOf(service: ExchangeService, { pesel }: AccountRequest): Promise<Account> {
  if (housePlaceOf(pesel) === undefined) return service.account(pesel);
  return (await service.house()).find((account) => account.pesel === pesel) as Account;
}

async function dryRun(service: ExchangeService, request: AccountRequest): Promise<Settlement | FxError> {
  async function* once() {
    yield [request];
  }
  for await (const [answer] of service.dryRun(once())) {
    if (answer instanceof FxError || (answer !== undefined && "account" in answer)) return answer;
  }
  throw new Error("a dry run has no answer to its line");
}

/** The request, to be refused if another rate table than the one of the quote is in force by then. */
function pinnedTo(request: AccountRequest, quote: Quote | undefined): AccountRequest {
  if (request.kind !== "exchange" || quote === undefined) return request;
  return { ...request, table: request.table ?? quote.tableId } satisfies ExchangeOrder & AccountRequest;
}

/** Asks, and sends the request after a yes. Resolves with nothing if the rates have changed meanwhile. */
async function ask(
  context: Context,
  service: ExchangeService,
  key: string,
  preview: Preview,
): Promise<Settlement | undefined> {
  const { stderr } = context.terminal;
  const { request, quote } = preview;
  await writePreview(stderr, preview);
  write(stderr, "");
  if (!(await context.questions.confirm(questions[request.kind]))) throw new Declined();
  write(stderr, "");
  try {
    return await send(context, service, key, pinnedTo(request, quote));
  } catch (error) {
    const isNewTable = request.kind === "exchange" && request.table === undefined && isRateChange(error);
    if (!isNewTable) throw error;
    writeText(stderr, "The rates have changed, and nothing was exchanged. The new quote:");
    write(stderr, "");
    return undefined;
  }
}

function isRateChange(error: unknown): boolean {
  return (
    error instanceof RequestFailed && error.cause instanceof FxError && error.cause.code === "rate-changed"
  );
}

function send(
  context: Context,
  service: ExchangeService,
  key: string,
  request: AccountRequest,
): Promise<Settlement> {
  return context.sending.send(key, () =>
    request.kind === "exchange" ? service.exchange(request) : service.change(request),
  );
}

async function tellPreview(context: Context, options: CommandOptions, preview: Preview): Promise<void> {
  if (!options.json) return writePreview(context.terminal.stdout, preview);
  const [accounts, exchanges] = [import("../../wire/accounts.ts"), import("../../wire/exchanges.ts")];
  const { quote, after } = preview;
  context.document(
    quote === undefined ? (await accounts).encodeListedAccount(after) : (await exchanges).quote.encode(quote),
  );
}

async function writePreview(
  screen: Screen,
  { request, undone, before, after, quote }: Preview,
): Promise<void> {
  if (undone !== undefined) {
    writeRecord(screen, receiptPairs(screen, undone));
    writeGap(screen);
  }
  writeRecord(screen, [
    // A receipt has the PESEL already.
    ...holderPairs(before).slice(0, undone === undefined ? 2 : 1),
    ...(quote === undefined ? [] : quotePairs(screen, quote)),
    ...requestPairs(screen, request, undone),
    ...(changesState.includes(request.kind) ? accountState(screen, after) : []),
  ]);
  await writeBalances(screen, before, after);
}

/** A request as it was given, except an exchange, whose quote says more. */
function requestPairs(screen: Screen, request: AccountRequest, undone: Receipt | undefined): Pairs {
  const moved = (name: string, money: Money | undefined) => optional(name, money && moneyText(screen, money));
  switch (request.kind) {
    case "deposit":
    case "withdrawal": {
      const { kind, currency, amount, note } = request;
      const minor = requestedMinor(amount, currency);
      return [...moved(kind === "deposit" ? "in" : "out", { currency, minor }), ...optional("note", note)];
    }
    case "reversal":
      return [...moved("out", undone?.credited), ...moved("in", undone?.debited), ["reason", request.reason]];
    case "renaming":
      return [["new name", `${request.name} ${request.surname}`]];
    case "block":
    case "unblock":
      return [["reason", request.reason]];
    case "exchange":
    case "closing":
      return [];
  }
}

/** The balances that differ, in two columns. */
async function writeBalances(screen: Screen, before: Account, after: Account): Promise<void> {
  const columns = [
    { title: "" },
    { title: "Before", align: "right" },
    { title: "After", align: "right" },
  ] as const;
  const rows = after.balances
    .filter(({ currency, minor }) => balanceOf(before, currency) !== minor)
    .map(({ currency, minor }) => [
      currency,
      ...[balanceOf(before, currency), minor].map((minor) => amountText(screen, { currency, minor })),
    ]);
  if (rows.length > 0) writeGap(screen);
  await writeTable(screen, columns, rows);
}

/** An empty line for people. */
function writeGap(screen: Screen): void {
  if (screen.rich) write(screen, "");
}

async function tellSettlement(
  context: Context,
  options: CommandOptions,
  service: ExchangeService,
  key: string,
  { account, receiptId, replayed }: Settlement,
): Promise<void> {
  const { stdout, stderr } = context.terminal;
  // The money has moved: a receipt that cannot be read now is no failure of the command.
  const entry = await service.receipt(receiptId).catch(() => undefined);
  if (options.json) {
    const { encodeListedAccount } = await import("../../wire/accounts.ts");
    const { entry: shape } = await import("../../wire/entries.ts");
    const { id: _, ...facts } = entry === undefined ? { id: receiptId } : shape.encode(entry);
    return context.document({ ...facts, ...encodeListedAccount(account), receipt: receiptId, key, replayed });
  }
  if (replayed) writeText(stderr, replayNote);
  writeRecord(stdout, [
    ...(entry === undefined ? [] : factPairs(stdout, entry)),
    ["receipt", receiptId],
    ...accountState(stdout, account),
  ]);
}
