import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";
import { Argument, type Command } from "commander";
import type { Account } from "../../core/account.ts";
import { maskPesels } from "../../core/mask.ts";
import type { Pesel } from "../../core/pesel.ts";
import type { ExchangeService } from "../../core/service.ts";
import { visible } from "../../core/visible.ts";
import type { CommandOptions, Context } from "../context.ts";
import { describeFailure, UsageError } from "../errors.ts";
import { command, setting, wholeArgument } from "../options.ts";
import { balancesText, tableText } from "../terminal/figures.ts";
import { fold, writeText } from "../terminal/output.ts";
import { openKeyboard, resized, type Screen, showPage, write } from "../terminal/terminal.ts";
import { type Board, readBoard, writeBoard } from "./rates/board.ts";

interface WatchOptions extends CommandOptions {
  readonly every: number;
}

interface Screenful {
  readonly board: Board;
  readonly account: Account | undefined;
}

export function defineWatch(program: Command, context: Context): void {
  command(program, "watch", "keep the rates and an account on the screen, until q", [
    "fx watch",
    "fx watch 44051401359 --every 2",
  ])
    .addArgument(
      new Argument(
        "[pesel]",
        "11 digits, or - to read it from standard input; without it only the rates are shown",
      ),
    )
    .option("--every <seconds>", "how often to look", wholeArgument(1, 3600), 5)
    .addOption(setting("url"))
    .addOption(setting("allowPlainHttp"))
    .addOption(setting("rates", ", for a store in this process"))
    .action(async (argument: string | undefined, options: WatchOptions) => {
      const { stdout } = context.terminal;
      const keyboard = openKeyboard(context.terminal);
      if (keyboard === undefined || !stdout.live) {
        throw new UsageError("fx watch needs a terminal. In a script, use fx rates and fx account show.");
      }
      const pesel = argument === undefined ? undefined : await context.pesel(argument);
      const service = await context.service(options, { rates: true, access: "read" });
      // A failure at the start ends the command; a later one is shown, and the query is tried again.
      const first = await readPage(service, pesel, resized(stdout));
      await show(context, keyboard, options.every, first, (before) =>
        readPage(service, pesel, resized(stdout), before),
      );
    });
}

/** Resolves when the reader quits. */
async function show(
  context: Context,
  keyboard: ReadStream,
  everySeconds: number,
  first: Screenful,
  read: (before: Screenful) => Promise<Screenful>,
): Promise<void> {
  const { stdout } = context.terminal;
  let page = first;
  let readAt = clock();
  const fine = () => `${readAt}, every ${everySeconds} s, q ends`;
  let state = fine();
  let paint = stdout.paint.dim;
  let wake = () => {};
  const ended = new Promise<"ended">((resolve) => {
    context.takeScreen(keyboard, (key) => {
      if (key === "q" || key === "Q") resolve("ended");
      else if (key === " ") wake();
    });
    for (const event of ["end", "error"]) keyboard.once(event, () => resolve("ended"));
  });
  const draw = () => {
    const screen = resized(stdout);
    pageText(screen, page).then(
      (text) => showPage(screen, text, paint(fold(visible(state), screen.columns)[0] ?? "")),
      () => {},
    );
  };
  stdout.stream.on("resize", draw);
  for (;;) {
    draw();
    let timer: NodeJS.Timeout | undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, 1000 * everySeconds);
    });
    const wasEnded = await Promise.race([ended, woken]);
    clearTimeout(timer);
    if (wasEnded) break;
    try {
      const answer = await Promise.race([ended, read(page)]);
      if (answer === "ended") break;
      page = answer;
      readAt = clock();
      state = fine();
      paint = stdout.paint.dim;
    } catch (error) {
      state = `as of ${readAt}. ${describeFailure(error).message}`;
      paint = stdout.paint.red;
    }
  }
  stdout.stream.removeListener("resize", draw);
  context.giveBackScreen();
}

async function readPage(
  service: ExchangeService,
  pesel: Pesel | undefined,
  screen: Screen,
  before?: Screenful,
): Promise<Screenful> {
  const [board, account] = await Promise.all([
    readBoard(service, screen, before?.board),
    pesel === undefined ? undefined : service.account(pesel),
  ]);
  return { board, account };
}

/** The account comes first, so that a low terminal cuts off rates and no balances. */
async function pageText(screen: Screen, { board, account }: Screenful): Promise<string> {
  const stream = new PassThrough();
  const page = { ...screen, stream };
  if (account !== undefined) {
    writeText(page, `${account.name} ${account.surname}, ${maskPesels(account.pesel)}`, screen.paint.bold);
    writeText(page, balancesText(page, account));
    write(page, "");
  }
  writeText(page, tableText(board.inForce));
  const { notTraded } = board.inForce;
  if (notTraded !== undefined) writeText(page, `Not traded at: ${notTraded}`, screen.paint.yellow);
  write(page, "");
  await writeBoard(page, board);
  return String(stream.read());
}

function clock(): string {
  return new Date().toLocaleTimeString("sv-SE");
}
