import type { Command } from "commander";
import { type Account, balanceOf } from "../../core/account.ts";
import type { Request } from "../../core/change.ts";
import { FxError } from "../../core/errors.ts";
import type { BulkAnswer, ExchangeService, Settlement } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { Declined } from "../errors.ts";
import { replayNote, withKeyOption } from "../options.ts";
import { accountState, factPairs } from "../terminal/figures.ts";
import { amountText, writeRecord, writeTable, writeText } from "../terminal/output.ts";
import { type Screen, write } from "../terminal/terminal.ts";

export interface SettleOptions extends CommandOptions {
  readonly key?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** The options of every command that changes an account. */
export function withSettleOptions(command: Command, dryRun: string): Command {
  return withKeyOption(command)
    .option("-y, --yes", "do not ask; required at a terminal if stdin or stderr is redirected")
    .option("--dry-run", dryRun);
}

/** What a command was told to do. */
export interface Intent<Shown> {
  readonly request: Request;
  readonly question: string;
  /** Prints what it would do now, as the result of --dry-run. */
  readonly tell: () => Promise<void>;
  /** Shows on stderr what it is about to do. */
  readonly show: () => Promise<Shown>;
  /** @param shown what was answered with yes */
  readonly send: (shown?: Shown) => Promise<Settlement>;
  /** Says what has changed if, after this refusal, it is to be shown and asked about again. */
  readonly changed?: (refusal: unknown) => string | undefined;
}

/**
 * Carries out a command that changes an account: asks first where somebody can answer, and tells what came of it.
 * @param read reads the arguments, before the service is opened
 */
export async function settle<Shown>(
  context: Context,
  { key: givenKey, yes = false, dryRun = false, ...options }: SettleOptions,
  read: (key: string) => Promise<{
    readonly rates: boolean;
    readonly order: (service: ExchangeService) => Intent<Shown> | Promise<Intent<Shown>>;
  }>,
): Promise<void> {
  const key = givenKey ?? crypto.randomUUID();
  context.prepare(key);
  const isAsked = !dryRun && context.asksFirst(yes);
  const { rates, order: orderAt } = await read(key);
  const service = await context.service(options, { rates, access: dryRun ? "read" : "write" });
  const order = await orderAt(service);
  const send = (shown?: Shown) => context.send(key, () => order.send(shown));
  if (!dryRun && !isAsked) return tell(await send());
  const expected = await tryOut(service, order.request);
  if (expected instanceof FxError) throw expected;
  // A request that was done under the key is not done again.
  if (dryRun) return expected.replayed ? tell(expected as Settlement) : order.tell();
  return tell(expected.replayed ? await send() : await ask(context, order, send));

  function tell(settlement: Settlement): Promise<void> {
    return tellSettlement(context, options, service, { ...settlement, key });
  }
}

/** The answer that the request would get now. */
async function tryOut(service: ExchangeService, request: Request): Promise<BulkAnswer> {
  async function* once() {
    yield [request];
  }
  for await (const [answer] of service.dryRun(once())) if (answer !== undefined) return answer;
  throw new Error("a dry run has no answer to its line");
}

async function ask<Shown>(
  context: Context,
  order: Intent<Shown>,
  send: (shown: Shown) => Promise<Settlement>,
): Promise<Settlement> {
  const { stderr } = context.terminal;
  for (;;) {
    const shown = await order.show();
    write(stderr, "");
    if (!(await context.confirm(order.question))) throw new Declined();
    write(stderr, "");
    try {
      return await send(shown);
    } catch (error) {
      const change = order.changed?.(error);
      if (change === undefined) throw error;
      writeText(stderr, change);
      write(stderr, "");
    }
  }
}

/** The balances that differ, in two columns. */
export async function writeBalances(screen: Screen, before: Account, after: Account): Promise<void> {
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
export function writeGap(screen: Screen): void {
  if (screen.rich) write(screen, "");
}

async function tellSettlement(
  context: Context,
  options: CommandOptions,
  service: ExchangeService,
  { account, receiptId, key, replayed }: Settlement & { key: string },
): Promise<void> {
  const { stdout, stderr } = context.terminal;
  if (options.json) {
    const { encodeListedAccount } = await import("../../wire/codecs.ts");
    return context.document({ ...encodeListedAccount(account), receipt: receiptId, key, replayed });
  }
  if (replayed) writeText(stderr, replayNote);
  // The money has moved: that its receipt cannot be read now is no failure of the command.
  const entry = await service.receipt(receiptId).catch(() => undefined);
  writeRecord(stdout, [
    ...(entry === undefined ? [] : factPairs(stdout, entry)),
    ["receipt", receiptId],
    ...accountState(stdout, account),
  ]);
}
