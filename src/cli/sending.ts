import { RequestFailed, type SentRequest } from "./errors.ts";

/** The request, or the batch, of a command that changes something, and how far it has come: an interrupt reports it. */
export class Sending {
  request: SentRequest | undefined;
  /** The hint for a change without a request, such as of a token file, whose result cannot be written. */
  ifUnwritten: string | undefined;

  /**
   * @param key if it moves money
   * @throws RequestFailed
   */
  async send<T>(key: string | undefined, request: () => Promise<T>): Promise<T> {
    this.request = { key, state: "sent" };
    try {
      const answer = await request();
      this.request = { key, state: "done" };
      return answer;
    } catch (error) {
      this.request = { key, state: "unsent" };
      throw new RequestFailed(key, error);
    }
  }
}
