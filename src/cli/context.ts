import type { Command } from "commander";
import type { ExchangeService } from "../core/service.ts";
import type { Access } from "../ledger/store.ts";
import { type Config, readConfig } from "./config.ts";
import type { Exit } from "./exits.ts";
import type { RatesRole } from "./open.ts";
import { Questions } from "./questions.ts";
import { Sending } from "./sending.ts";
import type { Settings } from "./settings.ts";
import { Signals } from "./signals.ts";
import { writeDocument } from "./terminal/output.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The options of a command: what the command line gave, and every setting in force. */
export interface CommandOptions extends Settings {
  readonly json?: boolean;
}

interface ServiceNeeds {
  /** "read" if absent. */
  readonly access?: Access;
  /** Whether a service in this process needs rates; if absent, whether the command has --rates. */
  readonly usesRates?: boolean;
  /** If absent, a command that writes may put a new rate table in force. */
  readonly ratesRole?: RatesRole;
}

/** The surroundings of a command: its terminal, settings, service and signals. */
export class Context {
  readonly terminal: Terminal;
  readonly version: string;
  readonly sending = new Sending();
  readonly signals = new Signals(() => this.sending.request);
  readonly questions: Questions;
  /** The exit of a command that does not fail: not 0 if it found something wrong. */
  exit: Exit = 0;
  #command: Command | undefined;
  #service: ExchangeService | undefined;

  constructor(terminal: Terminal, version: string) {
    this.terminal = terminal;
    this.version = version;
    this.questions = new Questions(terminal, this.signals);
  }

  begin(command: Command): void {
    this.#command = command;
  }

  get command(): Command {
    if (this.#command === undefined) throw new Error("no command has been parsed");
    return this.#command;
  }

  /**
   * Reads the settings, also again while a server runs. The command's options have them, too.
   * @throws UsageError
   */
  config(): Config {
    return readConfig(this.command, this.terminal.env);
  }

  /**
   * Called first by a command that changes something: an interrupt then says what was done.
   * @param key if it moves money
   */
  beginChange(key?: string): void {
    this.sending.request = { key, state: "unsent" };
    this.signals.watch();
  }

  /** Opens the service that the settings name, here or behind HTTP. */
  async service({
    access = "read",
    usesRates = this.command.options.some(({ long }) => long === "--rates"),
    ratesRole = access === "read" ? "read" : "settle",
  }: ServiceNeeds = {}): Promise<ExchangeService> {
    this.signals.watch();
    const { openService } = await import("./open.ts");
    this.#service = await openService(
      this.command.opts<Settings>(),
      access,
      usesRates ? ratesRole : undefined,
    );
    return this.#service;
  }

  /** Prints the result as the one document of --json. */
  document(document: unknown): void {
    writeDocument(this.terminal.stdout, document);
  }

  async close(): Promise<void> {
    try {
      await this.#service?.close();
    } finally {
      this.signals.close();
    }
  }
}
