import type { Command } from "commander";
import { type Account, balanceOf, credit, debit } from "../../core/account.ts";
import { FxError } from "../../core/errors.ts";
import type { ExchangeTerms, Quote } from "../../core/exchange.ts";
import type { Pesel } from "../../core/pesel.ts";
import type { ExchangeService, Settlement } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { Declined, RequestFailed } from "../errors.ts";
import { command, peselArgument, replayNote, withKeyOption } from "../options.ts";
import { balancePairs, exchangePairs, quotePairs } from "../terminal/figures.ts";
import { amountText, writeRecord, writeTable, writeText } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";
import { type TermsOptions, tellQuote, termsOf, withTermsOptions } from "./quote.ts";

interface ExchangeOptions extends TermsOptions {
  readonly key?: string;
  readonly table?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

const needs = { rates: true, access: "read" } as const;

export function defineExchange(program: Command, context: Context): void {
  withKeyOption(
    withTermsOptions(
      command(
        program,
        "exchange",
        "exchange money on an account; at a terminal, after a quote and a question",
        [
          "fx exchange 44051401359 --from PLN --to USD --to-buy 100",
          "fx exchange 44051401359 --from USD --to PLN --to-sell 50 --yes --json",
          "fx exchange - --from PLN --to EUR --to-sell 1000 --yes < pesel.txt",
        ],
      ).addArgument(peselArgument()),
    )
      .option("--table <number>", "only if this rate table is in force, such as 108/C/NBP/2026; or its id")
      .option("-y, --yes", "do not ask; required at a terminal if stdin or stderr is redirected")
      .option("--dry-run", "only show the quote, move nothing"),
  ).action(async (argument: string, { key: givenKey, ...options }: ExchangeOptions) => {
    const key = givenKey ?? crypto.randomUUID();
    context.prepare(key);
    const { dryRun = false, yes = false } = options;
    const isAsked = !dryRun && context.asksFirst(yes);
    const pesel = await context.pesel(argument);
    const terms = termsOf(options);
    const service = await context.service(options, {
      ...needs,
      access: dryRun ? "read" : "write",
    });
    if (dryRun) return tellQuote(context, options, await service.quote(terms));
    const settle = (table: string | undefined) =>
      context.send(key, () => service.exchange({ ...terms, pesel, key, table }));
    const settlement = isAsked
      ? await settleAsked(
          context,
          { service, pesel, terms, table: options.table, isRepeat: givenKey !== undefined },
          settle,
        )
      : await settle(options.table);
    await tellSettlement(context, options, service, { ...settlement, key });
  });
}

/** Asks at each quote, and again when the rates have changed between the quote and the order. */
async function settleAsked(
  context: Context,
  order: {
    readonly service: ExchangeService;
    readonly pesel: Pesel;
    readonly terms: ExchangeTerms;
    readonly table: string | undefined;
    readonly isRepeat: boolean;
  },
  settle: (table: string) => Promise<Settlement>,
): Promise<Settlement> {
  const { stderr } = context.terminal;
  const { service, pesel, terms, table, isRepeat } = order;
  for (;;) {
    const [quote, account] = await Promise.all([service.quote(terms), service.account(pesel)]);
    writeRecord(stderr, quotePairs(stderr, quote));
    write(stderr, "");
    // With a key that was used before, the order may be done already, and the balance need not cover it again.
    if (isRepeat) write(stderr, "An order that was already done with this key is not done again.");
    else await showBalances(context, account, quote);
    if (!(await context.confirm("Exchange?"))) throw new Declined();
    write(stderr, "");
    try {
      return await settle(table ?? quote.tableId);
    } catch (error) {
      if (table !== undefined || !isRateChange(error)) throw error;
      writeText(stderr, "The rates have changed, and nothing was exchanged. The new quote:");
      write(stderr, "");
    }
  }
}

/** @throws FxError insufficient-funds, balance-limit */
async function showBalances({ terminal }: Context, account: Account, quote: Quote): Promise<void> {
  const { stderr } = terminal;
  const after = credit(debit(account, quote.sold), quote.bought);
  const columns = [
    { title: "" },
    { title: "Before", align: "right" },
    { title: "After", align: "right" },
  ] as const;
  const rows = [quote.sold.currency, quote.bought.currency].map((currency) => [
    currency,
    ...[account, after].map((holder) => amountText(stderr, { currency, minor: balanceOf(holder, currency) })),
  ]);
  await writeTable(stderr, columns, rows);
  write(stderr, "");
}

async function tellSettlement(
  context: Context,
  options: CommandOptions,
  service: ExchangeService,
  { account, receiptId, key, replayed }: Settlement & { key: string },
): Promise<void> {
  const { stdout, stderr } = context.terminal;
  if (options.json) {
    const { encodeAccount } = await import("../../wire/codecs.ts");
    return context.document({ ...encodeAccount(account), receipt: receiptId, key, replayed });
  }
  if (replayed) writeText(stderr, replayNote);
  // The money has moved: that its receipt cannot be read now is no failure of the exchange.
  const entry = await service.receipt(receiptId).catch(() => undefined);
  writeRecord(stdout, [
    ...(entry?.exchange === undefined ? [] : exchangePairs(stdout, entry.exchange)),
    ["receipt", receiptId],
    ...balancePairs(stdout, account),
  ]);
}

function isRateChange(error: unknown): boolean {
  return (
    error instanceof RequestFailed && error.cause instanceof FxError && error.cause.code === "rate-changed"
  );
}
