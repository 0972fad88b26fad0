import { isatty } from "node:tty";
import { describeFailure } from "../../errors.ts";
import type { Settings } from "../../settings.ts";
import { sameSignalMs } from "../../signals.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import type { RunningServer } from "./server.ts";

/** How long the log's last lines are waited for once the server has stopped. */
const lingerMs = 1000;

/**
 * SIGINT and SIGTERM stop the server gracefully, and a second one at once. SIGHUP makes it read rates and settings
 * again. SIGUSR1, with which Node would open its debugger, and SIGUSR2, which would end it, do nothing. A signal that
 * comes while the server starts waits until it runs.
 */
export function obeySignals(
  starting: Promise<RunningServer>,
  readSettings: () => Settings,
  stdout: Screen,
): void {
  const wasTerminal = process.stdin.isTTY;
  let running: RunningServer | undefined;
  let stoppingSince: number | undefined;

  const whenRunning = (
    signal: NodeJS.Signals,
    meaning: string,
    act?: (server: RunningServer) => Promise<void>,
  ) => {
    const then = async (server: RunningServer) => {
      running = server;
      server.log.info({ signal }, meaning);
      await act?.(server);
    };
    // If it does not start, the command says why.
    starting.then(then, () => {});
  };

  const stop = (signal: NodeJS.Signals, exit: number): void => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now();
      write(stdout, "Stopping once the requests under way are answered. A second signal stops at once.");
      whenRunning(signal, "stopping once the requests under way are answered", async (server) => {
        await server.stop();
        // If nobody reads the log, its last lines would keep the process.
        setTimeout(() => process.exit(), lingerMs).unref();
      });
    } else if (performance.now() - stoppingSince > sameSignalMs) {
      running?.log.warn({ signal }, "stopped at once");
      // Immediately: nothing is waited for, not even output.
      process.exit(exit);
    }
  };

  /** The terminal that the server was started at is closed. */
  const hangUp = (): void => {
    if (stoppingSince !== undefined) return;
    stoppingSince = performance.now();
    whenRunning("SIGHUP", "stopping, because the terminal is closed", async (server) => {
      await server.stop();
      // If the process exits by itself, Node aborts, because it cannot restore the terminal's settings.
      process.removeAllListeners("SIGHUP");
      process.kill(process.pid, "SIGHUP");
    });
  };

  const reload = async (server: RunningServer): Promise<void> => {
    if (stoppingSince !== undefined) return;
    try {
      await server.reload(readSettings());
    } catch (error) {
      server.log.warn(
        { reason: describeFailure(error).message },
        "rates and settings not read again: the old ones stay",
      );
    }
  };

  process.on("SIGINT", () => stop("SIGINT", 130));
  process.on("SIGTERM", () => stop("SIGTERM", 143));
  process.on("SIGHUP", () => {
    if (wasTerminal && !isatty(0)) hangUp();
    else if (stoppingSince === undefined) {
      whenRunning("SIGHUP", "reading rates and settings again", reload);
    } else whenRunning("SIGHUP", "signal ignored");
  });
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => whenRunning(signal, "signal ignored"));
  }
}
