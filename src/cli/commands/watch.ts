import { setTimeout as pause } from "node:timers/promises";
import type { Account } from "../../core/account.ts";
import { FxError } from "../../core/errors.ts";
import { maskPesels } from "../../core/mask.ts";
import { visible } from "../../core/visible.ts";
import { type FxCommand, wholeArgument } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { describeFailure, UsageError } from "../errors.ts";
import { balancesText, tableLine } from "../terminal/figures.ts";
import { fold, proseText, sections, timeText } from "../terminal/output.ts";
import { resized, type Screen, showPage } from "../terminal/terminal.ts";
import { type Board, boardText, readBoard } from "./rates/board.ts";

interface WatchOptions extends CommandOptions {
  readonly every: number;
}

interface Page {
  readonly board: Board;
  readonly account: Account | undefined;
}

export function defineWatch(program: FxCommand, context: Context): void {
  program
    .add("watch", "Show rates and an account, refreshed until Ctrl-C", [
      "fx watch",
      "fx watch 44051401359 --every 2",
    ])
    .argument("[pesel]", "account to show, or - to read its PESEL from standard input")
    .option("--every <seconds>", "seconds between updates", wholeArgument(1, 3600), 5)
    .target({ rates: true, json: false })
    .action(async (argument: string | undefined, options: WatchOptions) => {
      const { stdout } = context.terminal;
      if (!stdout.live) {
        throw new UsageError("fx watch needs a terminal. In a script, use fx rates and fx account show.");
      }
      const pesel = argument === undefined ? undefined : await context.questions.pesel(argument);
      const service = await context.service();
      const read = async (): Promise<Page> => {
        const [board, account] = await Promise.all([
          readBoard(service, resized(stdout)),
          pesel === undefined ? undefined : service.account(pesel),
        ]);
        return { board, account };
      };
      // A failure at the start ends the command. A later one is shown, and the query is repeated.
      await show(stdout, options.every, await read(), read);
    });
}

/** Resolves when the terminal is gone; otherwise, a signal ends the command. */
async function show(
  stdout: Screen,
  everySeconds: number,
  first: Page,
  read: () => Promise<Page>,
): Promise<void> {
  const clock = () => timeText(stdout, new Date()).slice("2026-01-31 ".length);
  const upToDate = () => ({
    text: `${readAt}, every ${everySeconds} s, Ctrl-C ends`,
    paint: stdout.paint.dim,
  });
  let [page, readAt] = [first, clock()];
  let status = upToDate();
  const redraw = () => {
    const screen = resized(stdout);
    const { text, paint } = status;
    showPage(screen, textOf(screen, page), paint(fold(visible(text), screen.columns)[0] ?? ""));
  };
  stdout.stream.on("resize", redraw);
  let isGone = false;
  stdout.stream.once("error", () => {
    isGone = true;
  });
  while (!isGone) {
    redraw();
    await pause(1000 * everySeconds);
    try {
      [page, readAt] = [await read(), clock()];
      status = upToDate();
    } catch (error) {
      const { message } = describeFailure(error);
      const hint = error instanceof FxError && error.hint !== undefined ? ` ${error.hint}` : "";
      status = { text: `as of ${readAt}. ${message}${hint}`, paint: stdout.paint.red };
    }
  }
}

/** The account comes first, so that a low terminal cuts off rates and no balances. */
function textOf(screen: Screen, { board, account }: Page): string {
  const prose = (text: string, paint?: (line: string) => string) => proseText(screen, text, paint);
  const { notTraded } = board.inForce;
  return sections(
    screen,
    account === undefined
      ? ""
      : prose(`${account.name} ${account.surname}, ${maskPesels(account.pesel)}`, screen.paint.bold) +
          prose(balancesText(screen, account)),
    prose(tableLine(board.inForce)) +
      (notTraded === undefined ? "" : prose(`Not traded at: ${notTraded.reason}`, screen.paint.yellow)),
    boardText(screen, board),
  );
}
