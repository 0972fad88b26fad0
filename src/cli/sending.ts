import { type MoneyRequest, RequestFailed } from "./errors.ts";

/** The request, or the batch, of a command that moves money, and how far it has come. */
export class Sending {
  #request: MoneyRequest | undefined;

  get request(): MoneyRequest | undefined {
    return this.#request;
  }

  /** Called before the request is sent, so that an interrupt can say that nothing was done. */
  prepare(key: string): void {
    this.#request = { key, state: "unsent" };
  }

  /** Called before the first line is sent. */
  beginBatch(id: string): void {
    this.#request = { key: id, state: "batch" };
  }

  /** @throws RequestFailed */
  async send<T>(key: string, request: () => Promise<T>): Promise<T> {
    this.#request = { key, state: "sent" };
    try {
      const answer = await request();
      this.#request = { key, state: "done" };
      return answer;
    } catch (error) {
      this.#request = { key, state: "unsent" };
      throw new RequestFailed(key, error);
    }
  }
}
